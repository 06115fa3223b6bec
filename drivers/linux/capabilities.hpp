// What the ports of a namespace can't carry, found out by asking the kernel about each port.
//
// Promises: nothing is changed by asking (GET requests, and SET requests that set nothing, which ethtool
// netlink checks for support and then ends); every entry carries the kernel's own answer. Refuses to guess: a
// port that can, but that this version of the driver does not set, says so.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "drivers/driver.hpp"

namespace lockstep {

// In the calling thread's network namespace.
Result<std::vector<Incapable>> probe_capabilities(bool software_rate, const std::set<std::string>& sysctls,
                                                  const Call& call);

// ECN is marked by RED, class by class, where the kernel has RED and the ports' schedulers are software, and
// else by an eBPF program, port by port: why a row of ECN marking is not carried here. Empty: it is, or the
// row is another.
std::string why_no_marking(RowId row, bool software_rate, const Call& call);

}  // namespace lockstep
