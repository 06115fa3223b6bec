// Wires the program: which drivers it is built with, and how each reaches a device on this machine, in a
// twin, or behind an agent.
#pragma once

#include <span>

#include "drivers/linux/discover.hpp"
#include "reconciler/session/driver_table.hpp"
#include "specs/model/counter_reading.hpp"

namespace lockstep {

DriverTable driver_table();

// What is there on a device, reached as its drivers are. None: it is unreachable from this machine. Callable
// by several threads at once.
std::function<Result<std::optional<DiscoveredHost>>(const DriverTarget& target, const Call& call)>
device_discovery();

// What a device counts; unsupported: it is reached in another way than these are read.
Result<CounterReading> device_counters(const DriverTarget& target, std::span<const DriverName> drivers,
                                       const Call& call);
// What this host's ports count.
Result<CounterReading> counters_here(const Call& call);

// According to this machine's routes, in the network namespace of this process.
FirstHops first_hops_here();

}  // namespace lockstep
