// Refused writes: a value that a gate rolled back is not written to that entry again without approval.
//
// Promises: pure. A change that sets an entry to a value that a gate rolled back there is held as long as the
// specs want that value, independent of what else is planned or changes in the specs, and again when they
// want it again, until it is approved by name (Hold::Kind::gate). If the change was found guilty, the same
// holds on its other devices that it had not reached yet. A write that was cleared, because the fault exists
// without it too, is offered once more, only to a user. Refuses nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// For PlanInput::undone_before. `person`: a user runs the plan and can answer; otherwise it runs
// automatically (PlanChoice::person).
std::map<std::string, UndoneBefore> undone_before(const std::vector<RefusedWrite>& refused, bool person);

}  // namespace lockstep
