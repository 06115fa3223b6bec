// Wires the program: which drivers it is built with, and how each reaches a device on this machine, in a
// twin, or behind an agent.
#pragma once

#include "drivers/linux/discover.hpp"
#include "reconciler/session/driver_table.hpp"

namespace lockstep {

DriverTable driver_table();

// What is there on a device, reached as its drivers are. None: it is unreachable from this machine. Callable
// by several threads at once.
std::function<Result<std::optional<DiscoveredHost>>(const DriverTarget& target, const Call& call)>
device_discovery();

// According to this machine's routes, in the network namespace of this process.
FirstHops first_hops_here();

}  // namespace lockstep
