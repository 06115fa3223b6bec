#include "reconciler/service/conditions.hpp"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/store/utc_text.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

const char* status_word(ConditionStatus status) {
  switch (status) {
    case ConditionStatus::false_: return "False";
    case ConditionStatus::true_: return "True";
    case ConditionStatus::unknown: break;
  }
  return "Unknown";
}

void show_status(ShownCondition& shown, ConditionStatus status, WallTime at) {
  if (std::exchange(shown.status, status) != status) shown.last_transition = at;
}

}  // namespace

Conditions::Conditions(std::vector<ConditionRow> rows, WallTime now) {
  for (ConditionRow& row : rows) {
    Followed one;
    one.shown.type = row.type;
    one.shown.reason = "NotObserved";
    one.shown.message = "not observed yet";
    one.shown.last_transition = now;
    one.row = std::move(row);
    all_.push_back(std::move(one));
  }
}

bool Conditions::is_proven(const Followed& one, const std::optional<WallTime>& proof, WallTime now) {
  return one.row.lifetime.count() == 0 || (proof && now - *proof < one.row.lifetime);
}

// What changes without a look until `now`. The transition is dated by the end of the proof's life, not by
// when somebody asks.
void Conditions::pass_time(Followed& one, WallTime now) {
  ShownCondition& shown = one.shown;
  for (std::optional<WallTime>* const proof : {&shown.proof, &one.looked_proof})
    if (*proof) *proof = std::min(**proof, now);
  if (shown.status == ConditionStatus::unknown || is_proven(one, shown.proof, now)) return;
  show_status(shown, ConditionStatus::unknown, *shown.proof + one.row.lifetime);
  shown.reason = "ProofExpired";
  shown.message = "not observed since " + utc_text(*shown.proof) +
                  (shown.message.empty() ? "" : "; until then: " + shown.message);
}

void Conditions::begin_anew() {
  for (Followed& one : all_) one.is_anew = true;
}

std::size_t Conditions::index_of(const std::string& type) const {
  const auto found =
      std::ranges::find(all_, type, [](const Followed& one) -> const std::string& { return one.row.type; });
  assert(found != all_.end());
  return static_cast<std::size_t>(found - all_.begin());
}

const ShownCondition& Conditions::at(const std::string& type) const { return all_.at(index_of(type)).shown; }

bool Conditions::is_settled(const std::string& type) const {
  const Followed& one = all_.at(index_of(type));
  return one.looked == one.shown.status;
}

void Conditions::look(const std::string& type, const Look& look, std::int64_t generation, WallTime now) {
  Followed& one = all_.at(index_of(type));
  pass_time(one, now);
  std::optional<WallTime> proof = look.proof;
  if (proof) proof = std::min(*proof, now);
  const bool proven = is_proven(one, proof, now);
  const ConditionStatus status = proven ? look.status : ConditionStatus::unknown;
  const bool agrees = one.looked == status && is_proven(one, one.looked_proof, now);
  one.agreeing = agrees ? std::min(one.agreeing + 1, kLooks) : 1;
  one.looked = status;
  one.looked_proof = proof;
  const bool is_anew = one.is_anew && status != ConditionStatus::unknown;
  if (is_anew) one.is_anew = false;
  if (status != one.shown.status && status != ConditionStatus::unknown && one.agreeing < kLooks && !is_anew)
    return;
  show_status(one.shown, status, now);
  one.shown.observed_generation = generation;
  one.shown.proof = proof;
  one.shown.boot_id = proof ? look.boot_id : "";
  if (proven || look.status == ConditionStatus::unknown) {
    one.shown.reason = look.reason;
    one.shown.message = look.message;
  } else {
    one.shown.reason = proof ? "ProofExpired" : "NotObserved";
    one.shown.message = (proof ? "not observed since " + utc_text(*proof) : "no observation proves it") +
                        (look.message.empty() ? "" : "; assumed: " + look.message);
  }
}

std::vector<ShownCondition> Conditions::shown(WallTime now) {
  std::vector<ShownCondition> out;
  for (Followed& one : all_) {
    pass_time(one, now);
    if (!one.row.abnormal_true || one.shown.status != ConditionStatus::false_) out.push_back(one.shown);
  }
  return out;
}

std::optional<WallTime> Conditions::next_change() const {
  std::optional<WallTime> out;
  for (const Followed& one : all_) {
    if (one.row.lifetime.count() == 0 || one.shown.status == ConditionStatus::unknown) continue;
    const WallTime end = *one.shown.proof + one.row.lifetime;
    if (!out || end < *out) out = end;
  }
  return out;
}

nlohmann::json Conditions::to_json(WallTime now) {
  nlohmann::json out = nlohmann::json::array();
  for (const ShownCondition& one : shown(now)) {
    nlohmann::json& json =
        out.emplace_back(nlohmann::json{{"type", one.type},
                                        {"status", status_word(one.status)},
                                        {"reason", one.reason},
                                        {"message", printable(one.message, kMessageMax)},
                                        {"observedGeneration", one.observed_generation},
                                        {"lastTransitionTime", utc_text(one.last_transition)}});
    if (one.proof) json["observedAt"] = utc_text(*one.proof);
    if (!one.boot_id.empty()) json["bootId"] = printable(one.boot_id);
  }
  return out;
}

}  // namespace lockstep
