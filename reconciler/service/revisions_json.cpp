// Part of revisions.cpp: the document that brings the same decisions back after a restart.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/service/revisions.hpp"
#include "reconciler/service/stored_fields.hpp"
#include "specs/language/said.hpp"
#include "specs/language/words.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kKeptMax = std::uint64_t{1} << 62U;

Result<RevisionState> read_state(const Json& json) {
  TRY(const std::string word, stored::text(json, "state"));
  const auto state = spelled<RevisionState>(word);
  if (!state) return stored::damaged("'" + word + "' is not a state of a revision");
  return *state;
}

Result<const Json*> list(const Json& json, const char* name) {
  TRY(const Json* const value, stored::field(json, name));
  if (!value->is_array()) return stored::damaged(std::string("'") + name + "' is not a list");
  return value;
}

// Who approved each step; older versions stored the steps alone.
Result<std::map<std::string, std::string>> read_approved(const Json& json) {
  std::map<std::string, std::string> out;
  TRY(const std::set<std::string> steps, stored::texts(json, "approved"));
  for (const std::string& step : steps) out.emplace(step, "");
  if (!json.contains("approvedBy")) return out;
  const Json& by = json["approvedBy"];
  if (!by.is_object()) return stored::damaged("'approvedBy' is not an object");
  for (const auto& [step, who] : by.items()) {
    if (!who.is_string() || !out.contains(step)) return stored::damaged("'approvedBy' has " + step);
    out[step] = who.get<std::string>();
  }
  return out;
}

}  // namespace

Json Revisions::known_json(const Known& one) {
  Json out{{"source", one.id.source},  {"intents", one.id.intents},
           {"version", one.version},   {"state", to_string(one.state)},
           {"why", one.why},           {"since", stored::time_json(one.since)},
           {"kept", one.kept},         {"mayRun", one.may_run},
           {"waits", one.waits},       {"whole", one.whole},
           {"approved", Json::array()}};
  for (const auto& [step, who] : one.approved) {
    out["approved"].push_back(step);
    out["approvedBy"][step] = who;
  }
  if (one.former) out["former"] = *one.former;
  if (!one.unproven.empty()) {
    out["unproven"] = one.unproven;
    out["measurable"] = one.is_measurable;
    out["open"] = one.is_open;
  }
  if (!one.failing.empty()) out["failing"] = one.failing;
  return out;
}

Json Revisions::to_json() const {
  Json out{{"revisions", Json::array()}, {"refusals", Json::array()}, {"superseded", superseded_}};
  for (const Known& one : known_) {
    Json& json = out["revisions"].emplace_back(known_json(one));
    json["reached"] = reached_ == one.id;
  }
  for (const Refusal& one : refusals_)
    out["refusals"].push_back({{"steps", one.steps}, {"why", one.why}, {"intents", one.intents}});
  for (const Lost& one : lost_) {
    Json& json = out["lost"].emplace_back(
        Json{{"source", one.id.source}, {"intents", one.id.intents}, {"version", one.version}});
    if (one.former) json["former"] = *one.former;
  }
  if (bad_)
    out["invalid"] = {
        {"source", bad_->source}, {"why", bad_->why}, {"since", stored::time_json(bad_->since)}};
  return out;
}

Result<Revisions::Known> Revisions::read_known(const Json& json) {
  Known one;
  TRY(one.id.source, stored::text(json, "source"));
  TRY(one.id.intents, stored::text(json, "intents"));
  TRY(one.version, stored::text(json, "version"));
  TRY(one.state, read_state(json));
  TRY(one.why, stored::text(json, "why"));
  TRY(one.since, stored::time(json, "since"));
  TRY(one.kept, stored::number(json, "kept", kKeptMax));
  TRY(one.may_run, stored::texts(json, "mayRun"));
  TRY(one.waits, stored::texts(json, "waits"));
  TRY(one.whole, stored::flag(json, "whole"));
  TRY(one.approved, read_approved(json));
  if (json.contains("former")) {
    TRY(one.former, stored::text(json, "former"));
  }
  if (json.contains("unproven")) {
    TRY(one.unproven, stored::text(json, "unproven"));
    TRY(one.is_measurable, stored::flag(json, "measurable"));
    TRY(one.is_open, stored::flag(json, "open"));
  }
  if (json.contains("failing")) {
    TRY(one.failing, stored::text(json, "failing"));
  }
  return one;
}

Result<Revisions::Refusal> Revisions::read_refusal(const Json& json) {
  Refusal one;
  TRY(one.steps, stored::texts(json, "steps"));
  TRY(one.why, stored::text(json, "why"));
  TRY(one.intents, stored::text(json, "intents"));
  return one;
}

Result<Revisions::Lost> Revisions::read_lost(const Json& json) {
  Lost one;
  TRY(one.id.source, stored::text(json, "source"));
  TRY(one.id.intents, stored::text(json, "intents"));
  TRY(one.version, stored::text(json, "version"));
  if (json.contains("former")) {
    TRY(one.former, stored::text(json, "former"));
  }
  return one;
}

Result<Done> Revisions::read_all(const Json& document) {
  TRY(const Json* const revisions, list(document, "revisions"));
  if (revisions->size() > kShownMax) return stored::damaged("too many revisions");
  std::size_t running = 0;
  for (const Json& json : *revisions) {
    TRY(Known one, read_known(json));
    if (find(one.id) != nullptr) return stored::damaged("revision " + one.id.source + " is there twice");
    if (one.state == RevisionState::running && ++running > 1)
      return stored::damaged("more than one revision is running");
    TRY(const bool reached, stored::flag(json, "reached"));
    if (reached && std::exchange(reached_, one.id))
      return stored::damaged("more than one revision is the reached one");
    known_.push_back(std::move(one));
  }
  TRY(const Json* const refusals, list(document, "refusals"));
  for (const Json& json : *refusals) {
    TRY(Refusal one, read_refusal(json));
    refusals_.push_back(std::move(one));
  }
  TRY(const std::uint64_t superseded, stored::number(document, "superseded", kSupersededMax));
  superseded_ = static_cast<int>(superseded);
  if (document.contains("lost")) {
    TRY(const Json* const all, list(document, "lost"));
    if (all->size() > kShownMax) return stored::damaged("too many lost revisions");
    for (const Json& json : *all) {
      TRY(Lost one, read_lost(json));
      lost_.push_back(std::move(one));
    }
  }
  if (document.contains("invalid")) {
    const Json& json = document["invalid"];
    Invalid bad;
    TRY(bad.source, stored::text(json, "source"));
    TRY(bad.why, stored::text(json, "why"));
    TRY(bad.since, stored::time(json, "since"));
    bad_ = std::move(bad);
  }
  return Done{};
}

Result<Revisions> Revisions::from_json(const Json& document) {
  Revisions out;
  TRY_DONE(out.read_all(document));
  return out;
}

}  // namespace lockstep
