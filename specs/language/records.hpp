// The kinds that the reconciler writes: Device (facts, drift, conditions), Change (an executed plan),
// BenchmarkRun, Finding. They are loaded with the same tables, so that stored or exported records can be read
// back.
#pragma once

#include "specs/language/object.hpp"

namespace lockstep {

enum class Truth : std::uint8_t { yes, no, unknown };
constexpr auto words(Truth) { return std::to_array<std::string_view>({"True", "False", "Unknown"}); }

// A condition in the Kubernetes form, with its evidence.
struct Condition {
  Said<std::string> type;
  Said<Truth> status;
  Said<std::string> reason;
  Said<std::string> message;
  Said<std::uint64_t> observed_generation;
  Said<Timestamp> last_transition_time;
  Said<Timestamp> observed_at;  // when the devices concerned were last observed
};

enum class DriftState : std::uint8_t { drifted, not_applied, overruled, unmanaged, effect, finding, allowed };
constexpr auto words(DriftState) {
  return std::to_array<std::string_view>(
      {"drifted", "notApplied", "overruled", "unmanaged", "effect", "finding", "allowed"});
}

enum class Verdict : std::uint8_t { pass, fail, unknown };
constexpr auto words(Verdict) { return std::to_array<std::string_view>({"pass", "fail", "unknown"}); }

struct DriftItem {
  Said<std::string> path;
  Said<DriftState> state;
  Said<Literal> want;
  Said<Literal> have;
  Said<std::string> reason;
};

struct DeviceObject : Object {
  Said<std::string> device_set;
  Said<std::string> boot_id;
  Said<Timestamp> observed_at;
  MapEntries<Literal> facts;
  std::vector<DriftItem> drift;
  std::vector<Condition> conditions;
};

enum class StepOutcome : std::uint8_t { done, failed, undone, skipped, unknown };
constexpr auto words(StepOutcome) {
  return std::to_array<std::string_view>({"done", "failed", "undone", "skipped", "unknown"});
}

struct ChangeStep {
  Said<std::uint64_t> id;
  Said<std::string> device;
  Said<StepOutcome> outcome;
  Said<std::string> message;
  Said<Timestamp> started_at;
  Said<Timestamp> finished_at;
};

struct ChangeObject : Object {
  Said<std::string> digest;  // of the plan
  Said<std::string> author;
  Said<std::string> reason;
  Said<Timestamp> started_at;
  Said<Timestamp> finished_at;
  std::vector<ChangeStep> steps;
  std::vector<Condition> conditions;
};

struct RunResult {
  Said<std::string> benchmark;
  Said<std::string> transport;
  Said<Verdict> verdict;
  Said<std::string> message;
  MapEntries<Literal> figures;
};

struct BenchmarkRun : Object {
  Said<std::string> suite;
  Said<std::string> config_hash;
  Said<Verdict> verdict;
  Said<Timestamp> started_at;
  Said<Timestamp> finished_at;
  std::vector<RunResult> results;
  std::vector<Condition> conditions;
};

struct Finding : Object {
  Said<std::string> fault;
  std::vector<Said<std::string>> devices;
  std::vector<Said<std::string>> evidence;
  Said<std::string> probable_cause;
  Said<std::string> action;
  Said<bool> action_taken;
  Said<Decimal> cost_per_hour;
  Said<Timestamp> since;
  std::vector<Condition> conditions;
};

}  // namespace lockstep
