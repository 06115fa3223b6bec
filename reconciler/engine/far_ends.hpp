// Far ends: holds settings whose order spans a cable (Rung::crosses) when the other end could not be read,
// and settings that must be alike at both ends (link_matter) when the other end differs and may not be
// changed in this run.
//
// Promises: pure; an atom with such a setting is held, with the reason: one end alone is not changed. A far
// end whose setting is already as desired holds nothing. A port between two switches removes nothing while
// some host may still send it: a host that could not be read or may not be changed, or whose own change is
// held. A host does not start to send something as lossless (its ToS, NCCL's traffic class) while the change
// of what its port accepts as lossless is held. Everything else stays as it is.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

// Which side of a cable must be changed first.
enum class First : std::uint8_t { neither, switches, hosts };
First first_side(const AtomChange& change, const Row& row);

// Fills Atom::far_ends.
void hold_for_far_ends(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

}  // namespace lockstep
