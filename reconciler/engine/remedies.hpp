// Remedies: which effects a planned remedy is for, and which remedies a plan lists for the case that its own
// changes leave effects open.
//
// Promises: by columns and wiring alone. An effect that follows the network (Row::follows) can be broken by
// what disturbs its device's routing: a change of the device that is at no port, or at a port with a routing
// session; and the same at the far end of such a port's cable. One atom for a device, driver and remedy.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/atoms.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/observe.hpp"

namespace lockstep {

// Of an effect of the step's device.
bool is_for(const Step& remedy, Path effect);
// Of some open effects of the step's device those that it is for, and that its driver offers it for now.
ChangeSet treatable(const Fleet& fleet, std::size_t device, const Step& remedy, const ChangeSet& open);
// The effects of a device that are not as desired; what could not be read is left out.
ChangeSet open_effects(const Intent& intent, const Tree& have, const std::vector<Unread>& unread);

// Adds the remedies of all devices: for effects that are open, and for those that the atoms so far can break.
void add_remedies(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

}  // namespace lockstep
