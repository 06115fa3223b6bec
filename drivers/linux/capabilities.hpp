// What a namespace and its kernel can't carry of the rows that no part has, found out by asking the kernel.
//
// Promises: nothing is changed by asking; every entry carries the kernel's own answer. Refuses to guess: what
// got no answer is no entry.
#pragma once

#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep {

// In the calling thread's network namespace.
std::vector<Incapable> probe_capabilities(bool software_rate, const Call& call);

// Of each port that is wanted and that is not among `ports`: its entries of these rows.
std::vector<Incapable> absent_ports(const Scope& scope, const std::vector<Link>& ports,
                                    const std::vector<RowId>& rows);

// Why the carrier of a port's traffic classes has no way to give a row of them; empty: it has, or the row is
// another.
std::string why_not_given(RowId row, Carrier carrier);
// All such rows, for the ports that `keys` name.
std::vector<Incapable> not_given(Carrier carrier, const std::vector<std::string>& keys);

// ECN is marked by RED, class by class, where the kernel has RED and the ports' schedulers are software, and
// else by an eBPF program, port by port: why a row of ECN marking is not carried here. Empty: it is, or the
// row is another.
Result<std::string> why_no_marking(RowId row, bool software_rate, const Call& call);

}  // namespace lockstep
