// Refused writes: what a gate had undone is not written again by the next run that finds the specs as they
// were.
//
// Promises: pure. A change of an entry to what a gate had undone there is held, whatever else is planned with
// it, until the specs want something else of the devices of the change that was undone, or a person approves
// it by name (Hold::Kind::gate). One that was cleared, as what was broken was so without it, too, is offered
// once more, to a person alone. Refuses nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

// For PlanInput::undone_before. `person`: whoever runs the plan was asked; else it runs by itself
// (PlanChoice::person).
std::map<std::string, UndoneBefore> undone_before(const std::vector<RefusedWrite>& refused,
                                                  const Fleet& fleet, bool person);

}  // namespace lockstep
