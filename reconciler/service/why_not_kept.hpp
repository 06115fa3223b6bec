// Why a change was neither kept nor refused, in one line for people.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"

namespace lockstep {

// The verdict, and behind it what decided it: the gate, where the verdict is of one; else the first step that
// failed, an effect that did not appear, or a step that was not begun. `steps`: of the plan that was carried
// out.
std::string why_not_kept(const ApplyReport& report, const std::vector<Step>& steps);

}  // namespace lockstep
