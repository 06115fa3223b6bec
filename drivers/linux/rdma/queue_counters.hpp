// What the queues of a port did to what left by it, for a port whose device counts none of it: packets that
// RED marked, and packets that were dropped. Soft-RoCE has no counter of ECN.
//
// Promises: the counters are among those of counters.hpp, as `qdisc_marked` (over all RED queues of the port)
// and `qdisc_dropped` (of the root, which has those of its children: net/sched, qdisc_tree_reduce_backlog and
// each enqueue that fails). Refuses a message of the kernel that is cut short or lies.
#pragma once

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/rdma/counters.hpp"

namespace lockstep::rdma {

// One RTM_NEWQDISC; of another port it is left out.
Result<Done> add_queue(netlink::Bytes message, std::uint32_t index, CounterSnapshot& out);

// Of a port of the calling thread's network namespace; what can't be read is left out.
void read_queues(const std::string& netdev, const Call& call, CounterSnapshot& out);

}  // namespace lockstep::rdma
