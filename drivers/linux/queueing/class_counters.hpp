// What has left a port by each of its traffic classes, as the kernel counts it.
//
// Promises: the counts only grow while a class is there, and begin anew where it is made anew; a class that
// Lockstep did not make has none. Refuses a message of the kernel that is cut short or lies.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "drivers/linux/netlink_socket.hpp"

namespace lockstep {

using ClassBytes = std::map<unsigned, std::uint64_t>;  // by class number

// One RTM_NEWTCLASS of HTB, or one RTM_NEWQDISC of a class's queue in ETS; of anything else nothing is added.
Result<Done> add_class_bytes(netlink::Bytes message, std::uint32_t index, ClassBytes& out);

// In the calling thread's network namespace.
Result<ClassBytes> read_class_bytes(netlink::Socket& socket, std::uint32_t index, const Call& call);

}  // namespace lockstep
