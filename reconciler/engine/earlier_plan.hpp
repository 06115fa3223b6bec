// What of an earlier plan is still valid: it approves steps of the plan that is made now.
//
// Promises: nothing of the earlier plan runs. The plan made now runs, without the steps that the earlier one
// does not contain identically (device, driver, remedy, changes with their values and lines, wave, order,
// gate, holds, disruption), so that a forged plan can leave steps out but can't add or change any. For a
// remedy the open effects may differ: it is approved for those that it was for, or fewer. Window holds are
// not compared: they expire with time, and what runs is held by the current windows. Refuses, each with its
// reason: steps whose device changed since planning, can't be observed or is not listed in the plan; steps
// that the plan made now does not contain; steps after a refused step; steps tied to a refused step, or to
// one that the earlier plan lacks (Step::together, in either plan); route locks without an MTU change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// The stale steps of a plan: their device changed since planning, or is not in the plan, or they come after
// such a step. By id, with the reason.
std::map<std::uint32_t, std::string> moved_ground(const Plan& plan, const Fleet& fleet,
                                                  const std::vector<DeviceState>& now);

// The plan without those steps, renumbered, with a new digest.
Plan without(const Plan& plan, const std::map<std::uint32_t, std::string>& steps);

// The ending of every reason that is due to a missing observation.
inline constexpr std::string_view kNotObserved = " can't be observed";

struct ApprovedPart {
  std::map<std::uint32_t, std::string> refused;  // of the earlier plan: by id, with the reason
  // For some refused steps: the device at the other end of the cable because of which they are refused.
  std::map<std::uint32_t, std::string> other_ends;
  std::vector<Step> unapproved;  // of the plan made now: those that the earlier one lacks
  Plan plan;                     // of the plan made now: what may run
};
// `moved`: moved_ground() of the earlier plan.
ApprovedPart approved_part(const Plan& earlier, const Plan& now, std::map<std::uint32_t, std::string> moved);

}  // namespace lockstep
