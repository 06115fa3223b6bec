// What generic netlink families (ethtool, devlink) have in common: a number that the kernel assigns to each
// name, and a header of their own. Format: linux/genetlink.h.
//
// Promises: changes nothing. Refuses a kernel that lacks the family: unsupported, with its name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "drivers/linux/netlink_socket.hpp"

namespace lockstep::netlink {

Result<std::uint16_t> resolve_family(Socket& socket, const char* name, const Call& call);
// A multicast group of a family, for Socket::join(). Refuses a family without it: unsupported.
Result<std::uint32_t> resolve_group(Socket& socket, const char* family, std::string_view group,
                                    const Call& call);
// The groups listed in a reply to CTRL_CMD_GETFAMILY, by name.
Result<std::map<std::string, std::uint32_t, std::less<>>> decode_groups(Bytes payload);
// The attributes of a message; empty where it is shorter than a header.
Bytes after_genl(Bytes payload);

}  // namespace lockstep::netlink
