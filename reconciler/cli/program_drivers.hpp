// Wires the program: which drivers it is built with, and how each reaches a device on this machine, in a
// twin, or behind an agent.
#pragma once

#include "reconciler/session/driver_table.hpp"

namespace lockstep {

DriverTable driver_table();

// According to this machine's routes, in the network namespace of this process.
FirstHops first_hops_here();

}  // namespace lockstep
