#include "reconciler/api/objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/api/change_conditions.hpp"
#include "reconciler/api/condition_json.hpp"
#include "reconciler/api/kinds.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/markdown_prose.hpp"
#include "reconciler/report/run_report.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/language/api_version.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kIntentsShown = 12;  // characters of a digest that names a revision, as of git's hashes
constexpr std::string_view kShaPrefix = "sha256:";
constexpr const char* kRoleLabel = "lockstep.dev/role";

Json spoken_json(const SpokenBy& by) {
  return {{"by", by.who}, {"reason", by.reason}, {"at", utc_text(by.at)}};
}

Json id_json(const RevisionId& id) { return {{"source", id.source}, {"intents", id.intents}}; }

void put_text(Json& into, const char* name, const std::string& text) {
  if (!text.empty()) into[name] = text;
}

Json source_json(const SourceStatus& source) {
  Json out{{"title", source.title}};
  if (source.fetched) out["fetchedAt"] = utc_text(*source.fetched);
  if (source.trouble) out["trouble"] = {{"reason", to_string(*source.trouble)}, {"message", source.why}};
  return out;
}

Json run_status_json(const RunStatus& run) {
  return {{"revision", id_json(run.revision)},
          {"phase", run.phase},
          {"wave", run.wave},
          {"waves", run.waves},
          {"steps", run.steps},
          {"stepsOver", run.over},
          {"since", utc_text(run.since)}};
}

Json schedules_json(const std::vector<ScheduleStatus>& all) {
  Json out = Json::array();
  for (const ScheduleStatus& one : all) {
    Json shown{{"suite", one.schedule.suite},
               {"everySeconds", one.schedule.every.count()},
               {"due", utc_text(one.due)},
               {"running", one.runs}};
    put_text(shown, "whyNot", one.why_not);
    if (one.last)
      shown["last"] = {{"at", utc_text(one.last->at)},
                       {"verdict", to_string(one.last->verdict)},
                       {"message", one.last->message},
                       {"run", one.last->run}};
    out.push_back(std::move(shown));
  }
  return out;
}

Json device_counts(const ServiceStatus& status) {
  std::size_t observed = 0;
  std::size_t in_sync = 0;
  std::size_t unreachable = 0;
  const std::size_t known = status.devices ? status.devices->devices.size() : 0;
  for (std::size_t i = 0; i < known; ++i) {
    const auto& one = status.devices->devices[i];
    if (!one) continue;
    ++observed;
    if (one->in_sync()) ++in_sync;
    if (!one->reachable) ++unreachable;
  }
  return {{"known", known},
          {"observed", observed},
          {"inSync", in_sync},
          {"unreachable", unreachable},
          {"cordoned", status.cordoned.size()}};
}

// By what kstatus shows progress: Ready, and Reconciling or Stalled while it is not.
Json revision_conditions(const Revisions::Shown& shown, std::uint64_t generation) {
  const std::string since = utc_text(shown.since);
  Json out = Json::array();
  const auto add = [&](const char* type, bool is) {
    out.push_back(condition_json(type, is ? "True" : "False", capitalised(to_string(shown.state)), shown.why,
                                 generation, since));
    out.back()["observedAt"] = since;  // it was decided then, by what was read then
  };
  add("Ready", shown.state == RevisionState::kept);
  if (shown.state == RevisionState::pending || shown.state == RevisionState::running)
    add("Reconciling", true);
  if (shown.state == RevisionState::waiting || shown.state == RevisionState::refused) add("Stalled", true);
  return out;
}

Json step_object(const Plan& plan, const Step& step, const std::string& digest) {
  Json changes = Json::array();
  for (const PlannedChange& one : step.changes) {
    if (one.transient) continue;
    if (changes.size() == kChangesShown) break;
    Json change{{"path", one.path.text()},
                {"was", lockstep::to_json(one.was)},
                {"want", lockstep::to_json(one.want)}};
    if (one.origin != 0 && one.origin < plan.origins.size())
      change["origin"] = to_json(plan.origins[one.origin]);
    changes.push_back(std::move(change));
  }
  Json holds = Json::array();
  for (const Hold& hold : step.holds) holds.push_back(hold.reason);
  Json out{{"digest", digest},
           {"device", step.device},
           {"wave", step.wave},
           {"disruption", to_string(step.disruption)},
           {"changes", std::move(changes)},
           {"changesInAll", std::ranges::count(step.changes, false, &PlannedChange::transient)},
           {"holds", std::move(holds)}};
  put_text(out, "remedy", step.remedy);
  return out;
}

// Entries by how they differ; unmanaged ones are not looked for.
Json counts_json(const DriftCounts& counts) {
  Json out = Json::object();
  for (const DriftState state : {DriftState::drifted, DriftState::not_applied, DriftState::overruled,
                                 DriftState::effect, DriftState::finding, DriftState::allowed})
    out[std::string(to_string(state))] = count_of(counts, state);
  return out;
}

Json waiting_steps(const GoalPlan& plan, const std::set<std::string>& waits) {
  Json out = Json::array();
  if (waits.contains(plan.deletion()))
    out.push_back({{"digest", plan.deletion()},
                   {"deletion", plan.why_confirm()},
                   {"changes", Json::array()},
                   {"changesInAll", 0},
                   {"holds", Json::array({plan.why_confirm()})}});
  for (std::size_t i = 0; i < plan.digests().size() && out.size() < kStepsShown; ++i)
    if (waits.contains(plan.digests()[i]))
      out.push_back(step_object(plan.plan(), plan.plan().steps[i], plan.digests()[i]));
  return out;
}

// Of a plan that is not there: before the first one after a restart, or of a revision that was refused before
// it.
Json steps_without_plan(const Revisions::Shown& shown) {
  Json out = Json::array();
  for (const std::string& digest : shown.waits) {
    if (out.size() == kStepsShown) break;
    out.push_back({{"digest", digest},
                   {"changes", Json::array()},
                   {"changesInAll", 0},
                   {"holds", Json::array({shown.why_waits})}});
  }
  return out;
}

Json waiting_json(const ServiceStatus& status, const Revisions::Shown& shown) {
  for (const std::optional<PlanStatus>* const one : {&status.plan, &status.refused})
    if (*one && (*one)->plan && (*one)->revision == shown.revision)
      return waiting_steps(*(*one)->plan, shown.waits);
  return steps_without_plan(shown);
}

}  // namespace

nlohmann::json object_of(Kind kind, const std::string& name, const ObjectMeta& meta) {
  return {{"apiVersion", api_version},
          {"kind", row_of(kind).name},
          {"metadata",
           {{"name", name}, {"generation", meta.generation}, {"resourceVersion", meta.resource_version}}},
          {"spec", Json::object()},
          {"status", Json::object()}};
}

std::string cluster_name_of(const ServiceStatus& status) {
  return status.cluster.empty() ? kUnnamed : status.cluster;
}

nlohmann::json cluster_object(const ServiceStatus& status, const Json& conditions, const ObjectMeta& meta) {
  Json out = object_of(Kind::cluster, cluster_name_of(status), meta);
  if (status.suspended) out["spec"]["suspended"] = spoken_json(*status.suspended);
  Json& now = out["status"];
  now["twin"] = status.twin;
  now["source"] = source_json(status.source);
  now["leads"] = status.leads;
  put_text(now, "whyNotLeads", status.why_not_leads);
  if (status.last_good) now["lastGood"] = id_json(*status.last_good);
  if (status.watched) now["watched"] = id_json(*status.watched);
  if (status.plan)
    now["planned"] = {{"revision", id_json(status.plan->revision)}, {"at", utc_text(status.plan->at)}};
  if (status.run) now["run"] = run_status_json(*status.run);
  put_text(now, "whyNotRun", status.why_not_run);
  if (!status.schedules.empty()) now["schedules"] = schedules_json(status.schedules);
  if (!status.breaker.empty()) now["breaker"] = {{"open", true}, {"message", status.breaker}};
  put_text(now, "recordTrouble", status.record_trouble);
  if (status.invalid)
    now["invalidRevision"] = {{"source", status.invalid->source},
                              {"message", status.invalid->why},
                              {"since", utc_text(status.invalid->since)}};
  now["devices"] = device_counts(status);
  now["observedGeneration"] = meta.generation;
  now["conditions"] = conditions;
  return out;
}

std::string revision_name(const ServiceStatus& status, std::size_t i) {
  const RevisionId& id = status.revisions[i].shown.revision;
  for (std::size_t newer = 0; newer < i; ++newer) {
    if (status.revisions[newer].shown.revision.source != id.source) continue;
    std::string_view digest = id.intents;
    if (digest.starts_with(kShaPrefix)) digest.remove_prefix(kShaPrefix.size());
    return id.source + "." + std::string(digest.substr(0, kIntentsShown));
  }
  return id.source;
}

nlohmann::json revision_object(const ServiceStatus& status, std::size_t i, const ObjectMeta& meta) {
  const RevisionStatus& one = status.revisions[i];
  const Revisions::Shown& shown = one.shown;
  const std::string_view state = to_string(shown.state);
  Json out = object_of(Kind::revision, revision_name(status, i), meta);
  out["spec"] = id_json(shown.revision);
  put_text(out["spec"], "author", one.made_by.author);
  put_text(out["spec"], "subject", one.made_by.subject);
  put_text(out["spec"], "made", one.made_by.made);
  Json& now = out["status"];
  now["state"] = state;
  put_text(now, "message", shown.why);
  now["since"] = utc_text(shown.since);
  now["lastGood"] = status.last_good == shown.revision;
  now["waitingInAll"] = shown.waits.size();
  now["waiting"] = waiting_json(status, shown);
  if (status.run && status.run->revision == shown.revision) now["run"] = run_status_json(*status.run);
  now["observedGeneration"] = meta.generation;
  now["conditions"] = revision_conditions(shown, meta.generation);
  return out;
}

nlohmann::json device_object(const KnownDevice& device, const Json& conditions, const ObjectMeta& meta) {
  Json out = object_of(Kind::device, device.named.name, meta);
  if (!device.named.labels.empty()) out["metadata"]["labels"] = device.named.labels;
  if (!device.named.role.empty()) out["metadata"]["labels"][kRoleLabel] = device.named.role;
  if (device.cordoned) out["spec"]["cordoned"] = spoken_json(*device.cordoned);
  Json& now = out["status"];
  put_text(now, "deviceSet", device.named.set);
  if (device.observed && !device.observed->facts.empty()) now["facts"] = device.observed->facts;
  if (!device.named.platform.empty()) now["facts"]["platform"] = device.named.platform;
  now["observedGeneration"] = meta.generation;
  now["conditions"] = conditions;
  if (!device.observed) {
    now["reachable"] = false;
    now["inSync"] = false;
    const std::string& why = device.named.why_unattached;
    now["message"] = why.empty() ? "not observed yet" : why;
    return out;
  }
  const DeviceStatus& seen = *device.observed;
  now["observedAt"] = utc_text(seen.observed);
  now["reachable"] = seen.reachable;
  now["complete"] = seen.complete;
  now["inSync"] = seen.in_sync();
  now["differences"] = seen.differences;
  now["counts"] = counts_json(seen.counts);
  now["drift"] = Json::array();
  for (const DriftEntry& item : seen.items) {
    Json& one = now["drift"].emplace_back(drift_item_json(item));
    one.erase("device");
  }
  now["driftInAll"] = seen.items_in_all();
  put_text(now, "bootId", seen.boot_id);
  put_text(now, "message", seen.why_incomplete);
  put_text(now, "maintenance", seen.maintenance);
  return out;
}

nlohmann::json change_object(const std::string& cluster, bool twin, const ShownChange& change, bool writes,
                             const ObjectMeta& meta) {
  Json out = object_of(Kind::change, std::to_string(change.change.record.change), meta);
  Json told = lockstep::change_json(cluster, twin, change);  // as `lockstep show -o json`
  out["metadata"]["creationTimestamp"] = told["begun"];
  out["spec"] = {{"author", told["author"]}, {"reason", told["reason"]}, {"digest", told["digest"]}};
  Json& now = out["status"];
  for (const char* const field : {"begun", "ended", "outcome", "steps", "devices", "runs"})
    now[field] = std::move(told[field]);
  now["observedGeneration"] = meta.generation;
  now["conditions"] = change_conditions(change.change, meta.generation);
  if (!writes) return out;
  Json& list = told["writes"];
  now["writesInAll"] = list.size();
  if (list.size() > kWritesShown) list.erase(list.begin() + kWritesShown, list.end());
  now["writes"] = std::move(list);
  return out;
}

nlohmann::json event_object(const ServiceEvent& event, const std::string& name, const ObjectMeta& meta) {
  Json out = object_of(Kind::event, name, meta);
  out.erase("spec");
  out.erase("status");
  const std::string at = utc_text(event.at);
  const std::size_t slash = event.object.find('/');
  out["metadata"]["creationTimestamp"] = at;
  out["involvedObject"] = {{"kind", event.object.substr(0, slash)},
                           {"name", slash == event.object.npos ? "" : event.object.substr(slash + 1)}};
  out["reason"] = to_string(event.kind);
  out["message"] = event.message;
  out["type"] = weight_of(event.kind) == ServiceEvent::Weight::normal ? "Normal" : "Warning";
  out["firstTimestamp"] = at;
  out["lastTimestamp"] = at;
  out["count"] = 1;
  out["source"] = {{"component", "lockstep"}};
  return out;
}

}  // namespace lockstep::api
