#include "reconciler/service/service_record.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/service/stored_fields.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Json said_json(const SpokenBy& by) {
  return {{"who", by.who}, {"reason", by.reason}, {"at", stored::time_json(by.at)}};
}

Result<SpokenBy> read_said(const Json& json) {
  SpokenBy by;
  TRY(by.who, stored::text(json, "who"));
  TRY(by.reason, stored::text(json, "reason"));
  TRY(by.at, stored::time(json, "at"));
  return by;
}

Result<Authorship> read_authorship(const Json& json) {
  Authorship out;
  TRY(out.author, stored::text(json, "author"));
  TRY(out.subject, stored::text(json, "subject"));
  TRY(out.made, stored::text(json, "made"));
  return out;
}

}  // namespace

Json ServiceRecord::to_json() const {
  Json out{{"revisions", revisions.to_json()},
           {"cordoned", Json::object()},
           {"breaker", breaker},
           {"measured", clock.to_json()},
           {"madeBy", Json::object()}};
  for (const auto& [device, by] : cordoned) out["cordoned"][device] = said_json(by);
  for (const auto& [source, by] : made_by)
    out["madeBy"][source] = {{"author", by.author}, {"subject", by.subject}, {"made", by.made}};
  if (suspended) out["suspended"] = said_json(*suspended);
  if (begun) out["begun"] = {{"source", begun->source}, {"intents", begun->intents}};
  return out;
}

Result<ServiceRecord> ServiceRecord::from_json(const Json& document) {
  ServiceRecord out;
  TRY(const Json* const revisions, stored::field(document, "revisions"));
  TRY(out.revisions, Revisions::from_json(*revisions));
  TRY(const Json* const cordoned, stored::field(document, "cordoned"));
  if (!cordoned->is_object()) return stored::damaged("'cordoned' is not an object");
  for (const auto& [device, by] : cordoned->items()) {
    TRY(out.cordoned[device], read_said(by));
  }
  TRY(const Json* const breaker, stored::field(document, "breaker"));
  out.breaker = *breaker;
  if (document.contains("suspended")) {
    TRY(out.suspended, read_said(document["suspended"]));
  }
  if (document.contains("begun")) {
    RevisionId begun;
    TRY(begun.source, stored::text(document["begun"], "source"));
    TRY(begun.intents, stored::text(document["begun"], "intents"));
    out.begun = std::move(begun);
  }
  if (document.contains("measured")) {  // older versions have none
    TRY(out.clock, SuiteClock::from_json(document["measured"]));
  }
  if (document.contains("madeBy")) {  // older versions have none
    const Json& made_by = document["madeBy"];
    if (!made_by.is_object()) return stored::damaged("'madeBy' is not an object");
    for (const auto& [source, by] : made_by.items()) {
      TRY(out.made_by[source], read_authorship(by));
    }
  }
  return out;
}

}  // namespace lockstep
