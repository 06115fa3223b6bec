// Which of the rows that belong to no part are not supported by a namespace and its kernel, found by asking
// the kernel.
//
// Promises: probing changes nothing; every entry holds the kernel's own answer. Never guesses: without an
// answer there is no entry.
#pragma once

#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep {

// In the calling thread's network namespace.
std::vector<Incapable> probe_capabilities(bool software_rate, const Call& call);

// For each desired port that is not among `ports`: its entries of these rows.
std::vector<Incapable> absent_ports(const Scope& scope, const std::vector<Link>& ports,
                                    const std::vector<RowId>& rows);

// Why the carrier of a port's traffic classes does not support a row of theirs; empty: it does, or the row is
// not one of theirs.
std::string why_not_given(RowId row, Carrier carrier);
// All such rows, for the ports that `keys` name.
std::vector<Incapable> not_given(Carrier carrier, const std::vector<std::string>& keys);

// Why ports with a speed and queues of their own do not support a row, whatever the kernel; empty: they may.
std::string why_not_on_own_queues(RowId row);

// ECN is marked by RED, per class, if the kernel has RED and the ports' schedulers are software, and
// otherwise by an eBPF program, per port. Returns why a row of ECN marking is not supported here; empty: it
// is, or the row is not about ECN marking.
Result<std::string> why_no_marking(RowId row, bool software_rate, const Call& call);

}  // namespace lockstep
