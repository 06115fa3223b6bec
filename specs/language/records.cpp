// The field tables of the kinds that the reconciler writes.
#include "specs/language/records.hpp"

#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr Field condition_fields[] = {
    field<&Condition::type>("type", "Ready, Reconciling, Stalled, Reachable, InSync, Validated or Healthy",
                            {.required = true}),
    field<&Condition::status>("status", "True, False or Unknown", {.required = true}),
    field<&Condition::reason>("reason", "one word for programs"),
    field<&Condition::message>("message", "a sentence for people"),
    field<&Condition::observed_generation>("observedGeneration", "the generation that it is about"),
    field<&Condition::last_transition_time>("lastTransitionTime", "when status last changed"),
    field<&Condition::observed_at>("observedAt", "when the devices behind it were last read back"),
};
constexpr Field drift_fields[] = {
    field<&DriftItem::path>("path", "the entry", {.required = true}),
    field<&DriftItem::state>("state", "drifted, notApplied, overruled, unmanaged or effect",
                             {.required = true}),
    field<&DriftItem::want>("want", "what the specs say"),
    field<&DriftItem::have>("have", "what is there"),
    field<&DriftItem::reason>("reason", "why it was not applied"),
};
constexpr Field device_fields[] = {
    field<&DeviceObject::device_set>("deviceSet", "the DeviceSet that lists it", {.form = Form::name}),
    field<&DeviceObject::boot_id>("bootId", "of the boot that was observed"),
    field<&DeviceObject::observed_at>("observedAt", "when it was last read"),
    field<&DeviceObject::facts>("facts", "what was found: model, serial, versions"),
    field<&DeviceObject::drift>("drift", "what differs from the specs"),
    field<&DeviceObject::conditions>("conditions", "in the Kubernetes form"),
};
constexpr Field step_fields[] = {
    field<&ChangeStep::id>("id", "its number in the plan", {.required = true}),
    field<&ChangeStep::device>("device", "the device", {.required = true, .form = Form::name}),
    field<&ChangeStep::outcome>("outcome", "done, failed, undone, skipped or unknown", {.required = true}),
    field<&ChangeStep::message>("message", "a sentence for people"),
    field<&ChangeStep::started_at>("startedAt", "when it began"),
    field<&ChangeStep::finished_at>("finishedAt", "when it ended"),
};
constexpr Field change_fields[] = {
    field<&ChangeObject::digest>("digest", "the plan's digest", {.required = true}),
    field<&ChangeObject::author>("author", "who asked for it"),
    field<&ChangeObject::reason>("reason", "why"),
    field<&ChangeObject::started_at>("startedAt", "when it began"),
    field<&ChangeObject::finished_at>("finishedAt", "when it ended"),
    field<&ChangeObject::steps>("steps", "what was done"),
    field<&ChangeObject::conditions>("conditions", "in the Kubernetes form"),
};
constexpr Field result_fields[] = {
    field<&RunResult::benchmark>("benchmark", "the benchmark's name", {.required = true, .form = Form::name}),
    field<&RunResult::transport>("transport", "what ran"),
    field<&RunResult::verdict>("verdict", "pass, fail or unknown", {.required = true}),
    field<&RunResult::message>("message", "a sentence for people"),
    field<&RunResult::figures>("figures", "what was measured"),
};
constexpr Field run_fields[] = {
    field<&BenchmarkRun::suite>("suite", "the ValidationSuite", {.required = true, .form = Form::name}),
    field<&BenchmarkRun::config_hash>("configHash", "of the configuration that it ran under"),
    field<&BenchmarkRun::verdict>("verdict", "pass, fail or unknown", {.required = true}),
    field<&BenchmarkRun::started_at>("startedAt", "when it began"),
    field<&BenchmarkRun::finished_at>("finishedAt", "when it ended"),
    field<&BenchmarkRun::results>("results", "one for each benchmark"),
    field<&BenchmarkRun::conditions>("conditions", "in the Kubernetes form"),
};
constexpr Field finding_fields[] = {
    field<&Finding::fault>("fault", "what is wrong", {.required = true}),
    field<&Finding::devices>("devices", "where", {.form = Form::name}),
    field<&Finding::evidence>("evidence", "what shows it"),
    field<&Finding::probable_cause>("probableCause", "the likely root cause"),
    field<&Finding::action>("action", "what is advised, or was done"),
    field<&Finding::action_taken>("actionTaken", "true if it was done"),
    field<&Finding::cost_per_hour>(
        "costPerHour", "what the GPUs of the hosts concerned cost an hour, in the Cluster's currency"),
    field<&Finding::since>("since", "when it was first seen"),
    field<&Finding::conditions>("conditions", "in the Kubernetes form"),
};

}  // namespace

template <>
const Type& struct_type<Condition>() {
  static constexpr Type type = object_type<Condition>("a condition", condition_fields);
  return type;
}
template <>
const Type& struct_type<DriftItem>() {
  static constexpr Type type = object_type<DriftItem>("a drift item", drift_fields);
  return type;
}
template <>
const Type& struct_type<DeviceObject>() {
  static constexpr Type type = object_type<DeviceObject>("a Device", device_fields);
  return type;
}
template <>
const Type& struct_type<ChangeStep>() {
  static constexpr Type type = object_type<ChangeStep>("a step", step_fields);
  return type;
}
template <>
const Type& struct_type<ChangeObject>() {
  static constexpr Type type = object_type<ChangeObject>("a Change", change_fields);
  return type;
}
template <>
const Type& struct_type<RunResult>() {
  static constexpr Type type = object_type<RunResult>("a result", result_fields);
  return type;
}
template <>
const Type& struct_type<BenchmarkRun>() {
  static constexpr Type type = object_type<BenchmarkRun>("a BenchmarkRun", run_fields);
  return type;
}
template <>
const Type& struct_type<Finding>() {
  static constexpr Type type = object_type<Finding>("a Finding", finding_fields);
  return type;
}

}  // namespace lockstep
