// Route locks: while the MTUs of a pool's hosts change one after the other, each host's routes to it are
// locked to the smaller of its own two MTUs: where MTUs grow, from before a host's own port does until the
// last host's has; where they shrink, from before the first port does until its own has. They are rungs of
// the MTU's ladder; a claim of route-mtu[*] names a host's pools.
//
// Promises: pure. Hosts that stay as they are, and are as many as those that change or are locked, decide
// what packets are sent today: where they send the larger ones already, or take the smaller ones only,
// nothing is locked; nor where one host is alone, or where a run does not read the whole pool, which a note
// says. Nothing is unlocked while a host keeps the smaller MTU, could not be read or is not read in this run.
// A host without a route of ours has none to lock; one whose routes change in this plan, could not be read or
// can't be written (a port of the pool is shut, its own policy refuses it) is not locked, which a note says.
// No lock is larger than any port of the pool. What a gate had undone is locked as well, and its lock is held
// as it is. Where a host goes on sending larger packets, as its own part is held or left out, a note says so.
// RDMA follows no route: what its open queue pairs send is quiet.hpp's.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

void add_route_locks(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

// A lock that goes ahead of MTUs is held with them, where all that its host changes of them is held, or comes
// after what is: by itself it would only make packets smaller. The same words lift its holds.
void hold_route_locks(const Columns& columns, const Wiring& wiring, Plan& plan);

}  // namespace lockstep
