// Refused steps: what a gate had undone is not done again by the next run that finds the specs as they were.
//
// Promises: pure. A step that leaves a device as a refused one did is held until the specs want something
// else of the devices of that change, or a person approves it by name (Hold::Kind::gate). One that was
// cleared, as what was broken was so without it, too, is offered once more, to a person alone. Refuses
// nothing.
#pragma once

#include <vector>

#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// `person`: whoever runs the plan was asked; else it runs by itself (PlanChoice::person).
Plan hold_refused(Plan plan, const std::vector<RefusedStep>& refused, const Fleet& fleet, bool person);

}  // namespace lockstep
