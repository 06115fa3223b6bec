// Culprits: foreign state that leads traffic which the specs own elsewhere, found by asking the kernel and
// named by what the tables show.
//
// Owned is what goes to a pool's addresses and either arrives on one of the wanted ports (transit, a
// switch's) or leaves from an address of the pool on one (sent, a host's). Promises: pure, but for the
// questions, which somebody else asks; what does not change a lookup's result is no culprit, whatever else
// there is (rules with marks, tables that nothing leads to, routes that a better one hides); what is named
// exists. Not seen here: packet filters, tc and XDP, and what IPv6 forwards. A route that is missing is
// nobody's doing: fib[...] and route[...] say what is not there.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "drivers/linux/diversion/lookup.hpp"

namespace lockstep::diversion {

struct Ground {
  NetworkState network;  // with the routes of the local table
  std::vector<Neighbour> neighbours;
  std::set<std::uint32_t> ports;  // the wanted ones
};

// A question, and of what is sent from a port's address the port that it has to leave by.
struct Asked {
  Question question;
  std::uint32_t leaves_by = 0;  // 0: as the main table says
  bool made_up = false;         // its source is any that a rule names: reverse path filters may refuse it
};
std::vector<Asked> transit_questions(const Ground& ground, const IpPrefix& pool);
std::vector<Asked> sent_questions(const Ground& ground, const IpPrefix& pool);

// Each culprit once, in words of ip(8), sorted. `found`: the kernel's answers, in order.
std::vector<std::string> culprits(const Ground& ground, const IpPrefix& pool, const std::vector<Asked>& asked,
                                  const std::vector<Found>& found);
// Addresses of the pool on interfaces that are neither wanted nor the loopback: packets to them end here.
std::vector<std::string> stray_addresses(const Ground& ground, const IpPrefix& pool);
// Neighbours of the pool on the wanted ports that no ARP or ND will ever correct (NUD_PERMANENT).
std::vector<std::string> fixed_neighbours(const Ground& ground, const IpPrefix& pool);
// Routes of the main table inside the pool that somebody put there (ip-route(8): protocols boot and static).
std::vector<Route> static_routes(const NetworkState& network, const IpPrefix& pool);

}  // namespace lockstep::diversion
