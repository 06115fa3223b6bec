// Culprits: foreign state that leads traffic which the specs own elsewhere, found by asking the kernel and
// named by what the tables show.
//
// Promises: pure, but for the questions, which somebody else asks. What the kernel answers is held against
// what lawful rules and routes alone say: what does not change a lookup's result is no culprit, whatever else
// there is (rules with marks, tables that nothing leads to, routes that lead the same way), and where an
// owned result is another one, something is always named: a rule or route, or the lookup with its answer.
// Only a source that is made up needs a culprit by name. Owned is where lawful routes lead somewhere inside
// the pool: a switch that has learned no routes yet owns its own networks. A result is ports and next hops,
// how packets are wrapped for them and their weights; no mark, user or output port is asked with. Not seen
// here: packet filters, tc, XDP and XFRM (port_filters.hpp), and whether a port forwards (its sysctl says
// so). A lawful route or a rule of ours that is missing is nobody's doing: fib[...], route[...] and rule[...]
// say what is not there; but for the local route of an own address, which nothing else shows.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/diversion/questions.hpp"

namespace lockstep::diversion {

// Each culprit once, in words of ip(8), sorted. `found`: the kernel's answers, in order.
std::vector<std::string> culprits(const Ground& ground, const IpPrefix& pool, const std::vector<Asked>& asked,
                                  const std::vector<Found>& found);
// Addresses of the pool on interfaces that are neither wanted nor the loopback: packets to them end here.
std::vector<std::string> stray_addresses(const Ground& ground, const IpPrefix& pool);
// Wanted ports of the pool that are under another device, such as a bridge or a VRF. Which of them specs want
// there is among what they want to be read.
std::vector<std::string> captured_ports(const Ground& ground, const IpPrefix& pool);
// Wanted Ethernet ports on which no neighbour is asked for: what is sent there reaches nobody.
std::vector<std::string> silent_ports(const Ground& ground);
// Neighbours of the pool on the wanted ports that no ARP or ND will ever correct (NUD_PERMANENT, NUD_NOARP).
std::vector<std::string> fixed_neighbours(const Ground& ground, const IpPrefix& pool);
// Routes of the main table inside the pool that somebody put there (ip-route(8): protocols boot and static).
std::vector<Route> static_routes(const NetworkState& network, const IpPrefix& pool);

}  // namespace lockstep::diversion
