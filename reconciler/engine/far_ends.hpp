// Far ends: settings whose order goes across a cable (schema column PeerOrder), where the other end could not
// be read.
//
// Promises: pure; an atom with such a setting is held, with the reason, where the far end of its cable could
// not be read: one end alone is not changed. A port between two switches takes nothing away while some host
// may still send it: one that could not be read, or whose own part is held. Everything else is left as it is.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

// Which side of a cable must have a change first.
enum class First : std::uint8_t { neither, switches, hosts };
First first_side(const AtomChange& change, PeerOrder order);

// Fills Atom::unread_ends.
void hold_unread_ends(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

}  // namespace lockstep
