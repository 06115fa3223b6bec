// Refused writes: a value that a gate rolled back is not written to that entry again unasked.
//
// Promises: pure. A change of an entry to what a gate rolled back there (or, of a change that was found
// guilty, on another device of it, before it came here) is held, whatever else is planned with it or changes
// in the specs, as long as they want that value there, and again when they want it again; until somebody
// approves it by name (Hold::Kind::gate). One that was cleared, as what was broken was so without it, too, is
// offered once more, to a person alone. Refuses nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// For PlanInput::undone_before. `person`: whoever runs the plan was asked; else it runs by itself
// (PlanChoice::person).
std::map<std::string, UndoneBefore> undone_before(const std::vector<RefusedWrite>& refused, bool person);

}  // namespace lockstep
