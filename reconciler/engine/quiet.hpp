// Entries that must be unused when they are removed or changed: a lossless class, as queue pairs keep the ToS
// byte that they were opened with; the MTU of a host's port that sends RoCE, as open queue pairs keep their
// path MTU.
//
// Promises: pure; such an atom waits (Atom::quiet, quiet_check.hpp) if a driver can report what uses the
// entry, with a note that names what it waits for. If none can, nothing waits, and the note says that the use
// is unknown.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

void wait_for_quiet(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

}  // namespace lockstep
