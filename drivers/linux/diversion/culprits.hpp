// Culprits: foreign state that redirects traffic which the specs own, found by asking the kernel and named
// from what the tables show.
//
// Promises: pure; the caller runs the lookups. The kernel's results are compared with those of lawful rules
// and routes alone: what does not change a lookup's result is no culprit, whatever else exists (rules with
// marks, unreferenced tables, routes that lead the same way), and if an owned result differs, something is
// always named: a rule or route, or the lookup with its result. Only a lookup with a made-up source is
// reported just when a culprit can be named. Traffic is owned if lawful routes lead it somewhere inside the
// pool: a switch that has learned no routes yet owns its own networks. A result consists of ports and next
// hops, their encapsulation and their weights; lookups specify no mark, user or output port. Not covered
// here: packet filters, tc, XDP and XFRM (port_filters.hpp), and whether a port forwards (reported by its
// sysctl). A missing lawful route, or missing rule of ours, is not a culprit: fib[...], route[...] and
// rule[...] report what is missing. The exception is the local route of an own address, which no other entry
// shows.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/diversion/questions.hpp"

namespace lockstep::diversion {

// Each culprit once, in ip(8) syntax, sorted. `found`: the kernel's results, in order.
std::vector<std::string> culprits(const Ground& ground, const IpPrefix& pool, const std::vector<Asked>& asked,
                                  const std::vector<Found>& found);
// Addresses of the pool on interfaces that are neither desired nor the loopback: packets to them end here.
std::vector<std::string> stray_addresses(const Ground& ground, const IpPrefix& pool);
// Desired ports of the pool that are attached to another device, such as a bridge or a VRF. Which of them
// specs want there is part of the rows that are read.
std::vector<std::string> captured_ports(const Ground& ground, const IpPrefix& pool);
// Desired Ethernet ports that don't resolve neighbours: packets sent there reach no neighbour.
std::vector<std::string> silent_ports(const Ground& ground);
// Neighbours of the pool on the desired ports that ARP or ND will never correct (NUD_PERMANENT, NUD_NOARP).
std::vector<std::string> fixed_neighbours(const Ground& ground, const IpPrefix& pool);
// Manually added routes of the main table inside the pool (ip-route(8): protocols boot and static).
std::vector<Route> static_routes(const NetworkState& network, const IpPrefix& pool);

}  // namespace lockstep::diversion
