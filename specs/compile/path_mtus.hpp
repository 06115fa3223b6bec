// LS105 for the MTUs that overrides set on single ports: no packet may vanish on a path whose ports differ.
#pragma once

#include <vector>

#include "specs/compile/compilation.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

// `intents`, by device, contain the overrides. Errors: a cable of a host with two MTUs, of which the smaller
// end drops the other's larger packets without an ICMP message; a port between switches that takes less than
// a host sends. A warning: hosts that reach each other and have different MTUs, as not every protocol agrees
// on the smaller one.
void check_path_mtus(const Compilation& compilation, const std::vector<Intent>& intents);

}  // namespace lockstep
