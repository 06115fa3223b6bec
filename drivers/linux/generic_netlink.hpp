// What families of generic netlink (ethtool, devlink) have in common: a number that the kernel gives each by
// its name, and a header of their own. Format: linux/genetlink.h.
//
// Promises: changes nothing. Refuses a kernel that lacks the family: unsupported, with its name.
#pragma once

#include <cstdint>

#include "drivers/linux/netlink_socket.hpp"

namespace lockstep::netlink {

Result<std::uint16_t> resolve_family(Socket& socket, const char* name, const Call& call);
// The attributes of a message; empty where it is shorter than a header.
Bytes after_genl(Bytes payload);

}  // namespace lockstep::netlink
