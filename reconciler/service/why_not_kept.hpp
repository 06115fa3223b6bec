// Why a change was neither kept nor refused, and what one that was kept leaves as it is, in one line each for
// people.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// The verdict, and behind it what decided it: the gate, where the verdict is of one; else the first step that
// failed, an effect that did not appear, or a step that was not begun. `steps`: of the plan that was carried
// out.
std::string why_not_kept(const ApplyReport& report, const std::vector<Step>& steps);

// Devices that differ, and that the service may not change (their mode, maintenance, a cordon); empty: none.
std::string why_left_alone(const Fleet& fleet, const std::vector<DeviceState>& states,
                           const PlanChoice& choice);

}  // namespace lockstep
