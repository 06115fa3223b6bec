#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reconciler/engine/approved.hpp"
#include "reconciler/engine/digest.hpp"
#include "specs/language/api_version.hpp"
#include "specs/model/schema_rows.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> kDisruptions{"none", "traffic", "reset", "reboot"};
constexpr std::array<std::string_view, 9> kHolds{"approval",   "budget",   "management", "window", "drain",
                                                 "hostPolicy", "inPerson", "farEnd",     "gate"};

Error broken(const std::string& what) {
  return Error{ErrorKind::invalid_spec, "the plan file is broken: " + what};
}

Json change_json(const Plan& plan, const PlannedChange& change) {
  Json out{{"path", change.path.text()}, {"was", to_json(change.was)}, {"want", to_json(change.want)}};
  if (change.origin != 0 && change.origin < plan.origins.size())
    out["origin"] = to_json(plan.origins[change.origin]);
  if (change.transient) out["transient"] = true;
  return out;
}

Json hold_json(const Hold& hold, Disruption disruption) {
  Json out{{"kind", kHolds[static_cast<std::size_t>(hold.kind)]}, {"reason", hold.reason}};
  if (const std::string_view word = word_of(hold.kind, disruption); !word.empty()) out["approve"] = word;
  return out;
}

Json step_json(const Plan& plan, const Step& step) {
  Json out{{"id", step.id},     {"device", step.device}, {"driver", step.driver},
           {"wave", step.wave}, {"after", step.after},   {"disruption", to_string(step.disruption)}};
  if (!step.after_barriers.empty()) out["afterBarriers"] = step.after_barriers;
  out["changes"] = Json::array();
  for (const PlannedChange& change : step.changes) out["changes"].push_back(change_json(plan, change));
  if (step.live) out["live"] = true;
  if (step.removes_replaced) out["removesReplaced"] = true;
  if (!step.takes_out.empty()) out["takesOut"] = step.takes_out;
  if (step.together != 0) out["together"] = step.together;
  if (!step.remedy.empty()) out["remedy"] = step.remedy;
  if (step.before_writes) out["beforeWrites"] = true;
  for (const RowId row : step.if_open) out["ifOpen"].push_back(schema_row(row).pattern);
  if (step.undo_after) out["undoAfterMs"] = step.undo_after->count();
  for (const Path one : step.quiet) out["quiet"].push_back(one.text());
  for (const Hold& hold : step.holds) out["holds"].push_back(hold_json(hold, step.disruption));
  if (!step.notes.empty()) out["notes"] = step.notes;
  return out;
}

// Reading: every access is checked, since a plan file is input.
template <class T>
Result<T> field(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name)) return broken(std::string("'") + name + "' is missing");
  const Json& value = json.at(name);
  if constexpr (std::is_same_v<T, std::string>) {
    if (value.is_string()) return value.get<std::string>();
  } else {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<T>::max())
      return value.get<T>();
  }
  return broken(std::string("'") + name + "' is of the wrong type");
}

// By reference: copying is recursive, and the writer of the file chooses the depth.
bool is_true(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && *found == Json(true);
}

template <std::size_t N>
Result<std::size_t> word(const std::array<std::string_view, N>& words, const std::string& text) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == text) return i;
  return broken("'" + text + "' is not a word that it knows");
}

Result<PlanOrigin> read_origin(const Json& json) {
  PlanOrigin origin;
  TRY(origin.file, field<std::string>(json, "file"));
  TRY(origin.line, field<std::uint32_t>(json, "line"));
  TRY(origin.column, field<std::uint32_t>(json, "column"));
  TRY(origin.object, field<std::string>(json, "object"));
  TRY(origin.rule, field<std::string>(json, "rule"));
  return origin;
}

Result<Value> read_value(const Json& json, const char* name, Path path) {
  if (!json.contains(name)) return broken(std::string("'") + name + "' is missing");
  Result<Value> value = value_from_json(path.row(), json.at(name));
  if (!value) return broken(value.error().text());
  return value;
}

using OriginNumbers = std::map<PlanOrigin, std::uint32_t>;  // of those in the plan so far

Result<PlannedChange> read_change(const Json& json, Plan& plan, OriginNumbers& known) {
  TRY(const std::string text, field<std::string>(json, "path"));
  PlannedChange change;
  TRY(change.path, Path::parse(text));
  TRY(change.was, read_value(json, "was", change.path));
  TRY(change.want, read_value(json, "want", change.path));
  if (json.contains("origin")) {
    TRY(PlanOrigin origin, read_origin(json.at("origin")));
    const auto [found, is_new] = known.try_emplace(origin, static_cast<std::uint32_t>(plan.origins.size()));
    change.origin = found->second;
    if (is_new) plan.origins.push_back(std::move(origin));
  }
  change.transient = is_true(json, "transient");
  return change;
}

Result<Done> read_holds(const Json& json, Step& step) {
  if (!json.is_array()) return broken("'holds' is not a list");
  for (const Json& one : json) {
    TRY(const std::string kind, field<std::string>(one, "kind"));
    TRY(const std::size_t number, word(kHolds, kind));
    TRY(std::string reason, field<std::string>(one, "reason"));
    step.holds.push_back({static_cast<Hold::Kind>(number), std::move(reason)});
  }
  return Done{};
}

Result<Done> read_if_open(const Json& json, Step& step) {
  if (!json.is_array() || step.remedy.empty()) return broken("'ifOpen' is not a list of a remedy");
  for (const Json& one : json) {
    const auto row =
        one.is_string() ? std::ranges::find(kSchema, one.get<std::string>(), &Row::pattern) : kSchema.end();
    if (row == kSchema.end() || row->facet != Facet::effect) return broken("'ifOpen' has what is no effect");
    step.if_open.push_back(static_cast<RowId>(row - kSchema.begin()));
  }
  return Done{};
}

Result<Done> read_quiet(const Json& json, Step& step) {
  if (!json.is_array()) return broken("'quiet' is not a list");
  for (const Json& one : json) {
    if (!one.is_string()) return broken("'quiet' has what is no entry");
    TRY(const Path path, Path::parse(one.get<std::string>()));
    step.quiet.push_back(path);
  }
  return Done{};
}

// Ids of steps, or numbers of barriers.
Result<Done> read_ids(const Json& json, std::vector<std::uint32_t>& out) {
  const auto is_id = [](const Json& one) {
    return one.is_number_unsigned() && one.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
  };
  if (!json.is_array() || !std::ranges::all_of(json, is_id))
    return broken("a list of barriers, or of a barrier's steps, is not one of numbers");
  for (const Json& one : json) out.push_back(one.get<std::uint32_t>());
  return Done{};
}

// Call after reading the steps: a barrier's steps come before those that wait for it.
Result<Done> read_barriers(const Json& json, Plan& plan) {
  if (json.contains("barriers")) {
    if (!json["barriers"].is_array()) return broken("'barriers' is not a list");
    for (const Json& one : json["barriers"]) TRY_DONE(read_ids(one, plan.barriers.emplace_back().after));
  }
  for (const Barrier& one : plan.barriers)
    if (one.after.empty() || one.after.front() == 0 || one.after.back() > plan.steps.size() ||
        std::ranges::adjacent_find(one.after, std::greater_equal<>{}) != one.after.end())
      return broken("a barrier is not of the plan's steps, each once and in order");
  for (const Step& step : plan.steps)
    for (const std::uint32_t number : step.after_barriers)
      if (number == 0 || number > plan.barriers.size() || plan.barriers[number - 1].after.back() >= step.id)
        return broken("a step comes after a barrier that is not before it");
  return Done{};
}

Result<Step> read_step(const Json& json, Plan& plan, OriginNumbers& known) {
  const auto id = static_cast<std::uint32_t>(plan.steps.size() + 1);
  Step step;
  TRY(step.id, field<std::uint32_t>(json, "id"));
  if (step.id != id) return broken("its steps are not numbered 1, 2, 3, ...");
  TRY(step.device, field<std::string>(json, "device"));
  TRY(step.driver, field<std::string>(json, "driver"));
  TRY(step.wave, field<std::uint32_t>(json, "wave"));
  TRY(const std::string disruption, field<std::string>(json, "disruption"));
  TRY(const std::size_t number, word(kDisruptions, disruption));
  step.disruption = static_cast<Disruption>(number);
  if (!json.contains("after") || !json["after"].is_array()) return broken("'after' is missing");
  for (const Json& before : json["after"]) {
    if (!before.is_number_unsigned() || before.get<std::uint64_t>() >= id || before.get<std::uint64_t>() == 0)
      return broken("a step comes after one that is not before it");
    step.after.push_back(before.get<std::uint32_t>());
  }
  if (json.contains("afterBarriers")) TRY_DONE(read_ids(json["afterBarriers"], step.after_barriers));
  if (!json.contains("changes") || !json["changes"].is_array()) return broken("'changes' is missing");
  for (const Json& one : json["changes"]) {
    TRY(const PlannedChange change, read_change(one, plan, known));
    step.changes.push_back(change);
  }
  step.live = is_true(json, "live");
  step.removes_replaced = is_true(json, "removesReplaced");
  step.before_writes = is_true(json, "beforeWrites");
  if (json.contains("takesOut") && json["takesOut"].is_array())
    for (const Json& one : json["takesOut"])
      if (one.is_string()) step.takes_out.push_back(one.get<std::string>());
  if (json.contains("together")) {
    TRY(step.together, field<std::uint32_t>(json, "together"));
  }
  if (json.contains("remedy")) {
    TRY(step.remedy, field<std::string>(json, "remedy"));
  }
  if (json.contains("ifOpen")) TRY_DONE(read_if_open(json["ifOpen"], step));
  if (json.contains("undoAfterMs")) {
    TRY(const std::uint32_t after, field<std::uint32_t>(json, "undoAfterMs"));
    step.undo_after = std::chrono::milliseconds(after);
  }
  if (json.contains("quiet")) TRY_DONE(read_quiet(json["quiet"], step));
  if (json.contains("holds")) TRY_DONE(read_holds(json["holds"], step));
  if (json.contains("notes") && json["notes"].is_array())
    for (const Json& note : json["notes"])
      if (note.is_string()) step.notes.push_back(note.get<std::string>());
  return step;
}

Result<PlanDevice> read_device(const Json& json) {
  PlanDevice device;
  TRY(device.name, field<std::string>(json, "name"));
  TRY(device.digest, field<std::string>(json, "digest"));
  TRY(device.boot_id, field<std::string>(json, "bootId"));
  if (!json.contains("read") || !json["read"].is_array()) return broken("'read' is missing");
  for (const Json& one : json["read"]) {
    TRY(const std::string text, field<std::string>(one, "path"));
    TRY(const Path path, Path::parse(text));
    TRY(const Value value, read_value(one, "value", path));
    device.read.emplace_back(path, value);
  }
  return device;
}

Result<Done> read_ungated(const Json& json, Plan& plan) {
  if (!json.is_array()) return broken("'ungatedWaves' is not a list");
  std::uint32_t last = 0;
  for (const Json& one : json) {
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() <= last ||
        one.get<std::uint64_t>() >= plan.waves())
      return broken("'ungatedWaves' are not waves before the last one, in order");
    last = one.get<std::uint32_t>();
    plan.ungated.push_back(last);
  }
  return Done{};
}

}  // namespace

Json to_json(const PlanOrigin& origin) {
  return {{"file", origin.file},
          {"line", origin.line},
          {"column", origin.column},
          {"object", origin.object},
          {"rule", origin.rule}};
}

std::string_view to_string(Disruption disruption) {
  return kDisruptions[static_cast<std::size_t>(disruption)];
}

Json to_json(const Plan& plan) {
  std::array<std::size_t, 4> by_disruption{};
  Json steps = Json::array();
  for (const Step& step : plan.steps) {
    steps.push_back(step_json(plan, step));
    for (const PlannedChange& change : step.changes)
      if (step.remedy.empty() && !change.transient)
        ++by_disruption[static_cast<std::size_t>(schema_row(change.path.row()).disruption)];
  }
  Json devices = Json::array();
  for (const PlanDevice& device : plan.devices) {
    Json read = Json::array();
    for (const auto& [path, value] : device.read)
      read.push_back({{"path", path.text()}, {"value", to_json(value)}});
    devices.push_back({{"name", device.name},
                       {"digest", device.digest},
                       {"bootId", device.boot_id},
                       {"read", std::move(read)}});
  }
  Json summary{
      {"devices", plan.devices_observed}, {"steps", plan.steps.size()},           {"changes", plan.changes()},
      {"remedies", plan.remedies()},      {"notApplicable", plan.not_applicable}, {"waves", plan.waves()}};
  for (std::size_t i = 0; i < kDisruptions.size(); ++i)
    summary["byDisruption"][kDisruptions[i]] = by_disruption[i];
  Json out{{"apiVersion", api_version},
           {"kind", "Plan"},
           {"digest", plan.digest},
           {"summary", std::move(summary)},
           {"steps", std::move(steps)},
           {"devices", std::move(devices)}};
  for (const Barrier& barrier : plan.barriers) out["barriers"].push_back(barrier.after);
  if (!plan.refusals.empty()) out["refusals"] = plan.refusals;
  if (!plan.ungated.empty()) out["ungatedWaves"] = plan.ungated;
  return out;
}

Result<Plan> plan_from_json(const Json& json) {
  TRY(const std::string kind, field<std::string>(json, "kind"));
  TRY(const std::string version, field<std::string>(json, "apiVersion"));
  if (kind != "Plan" || version != api_version)
    return broken("it is not a Plan of lockstep.dev/v1alpha1");
  Plan plan;
  TRY(plan.digest, field<std::string>(json, "digest"));
  if (!json.contains("steps") || !json["steps"].is_array()) return broken("'steps' is missing");
  OriginNumbers known;
  for (const Json& one : json["steps"]) {
    TRY(Step step, read_step(one, plan, known));
    plan.steps.push_back(std::move(step));
  }
  TRY_DONE(read_barriers(json, plan));
  // Each wave must have a step, so that loops over waves can't run to 4,000,000,000.
  if (plan.waves() > plan.steps.size()) return broken("a wave has no step");
  if (!json.contains("devices") || !json["devices"].is_array()) return broken("'devices' is missing");
  std::set<std::string> names;
  for (const Json& one : json["devices"]) {
    TRY(PlanDevice device, read_device(one));
    if (!names.insert(device.name).second) return broken("device " + device.name + " is listed twice");
    plan.devices.push_back(std::move(device));
  }
  if (json.contains("summary") && json["summary"].is_object()) {
    TRY(plan.devices_observed, field<std::size_t>(json["summary"], "devices"));
    TRY(plan.not_applicable, field<std::size_t>(json["summary"], "notApplicable"));
  }
  if (json.contains("refusals") && json["refusals"].is_array())
    for (const Json& one : json["refusals"])
      if (one.is_string()) plan.refusals.push_back(one.get<std::string>());
  if (json.contains("ungatedWaves")) TRY_DONE(read_ungated(json["ungatedWaves"], plan));
  if (plan_digest(plan) != plan.digest)
    return broken("its digest does not fit its steps: it was edited or cut");
  return plan;
}

}  // namespace lockstep
