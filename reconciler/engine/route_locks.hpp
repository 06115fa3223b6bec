// Route locks: while the MTUs of a pool's hosts change one after the other, their routes to it hold packets
// to what every host takes, the smaller of both MTUs: where MTUs grow, from before a host's own port does
// until the last host's has; where they shrink, from before the first port does until its own has. They are
// rungs of the MTU's ladder; a claim of route-mtu[*] names a host's pools.
//
// Promises: pure. Hosts that stay as they are, and are as many as those that change, decide what packets are
// sent today: where they send the larger ones already, or take the smaller ones only, nothing is held; nor
// where one host is alone. Nothing is unlocked while a host keeps the smaller MTU, or could not be read. A
// host that has no route of ours yet, gets one in this plan, or has a port of the pool that is shut (its
// routes can't be written) holds nothing, which a note says where it matters. Where a host goes on sending
// larger packets, as its own part is held or left out, a note says so. RDMA follows no route: a note tells of
// queue pairs whose packets no longer fit.
#pragma once

#include <vector>

#include "reconciler/engine/atoms.hpp"

namespace lockstep {

void add_route_locks(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms);

// A lock that goes ahead of MTUs is held with them, where all that its host changes of them is held, or comes
// after what is: by itself it would only make packets smaller. The same words lift its holds.
void hold_route_locks(const Columns& columns, Plan& plan);

}  // namespace lockstep
