#include "reconciler/service/why_not_kept.hpp"

#include <algorithm>

#include "reconciler/engine/gate.hpp"

namespace lockstep {
namespace {

bool is_of_a_gate(ApplyVerdict verdict) {
  switch (verdict) {
    case ApplyVerdict::undone:
    case ApplyVerdict::undone_in_part:
    case ApplyVerdict::undo_failed:
    case ApplyVerdict::quarantined:
    case ApplyVerdict::not_validated: return true;
    default: return false;
  }
}

// "leaf0: no answer"; empty: there is no such step.
template <typename Is>
std::string first_step(const ApplyReport& report, const std::vector<Step>& steps, Is is) {
  for (std::size_t i = 0; i < std::min(steps.size(), report.steps.size()); ++i)
    if (const StepResult& one = report.steps[i]; is(one.state) && !one.why.empty())
      return steps[i].device + ": " + one.why;
  return "";
}

std::string decided_by(const ApplyReport& report, const std::vector<Step>& steps) {
  if (is_of_a_gate(report.verdict) && report.gate && !report.gate->why.empty()) return report.gate->why;
  std::string failed = first_step(report, steps, [](StepState state) {
    return state == StepState::failed || state == StepState::undone;
  });
  if (!failed.empty()) return failed;
  if (!report.effects.empty()) {
    const OpenEffect& open = report.effects.front();
    const std::string what = open.device + ": " + open.change.path.text();
    return open.unread.empty() ? what + " did not appear" : what + " could not be read: " + open.unread;
  }
  return first_step(report, steps, [](StepState state) { return !is_good(state); });
}

}  // namespace

std::string why_left_alone(const Fleet& fleet, const std::vector<DeviceState>& states,
                           const PlanChoice& choice) {
  std::string first;
  std::size_t more = 0;
  for (std::size_t i = 0; i < std::min(fleet.size(), states.size()); ++i) {
    if (!states[i].reachable || states[i].difference.changes.empty()) continue;
    if (choice.why_not(fleet[i]).empty()) continue;
    if (first.empty())
      first = fleet[i].name;
    else
      ++more;
  }
  return first.empty() ? "" : "these differ, and the service does not change them: " + first + and_more(more);
}

std::string why_not_kept(const ApplyReport& report, const std::vector<Step>& steps) {
  const std::string why = decided_by(report, steps);
  return std::string(to_string(report.verdict)) + (why.empty() ? "" : ": " + why);
}

}  // namespace lockstep
