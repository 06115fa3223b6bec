// Remedies: which effects a planned remedy is for, and which remedies a plan lists in case its own changes
// leave effects open.
//
// Promises: based on columns and wiring alone. An effect that follows the network (Row::follows) can be
// broken by what disturbs its device's routing: a change of the device that is not at a port, or at a port
// with a routing session; and the same at the far end of such a port's cable. One atom per device, driver and
// remedy.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/atoms.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/observe.hpp"

namespace lockstep {

// `effect` is an effect of the step's device.
bool is_for(const Step& remedy, Path effect);
// Those of the step's device's open effects that the remedy is for and that its driver offers it for now.
ChangeSet treatable(const Fleet& fleet, std::size_t device, const Step& remedy, const ChangeSet& open);
// The effects of a device that are not as desired; what could not be read is left out.
ChangeSet open_effects(const Intent& intent, const Tree& have, const std::vector<Unread>& unread);

// Adds the remedies of all devices: for effects that are open, and for those that the atoms so far can break.
void add_remedies(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

}  // namespace lockstep
