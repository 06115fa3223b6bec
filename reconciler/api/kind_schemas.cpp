// The schemas of openapi.hpp. Objects may get more fields: clients must ignore those that they do not know.

#include <nlohmann/json.hpp>

#include "bench/judge.hpp"
#include "reconciler/api/openapi.hpp"
#include "reconciler/service/revisions.hpp"
#include "specs/language/api_version.hpp"
#include "specs/language/json_schema.hpp"
#include "specs/language/records.hpp"
#include "specs/language/said.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

Json text_schema() { return {{"type", "string"}}; }
Json number_schema() { return {{"type", "integer"}, {"minimum", 0}}; }
Json flag_schema() { return {{"type", "boolean"}}; }
Json time_schema() { return {{"type", "string"}, {"format", "date-time"}}; }
Json or_null(Json schema) { return {{"oneOf", Json::array({std::move(schema), {{"type", "null"}}})}}; }
Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Json object_with(Json properties, const std::vector<const char*>& required = {}) {
  Json out{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = required;
  return out;
}

Json words_schema(const auto& all) {
  Json out = Json::array();
  for (const std::string_view word : all) out.push_back(word);
  return {{"enum", out}};
}

Json spoken_schema() {
  return object_with({{"by", text_schema()}, {"reason", text_schema()}, {"at", time_schema()}},
                     {"by", "reason", "at"});
}

Json id_schema() {
  return object_with({{"source", text_schema()}, {"intents", text_schema()}}, {"source", "intents"});
}

Json conditions_schema() {
  return list_of(object_with({{"type", text_schema()},
                              {"status", {{"enum", {"True", "False", "Unknown"}}}},
                              {"reason", text_schema()},
                              {"message", text_schema()},
                              {"observedGeneration", number_schema()},
                              {"lastTransitionTime", time_schema()},
                              {"observedAt", time_schema()},
                              {"bootId", text_schema()}},
                             {"type", "status", "reason", "message", "lastTransitionTime"}));
}

Json run_schema() {
  return object_with({{"revision", id_schema()},
                      {"phase", text_schema()},
                      {"wave", number_schema()},
                      {"waves", number_schema()},
                      {"steps", number_schema()},
                      {"stepsOver", number_schema()},
                      {"since", time_schema()}});
}

Json schedules_schema() {
  return list_of(object_with({{"suite", text_schema()},
                              {"everySeconds", number_schema()},
                              {"due", time_schema()},
                              {"running", flag_schema()},
                              {"whyNot", text_schema()},
                              {"last", object_with({{"at", time_schema()},
                                                    {"verdict", words_schema(words(bench::Verdict{}))},
                                                    {"message", text_schema()},
                                                    {"run", number_schema()}},
                                                   {"at", "verdict", "message", "run"})}},
                             {"suite", "everySeconds", "due", "running"}));
}

Json cluster_spec() { return object_with({{"suspended", spoken_schema()}}); }
Json cluster_status() {
  const Json trouble = object_with({{"reason", text_schema()}, {"message", text_schema()}});
  return object_with(
      {{"twin", flag_schema()},
       {"source",
        object_with({{"title", text_schema()}, {"fetchedAt", time_schema()}, {"trouble", trouble}})},
       {"leads", flag_schema()},
       {"whyNotLeads", text_schema()},
       {"lastGood", id_schema()},
       {"watched", id_schema()},
       {"planned", object_with({{"revision", id_schema()}, {"at", time_schema()}})},
       {"run", run_schema()},
       {"whyNotRun", text_schema()},
       {"schedules", schedules_schema()},
       {"breaker", object_with({{"open", flag_schema()}, {"message", text_schema()}})},
       {"recordTrouble", text_schema()},
       {"invalidRevision",
        object_with({{"source", text_schema()}, {"message", text_schema()}, {"since", time_schema()}})},
       {"devices", object_with({{"known", number_schema()},
                                {"observed", number_schema()},
                                {"inSync", number_schema()},
                                {"unreachable", number_schema()},
                                {"cordoned", number_schema()}})},
       {"observedGeneration", number_schema()},
       {"conditions", conditions_schema()}},
      {"twin", "source", "leads", "devices", "conditions"});
}

Json revision_spec() {
  return object_with({{"source", text_schema()},
                      {"intents", text_schema()},
                      {"author", text_schema()},
                      {"subject", text_schema()},
                      {"made", text_schema()}},
                     {"source", "intents"});
}
Json revision_status() {
  const Json change = object_with({{"path", text_schema()},
                                   {"was", Json::object()},
                                   {"want", Json::object()},
                                   {"origin", {{"type", "object"}}}},
                                  {"path", "was", "want"});
  const Json step = object_with({{"digest", text_schema()},
                                 {"device", text_schema()},
                                 {"wave", number_schema()},
                                 {"disruption", text_schema()},
                                 {"remedy", text_schema()},
                                 {"deletion", text_schema()},
                                 {"changes", list_of(change)},
                                 {"changesInAll", number_schema()},
                                 {"holds", list_of(text_schema())}},
                                {"digest", "changes", "changesInAll", "holds"});
  return object_with({{"state", words_schema(words(RevisionState{}))},
                      {"message", text_schema()},
                      {"since", time_schema()},
                      {"lastGood", flag_schema()},
                      {"waiting", list_of(step)},
                      {"waitingInAll", number_schema()},
                      {"run", run_schema()},
                      {"observedGeneration", number_schema()},
                      {"conditions", conditions_schema()}},
                     {"state", "since", "lastGood", "waiting", "waitingInAll", "conditions"});
}

Json origin_schema() {
  return object_with({{"file", text_schema()},
                      {"line", number_schema()},
                      {"column", number_schema()},
                      {"object", text_schema()},
                      {"rule", text_schema()}},
                     {"file", "line"});
}

Json counts_schema() {
  Json out = Json::object();
  for (const DriftState state : {DriftState::drifted, DriftState::not_applied, DriftState::overruled,
                                 DriftState::effect, DriftState::finding, DriftState::allowed})
    out[std::string(to_string(state))] = number_schema();
  return object_with(std::move(out));
}

Json drift_schema() {
  return object_with({{"path", text_schema()},
                      {"want", Json::object()},
                      {"have", Json::object()},
                      {"state", words_schema(words(DriftState{}))},
                      {"disruption", text_schema()},
                      {"origin", origin_schema()},
                      {"reason", text_schema()},
                      {"manual", flag_schema()},
                      {"flapping", flag_schema()},
                      {"maintenance", text_schema()}},
                     {"path", "want", "have", "state"});
}

Json device_spec() { return object_with({{"cordoned", spoken_schema()}}); }
Json device_status() {
  return object_with({{"deviceSet", text_schema()},
                      {"facts", {{"type", "object"}, {"additionalProperties", text_schema()}}},
                      {"observedAt", time_schema()},
                      {"reachable", flag_schema()},
                      {"complete", flag_schema()},
                      {"inSync", flag_schema()},
                      {"differences", number_schema()},
                      {"counts", counts_schema()},
                      {"drift", list_of(drift_schema())},
                      {"driftInAll", number_schema()},
                      {"bootId", text_schema()},
                      {"message", text_schema()},
                      {"maintenance", text_schema()},
                      {"observedGeneration", number_schema()},
                      {"conditions", conditions_schema()}},
                     {"reachable", "inSync", "conditions"});
}

Json change_spec() {
  return object_with({{"author", text_schema()}, {"reason", text_schema()}, {"digest", text_schema()}},
                     {"author", "reason", "digest"});
}
Json change_status() {
  const Json write = object_with({{"step", number_schema()},
                                  {"device", text_schema()},
                                  {"driver", text_schema()},
                                  {"path", text_schema()},
                                  {"was", Json::object()},
                                  {"want", Json::object()},
                                  {"state", text_schema()},
                                  {"begun", time_schema()},
                                  {"note", text_schema()}});
  return object_with({{"begun", time_schema()},
                      {"ended", or_null(time_schema())},
                      {"outcome", text_schema()},
                      {"steps", number_schema()},
                      {"devices", list_of(text_schema())},
                      {"runs", list_of({{"type", "object"}})},
                      {"writes", list_of(write)},
                      {"writesInAll", number_schema()},
                      {"observedGeneration", number_schema()},
                      {"conditions", conditions_schema()}},
                     {"begun", "ended", "outcome", "steps", "devices", "runs", "conditions"});
}

Json run_spec() {
  return object_with({{"purpose", text_schema()}, {"author", text_schema()}, {"command", text_schema()}},
                     {"purpose", "author", "command"});
}
Json run_status() {
  return object_with({{"verdict", text_schema()},
                      {"at", time_schema()},
                      {"change", or_null(number_schema())},
                      {"newestChange", number_schema()},
                      {"configHash", text_schema()},
                      {"version", or_null(text_schema())},
                      {"kernel", or_null(text_schema())},
                      {"figures", number_schema()},
                      {"figuresKept", number_schema()},
                      {"measured", list_of({{"type", "object"}})},
                      {"conditions", conditions_schema()}},
                     {"verdict", "at", "figures", "figuresKept", "conditions"});
}

Json finding_status() {
  return object_with({{"kind", text_schema()},
                      {"fault", text_schema()},
                      {"devices", list_of(text_schema())},
                      {"devicesInAll", number_schema()},
                      {"evidence", list_of(text_schema())},
                      {"evidenceInAll", number_schema()},
                      {"probableCause", text_schema()},
                      {"origin", text_schema()},
                      {"action", text_schema()},
                      {"explains", number_schema()},
                      {"gpus", number_schema()},
                      {"costPerHour", {{"type", "number"}, {"minimum", 0}}},
                      {"currency", text_schema()},
                      {"since", time_schema()},
                      {"observedGeneration", number_schema()}},
                     {"kind", "fault", "devices", "devicesInAll", "evidence", "evidenceInAll", "action",
                      "explains", "since"});
}

// As people write it, without what only holds of a whole one: a large spec is left out.
Json spec_schema_of(const lockstep::KindRow& kind) {
  Json out = json_schema_of(kind.spec(), {});
  out["properties"].update(json_schema_of(object_fields(), {})["properties"]);
  out["properties"]["overrides"] = list_of({{"type", "object"}});
  out["properties"]["omitted"] = text_schema();
  out.erase("required");
  out.erase("additionalProperties");
  return out;
}
Json spec_status_of(const lockstep::KindRow& kind) {
  const auto numbers = [](const std::vector<const char*>& names) {
    Json out = Json::object();
    for (const char* const name : names) out[name] = number_schema();
    return object_with(std::move(out));
  };
  Json out{{"origin", object_with({{"file", text_schema()}, {"line", number_schema()}}, {"file", "line"})},
           {"digest", text_schema()},
           {"revision", text_schema()},
           {"observedGeneration", number_schema()},
           {"conditions", conditions_schema()}};
  if (kind.configures) {
    out["devices"] =
        numbers({"known", "inSync", "drifted", "effectsOpen", "unreachable", "unknown", "stalled"});
    out["entries"] = numbers({"desired", "notApplied", "overruled"});
    out["differing"] = list_of(text_schema());
  } else {
    out["devices"] = numbers({"known"});
    out["lastRun"] = object_with({{"run", number_schema()},
                                  {"purpose", text_schema()},
                                  {"change", number_schema()},
                                  {"verdict", text_schema()},
                                  {"at", time_schema()}},
                                 {"run", "purpose", "verdict", "at"});
  }
  return object_with(std::move(out), {"origin", "digest", "conditions"});
}

Json event_properties() {
  return {
      {"involvedObject", object_with({{"kind", text_schema()}, {"name", text_schema()}}, {"kind", "name"})},
      {"reason", text_schema()},
      {"message", text_schema()},
      {"type", {{"enum", {"Normal", "Warning"}}}},
      {"firstTimestamp", time_schema()},
      {"lastTimestamp", time_schema()},
      {"count", number_schema()},
      {"source", object_with({{"component", text_schema()}})}};
}

}  // namespace

Json schema_of(Kind kind) {
  Json properties{
      {"apiVersion", {{"const", api_version}}},
      {"kind", {{"const", row_of(kind).name}}},
      {"metadata", object_with({{"name", text_schema()},
                                {"labels", {{"type", "object"}, {"additionalProperties", text_schema()}}},
                                {"generation", number_schema()},
                                {"resourceVersion", text_schema()},
                                {"creationTimestamp", time_schema()}},
                               {"name", "resourceVersion"})}};
  std::vector<const char*> required{"apiVersion", "kind", "metadata"};
  const auto add = [&](Json spec, Json status) {
    properties["spec"] = std::move(spec);
    properties["status"] = std::move(status);
    required.insert(required.end(), {"spec", "status"});
  };
  switch (kind) {
    case Kind::cluster: add(cluster_spec(), cluster_status()); break;
    case Kind::revision: add(revision_spec(), revision_status()); break;
    case Kind::device: add(device_spec(), device_status()); break;
    case Kind::change: add(change_spec(), change_status()); break;
    case Kind::benchmark_run: add(run_spec(), run_status()); break;
    case Kind::finding: add(object_with(Json::object()), finding_status()); break;
    case Kind::event: properties.update(event_properties()); break;
    default: add(spec_schema_of(*row_of(kind).spec), spec_status_of(*row_of(kind).spec));
  }
  Json out = object_with(std::move(properties), required);
  out["description"] = row_of(kind).what;
  return out;
}

}  // namespace lockstep::api
