// Far ends: settings whose order goes across a cable (Rung::crosses) where the other end could not
// be read, and what must be alike at both ends (link_matter) where the other end may not be changed in this
// run, and differs.
//
// Promises: pure; an atom with such a setting is held, with the reason: one end alone is not changed. A far
// end that has what is wanted of that matter holds nothing. A port between two switches takes nothing away
// while some host may still send it: one that could not be read or may not be changed, or whose own part is
// held. A host sends nothing as lossless (its ToS, NCCL's traffic class) that a port of it would send while
// what the port accepts as lossless is held. Everything else is left as it is.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

// Which side of a cable must have a change first.
enum class First : std::uint8_t { neither, switches, hosts };
First first_side(const AtomChange& change, const Row& row);

// Fills Atom::far_ends.
void hold_for_far_ends(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

}  // namespace lockstep
