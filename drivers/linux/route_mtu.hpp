// What packets to a pool are kept to, below the MTU of their port: `mtu lock` (ip-route(8)) on the routes of
// ours that lead there.
//
// Promises: pure; routes of another protocol are none of ours.
#pragma once

#include <vector>

#include "drivers/linux/kernel_state.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/value.hpp"

namespace lockstep {

// Those to destinations inside the pool, and those of the tables in which rules of ours look up what is sent
// from addresses of it.
std::vector<const Route*> own_routes_to(const IpPrefix& pool, const NetworkState& network);

// As route-mtu[*] has it; none: no route of them has an MTU of its own. Where they differ, how many have
// which: "mtu lock 1500 on 3 of 17 routes".
Value route_mtu(const IpPrefix& pool, const NetworkState& network);

}  // namespace lockstep
