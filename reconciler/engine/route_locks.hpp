// Route locks: while the MTUs of a pool's hosts change one after the other, each host's routes to the pool
// are locked to the smaller of its own old and new MTU: where MTUs grow, from before the host's own port
// changes until the last host's has; where they shrink, from before the first port changes until its own has.
// They are rungs of the MTU's ladder; a claim of route-mtu[*] names a host's pools.
//
// Promises: pure. Hosts that don't change, and are at least as many as those that change or are locked,
// determine today's packet size: if they already send the larger packets, or accept only the smaller ones,
// nothing is locked; nor is it for a single host, or if a run does not read the whole pool (with a note).
// Nothing is unlocked while a host keeps the smaller MTU, could not be read or is not read in this run. A
// host without a route of ours has none to lock; a host whose routes change in this plan, could not be read
// or can't be written (a port of the pool is shut down, its own policy refuses it) is not locked, with a
// note. No lock is larger than the MTU of any port of the pool. What a gate rolled back is locked as well,
// and its lock is held with it. If a host continues to send larger packets because its own change is held or
// left out, a note says so. RDMA follows no route: for the packets of its open queue pairs see quiet.hpp.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

void add_route_locks(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

// A lock that precedes MTU changes is held with them if all MTU changes of its host are held, or come after a
// held one: by itself it would only make packets smaller. The same approvals lift its holds.
void hold_route_locks(const Columns& columns, const Wiring& wiring, Plan& plan);

}  // namespace lockstep
