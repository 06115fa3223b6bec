// First hops: the ports of this machine through which the kernel sends to an address.
//
// Promises: the kernel's own result (RTM_GETROUTE, as `ip route get fibmatch ADDRESS`), for traffic that user
// 0 sends from any address: all next hops of the route, as a connection may use any of them. A port that is
// built on others (a VLAN, a bond, a bridge) is listed with those below it. In the calling thread's network
// namespace. Refuses nothing: an address of this machine, or without a route, has no ports.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// For each address, in order.
Result<std::vector<std::set<std::string>>> first_hops(const std::vector<IpAddress>& addresses,
                                                      const Call& call);

}  // namespace lockstep
