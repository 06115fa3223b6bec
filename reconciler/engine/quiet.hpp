// What nothing may use any more when it goes: a lossless class, as queue pairs keep the ToS byte that they
// were opened with; the MTU of a host's port that sends RoCE, as open queue pairs keep their path MTU.
//
// Promises: pure; such an atom waits (Atom::quiet, quiet_check.hpp) where a driver can tell what uses it, and
// a note says for what. Where none can, nothing waits, and the note says that nobody can tell.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

void wait_for_quiet(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

}  // namespace lockstep
