#include "reconciler/api/object_looks.hpp"

#include <algorithm>

namespace lockstep::api {
namespace {

const Revisions::Shown* newest_in(const ServiceStatus& status, RevisionState state) {
  const auto found = std::ranges::find_if(
      status.revisions, [&](const RevisionStatus& one) { return one.shown.state == state; });
  return found == status.revisions.end() ? nullptr : &found->shown;
}

Why why_stalled(const ServiceStatus& status) {
  if (Why not_writing = why_not_writing(status); not_writing.holds()) return not_writing;
  if (status.invalid) return {"InvalidRevision", status.invalid->why};
  if (status.source.trouble) return {std::string(to_string(*status.source.trouble)), status.source.why};
  if (const auto* const waiting = newest_in(status, RevisionState::waiting); waiting != nullptr)
    return {"ApprovalNeeded", waiting->why};
  if (!status.revisions.empty() && status.revisions.front().shown.state == RevisionState::refused)
    return {"Refused", status.revisions.front().shown.why};
  return {};
}

Why why_reconciling(const ServiceStatus& status) {
  if (status.run)
    return {"Running", "change of revision " + status.run->revision.source + ": " + status.run->phase};
  if (newest_in(status, RevisionState::pending) != nullptr) return {"Pending", status.why_not_run};
  return {};
}

Why why_devices_differ(const ServiceStatus& status) {
  if (!status.devices) return {"NotObserved", "no device has been observed yet"};
  std::size_t not_read = 0;
  std::size_t differ = 0;
  for (const auto& one : status.devices->devices) {
    if (!one || !one->complete) ++not_read;
    if (one && one->differences > 0) ++differ;
  }
  if (differ > 0) return {"Drifted", "devices that differ from the specs: " + std::to_string(differ)};
  if (not_read > 0) return {"NotObserved", "devices not observed completely: " + std::to_string(not_read)};
  return {};
}

WallTime oldest_look(const ServiceStatus& status, WallTime now) {
  if (!status.devices) return now;
  for (const auto& one : status.devices->devices)
    if (one) now = std::min(now, one->observed);
  return now;
}

Look look_of(bool is, std::string reason, std::string message) {
  return {is ? ConditionStatus::true_ : ConditionStatus::false_, std::move(reason), std::move(message)};
}

}  // namespace

Why why_not_writing(const ServiceStatus& status) {
  if (!status.record_trouble.empty()) return {"RecordTrouble", status.record_trouble};
  if (status.suspended) return {"Suspended", "by " + status.suspended->who + ": " + status.suspended->reason};
  if (!status.breaker.empty()) return {"BreakerOpen", status.breaker};
  if (!status.leads) return {"NotLeading", status.why_not_leads};
  return {};
}

std::vector<ConditionRow> cluster_rows(std::chrono::seconds lifetime) {
  return {{.type = "Ready", .lifetime = lifetime},
          {.type = "Reconciling", .abnormal_true = true},
          {.type = "Stalled", .abnormal_true = true}};
}

std::vector<NamedLook> looks_at_cluster(const ServiceStatus& status, WallTime now) {
  const Why stalled = why_stalled(status);
  const Why reconciling = why_reconciling(status);
  Why not_ready = stalled;
  if (not_ready.reason.empty()) not_ready = reconciling;
  if (not_ready.reason.empty()) not_ready = why_devices_differ(status);
  const bool ready = not_ready.reason.empty();
  Look readiness = look_of(ready, ready ? "InSync" : not_ready.reason,
                           ready ? "all devices are as the specs want them" : not_ready.message);
  readiness.proof = ready ? oldest_look(status, now) : now;
  return {{"Ready", std::move(readiness)},
          {"Reconciling",
           look_of(!reconciling.reason.empty(), reconciling.reason.empty() ? "AtRest" : reconciling.reason,
                   reconciling.message)},
          {"Stalled", look_of(!stalled.reason.empty(), stalled.reason.empty() ? "GoesOn" : stalled.reason,
                              stalled.message)}};
}

}  // namespace lockstep::api
