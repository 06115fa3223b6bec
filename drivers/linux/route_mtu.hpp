// The size limit of packets to a pool, below the MTU of their port: `mtu lock` (ip-route(8)) on those of our
// routes that lead there.
//
// Promises: pure; routes of another protocol are not ours.
#pragma once

#include <vector>

#include "drivers/linux/kernel_state.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/value.hpp"

namespace lockstep {

// Our routes to destinations inside the pool, and those in the tables in which our rules look up packets sent
// from addresses of the pool.
std::vector<const Route*> own_routes_to(const IpPrefix& pool, const NetworkState& network);

// The value of route-mtu[*]; none: none of the routes has an MTU of its own. If they differ, how many have
// which: "mtu lock 1500 on 3 of 17 routes".
Value route_mtu(const IpPrefix& pool, const NetworkState& network);

}  // namespace lockstep
