// The result of a set of rules and routes for a packet, computed like the kernel's lookup. It identifies
// which of them cause a lookup's result; only the kernel itself is authoritative for what happens
// (lookup.hpp).
//
// Promises: pure; rules in the order given, in each table the longest prefix, then the route of the packet's
// TOS, then the best metric, as in net/core/fib_rules.c, net/ipv4/fib_trie.c and net/ipv6/ip6_fib.c. Does not
// model marks, VRFs or output ports that a socket is bound to: rules for these match none of our packets.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "drivers/linux/diversion/lookup.hpp"

namespace lockstep::diversion {

bool matches(const Rule& rule, const Question& question, const NetworkState& network);
bool ends_packets(std::uint8_t type);  // blackhole, unreachable, prohibit; throw ends a table's lookup

struct Decision {
  const Rule* rule = nullptr;        // the deciding rule; null: no rule matches
  const Route* route = nullptr;      // null: the rule itself ends the packet
  std::vector<const Rule*> jumps;    // gotos on the way
  std::vector<const Rule*> left;     // rules whose table returned the packet by a throw route, ...
  std::vector<const Route*> thrown;  // ... and those routes
};

class Fib {
 public:
  // `network` must outlive it; `routes` point into it.
  Fib(const NetworkState& network, std::vector<Rule> rules, const std::vector<const Route*>& routes);
  Decision decide(const Question& question) const;

 private:
  struct Table {
    std::set<std::uint8_t> lengths;
    std::map<IpPrefix, std::vector<const Route*>> routes;
  };
  const Route* find(std::uint32_t table, const Question& question) const;
  std::size_t place_of(const Rule& jump, std::size_t from) const;

  const NetworkState& network_;
  std::vector<Rule> rules_;
  std::map<std::uint32_t, Table> v4_;
  std::map<std::uint32_t, Table> v6_;
};

}  // namespace lockstep::diversion
