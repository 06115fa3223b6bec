// What the queues of a port did to outgoing packets, for a port whose device does not count it: packets that
// RED marked, and packets that were dropped. Soft-RoCE has no ECN counter.
//
// Promises: the counters are among those of counters.hpp, as `qdisc_marked` (over all RED queues of the port)
// and `qdisc_dropped` (of the root, which includes its children's: net/sched, qdisc_tree_reduce_backlog and
// each enqueue that fails). Refuses a kernel message that is truncated or malformed.
#pragma once

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/rdma/counters.hpp"

namespace lockstep::rdma {

// One RTM_NEWQDISC; those of other ports are ignored.
Result<Done> add_queue(netlink::Bytes message, std::uint32_t index, CounterSnapshot& out);

// For a port of the calling thread's network namespace; what can't be read is left out.
void read_queues(const std::string& netdev, const Call& call, CounterSnapshot& out);

}  // namespace lockstep::rdma
