// Devices of object_looks.hpp.

#include <fmt/format.h>

#include <algorithm>

#include "reconciler/api/object_looks.hpp"
#include "reconciler/engine/approved.hpp"
#include "specs/language/said.hpp"

namespace lockstep::api {
namespace {

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}", count, what) + (count == 1 ? "" : "s");
}

// Why nothing can be said of all of it; empty: it was read completely.
Why why_unread(const DeviceStatus& device) {
  if (!device.reachable) return {"Unreachable", device.why_incomplete};
  if (!device.complete) return {"Incomplete", device.why_incomplete};
  return {};
}

Look ready_look(const DeviceStatus& device) {
  using enum ConditionStatus;
  if (const Why unread = why_unread(device); unread.holds()) return {false_, unread.reason, unread.message};
  if (device.differences == 0) return {true_, "InSync", "as the specs want it"};
  return {false_, "Drifted", counted(device.differences, "difference") + " from the specs"};
}

Look in_sync_look(const DeviceStatus& device) {
  using enum ConditionStatus;
  const std::size_t drifted = count_of(device.counts, DriftState::drifted);
  if (drifted > 0) return {false_, "Drifted", counted(drifted, "setting") + " differ from the specs"};
  if (device.manual > 0)
    return {false_, "ManualAction", counted(device.manual, "setting") + " can only be corrected manually"};
  if (const Why unread = why_unread(device); unread.holds()) return {unknown, unread.reason, unread.message};
  const std::size_t not_applied = count_of(device.counts, DriftState::not_applied);
  return {true_, "InSync",
          not_applied == 0
              ? "all settings are as the specs want them"
              : "all settings that it supports are as the specs want them; it does not support " +
                    std::to_string(not_applied)};
}

Look healthy_look(const DeviceStatus& device) {
  using enum ConditionStatus;
  const std::size_t effects = count_of(device.counts, DriftState::effect);
  if (effects > 0)
    return {false_, "EffectsOpen", counted(effects, "effect") + " of its settings did not appear"};
  if (const Why unread = why_unread(device); unread.holds()) return {unknown, unread.reason, unread.message};
  return {true_, "Healthy", "it does what it is configured to do"};
}

// Of a step of the goal's plan; empty: nothing holds it. What an approval lifts and does not wait is
// approved.
Why why_held(const Step& step, bool waits) {
  if (waits)
    return {"ApprovalNeeded", step.holds.empty() ? "its revision needs approval" : step.holds.front().reason};
  const auto hold =
      std::ranges::find_if(step.holds, [](const Hold& one) { return !can_be_lifted(one.kind); });
  if (hold == step.holds.end()) return {};
  return {hold->kind == Hold::Kind::window ? "WaitsForWindow" : "Held", hold->reason};
}

}  // namespace

std::vector<ConditionRow> device_rows(std::chrono::seconds lifetime) {
  return {{.type = "Ready", .lifetime = lifetime},    {.type = "Reconciling", .abnormal_true = true},
          {.type = "Stalled", .abnormal_true = true}, {.type = "Reachable", .lifetime = lifetime},
          {.type = "InSync", .lifetime = lifetime},   {.type = "Healthy", .lifetime = lifetime}};
}

std::vector<NamedLook> looks_at_device(const DeviceStatus& device) {
  using enum ConditionStatus;
  std::vector<NamedLook> out{
      {"Ready", ready_look(device)},
      {"Reachable", device.reachable ? Look{true_, "Observed", "it answers"}
                                     : Look{false_, "Unreachable", device.why_incomplete}},
      {"InSync", in_sync_look(device)},
      {"Healthy", healthy_look(device)}};
  for (NamedLook& one : out) {
    one.look.proof = device.observed;
    one.look.boot_id = device.boot_id;
  }
  return out;
}

std::vector<NamedLook> looks_at_correction(bool differs, const std::string& changing, const Why& held) {
  using enum ConditionStatus;
  const bool stalled = differs && changing.empty() && held.holds();
  Look reconciling{false_, "AtRest", ""};
  if (!changing.empty())
    reconciling = {true_, "Changing", changing};
  else if (differs && !stalled)
    reconciling = {true_, "Correcting", "what differs is going to be corrected"};
  return {{"Reconciling", std::move(reconciling)},
          {"Stalled", stalled ? Look{true_, held.reason, held.message} : Look{false_, "GoesOn", ""}}};
}

void Corrections::take(const ServiceStatus& status) {
  all_ = why_not_writing(status);
  not_healed_ = status.not_healed;
  changing_.reset();
  if (status.run && status.run->devices) {
    changing_ = status.run->devices;
    what_ = "change of revision " + status.run->revision.source;
  } else if (status.devices && status.devices->change) {
    changing_ = status.devices->change->devices;
    what_ = "its differences are being corrected";
  }
  take_plan(status);
}

// Once for each plan, and for each approval.
void Corrections::take_plan(const ServiceStatus& status) {
  static const std::set<std::string> kNone;
  const std::shared_ptr<const GoalPlan> plan = status.plan ? status.plan->plan : nullptr;
  const auto shown = std::ranges::find_if(status.revisions, [&](const RevisionStatus& one) {
    return status.plan && one.shown.revision == status.plan->revision;
  });
  const std::set<std::string>& waits = shown == status.revisions.end() ? kNone : shown->shown.waits;
  if (plan == plan_ && waits == waits_) return;
  plan_ = plan;
  waits_ = waits;
  by_plan_.clear();
  if (!plan) return;
  for (std::size_t i = 0; i < plan->digests().size(); ++i) {
    const Step& step = plan->plan().steps[i];
    if (step.stands_by()) continue;
    if (Why held = why_held(step, waits.contains(plan->digests()[i])); held.holds())
      by_plan_.try_emplace(step.device, std::move(held));
  }
}

std::string Corrections::changing(const std::string& device) const {
  return changing_ && changing_->contains(device) ? what_ : "";
}

Why Corrections::held(const NamedDevice& device, const DeviceStatus* observed, bool cordoned) const {
  if (cordoned) return {"Cordoned", "nothing is written to it until it is uncordoned"};
  if (observed != nullptr && !observed->maintenance.empty())
    return {"InMaintenance", "in maintenance " + observed->maintenance};
  if (device.conduct == Conduct::suspended) return {"SpecsSuspend", "its specs suspend all changes"};
  if (device.conduct == Conduct::observe)
    return {"ModeObserve", "its specs say mode: observe, so nothing is corrected automatically"};
  if (all_.holds()) return all_;
  if (const auto found = by_plan_.find(device.name); found != by_plan_.end()) return found->second;
  if (observed != nullptr) {
    const auto refused = std::ranges::find_if(observed->items, [](const DriftEntry& one) {
      return one.state == DriftState::drifted && !one.reason.empty();
    });
    if (refused != observed->items.end()) return {"Refused", refused->path.text() + ": " + refused->reason};
  }
  if (const auto found = not_healed_.find(device.name); found != not_healed_.end())
    return {found->second.waits  ? "WaitsForWindow"
            : found->second.asks ? "ApprovalNeeded"
                                 : "NotCorrected",
            found->second.why};
  if (observed != nullptr && observed->manual > 0)
    return {"ManualAction", counted(observed->manual, "setting") + " can only be corrected manually"};
  return {};
}

}  // namespace lockstep::api
