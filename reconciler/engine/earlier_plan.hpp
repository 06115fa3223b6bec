// What a plan that was made earlier is still good for: it approves steps of the plan that is made now.
//
// Promises: nothing of the earlier plan runs. What runs is the plan made now, without the steps that the
// earlier one does not have, word for word (device, driver, remedy, changes with their values and lines,
// wave, order, gate, holds, disruption), so that a forged plan can leave steps out and can't add or change
// any. Of a remedy, which effects are open may differ: it is approved for those that it was for, or fewer. A
// window's hold is not compared: time opens it, and what runs is held by the windows of now. Refuses,
// each with its reason: steps whose device's ground has moved, or is not told; steps that the plan made now
// does not have; what comes after a refused step; what stands as one with a refused step, or with one that
// the earlier plan lacks (Step::together, in either plan); locks of routes without an MTU that changes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// The steps that may not run any more as the ground of their device has moved (or the plan does not tell it),
// or as they come after such a step. By id, with the reason.
std::map<std::uint32_t, std::string> moved_ground(const Plan& plan, const Fleet& fleet,
                                                  const std::vector<DeviceState>& now);

// The plan without those steps, numbered again, with the digest of what is left.
Plan without(const Plan& plan, const std::map<std::uint32_t, std::string>& steps);

// As every reason ends that is for want of an observation.
inline constexpr std::string_view kNotObserved = " can't be observed";

struct ApprovedPart {
  std::map<std::uint32_t, std::string> refused;  // of the earlier plan: by id, with the reason
  // Of those refused: the device at the other end of a cable for which they are.
  std::map<std::uint32_t, std::string> other_ends;
  std::vector<Step> unapproved;  // of the plan made now: those that the earlier one lacks
  Plan plan;                     // of the plan made now: what may run
};
// `moved`: moved_ground() of the earlier plan.
ApprovedPart approved_part(const Plan& earlier, const Plan& now, std::map<std::uint32_t, std::string> moved);

}  // namespace lockstep
