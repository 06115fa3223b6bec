// The program's wiring: which drivers it is built with, and how each reaches a device on this machine or in a
// twin. The only file of the reconciler that attaches drivers.
#pragma once

#include "drivers/linux/discover.hpp"
#include "reconciler/session/driver_table.hpp"

namespace lockstep {

DriverTable driver_table();

// As the kernel of this machine routes, in the network namespace that this process is in.
FirstHops first_hops_here();

// As Attached::machine has it.
std::string this_machine();

// Discovery, whatever the specs say: of this machine; of a device in the twin with this id.
Result<DiscoveredHost> discover_here(const Call& call);
Result<DiscoveredHost> discover_in_twin(const std::string& cluster, const std::string& device,
                                        const Call& call);

}  // namespace lockstep
