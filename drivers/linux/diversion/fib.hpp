// What a set of rules and routes makes of a packet: a walk of them as the kernel's own. It says by which of
// them a lookup comes out as it does; what really happens is the kernel's word alone (lookup.hpp).
//
// Promises: pure; rules in the order given, of each table the longest prefix, then the route of the packet's
// TOS, then the best metric, as in net/core/fib_rules.c, net/ipv4/fib_trie.c and net/ipv6/ip6_fib.c. Knows
// neither marks nor VRFs nor ways out that a socket is bound to: rules for these match no packet of ours.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "drivers/linux/diversion/lookup.hpp"

namespace lockstep::diversion {

bool matches(const Rule& rule, const Question& question, const NetworkState& network);
bool ends_packets(std::uint8_t type);  // blackhole, unreachable, prohibit; and throw, which ends a table

struct Decision {
  const Rule* rule = nullptr;        // the last word; null: no rule leads anywhere
  const Route* route = nullptr;      // null: the rule itself ends the packet
  std::vector<const Rule*> jumps;    // gotos on the way
  std::vector<const Rule*> left;     // rules whose table threw the packet back, ...
  std::vector<const Route*> thrown;  // ... and by which route
};

class Fib {
 public:
  // `network` is to outlive it; `routes` are of it.
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
