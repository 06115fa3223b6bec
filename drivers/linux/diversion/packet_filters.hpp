// Packet filters of others that can drop or redirect a pool's traffic on the wanted ports: hooks of nf_tables
// (iptables-nft's as well). What else can, port_filters.hpp says.
//
// What is tried against the rules is RoCE (UDP to 4791) and TCP between ports from 32768 on, of new
// and of known connections: on a switch what arrives for the pool at each wanted port and leaves by each
// other one (of more than kPairRulesMax ports squared and rules together: by the next one), on a host what
// its own addresses of the pool get and send. So what forwards nothing of the pool is not blamed for what it
// does to what it forwards (Docker's policy), and rules for other ports, addresses, marks or services are not
// named. Of an address only the pool's bits are known: a rule for one host of the pool is named.
//
// Promises: the kernel's rules are read again only when their generation, or what is asked of them, is
// another (10,000 rules of iptables-nft: 0.6 s of CPU once, in a build without optimisation). Not seen:
// legacy iptables (x_tables), what a NIC drops, ARP's and bridges' chains, and what a switch sends and gets
// itself (sessions show that).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drivers/linux/diversion/ground.hpp"

namespace lockstep::diversion {

// A choice: 128 ports and 60 rules.
inline constexpr std::size_t kPairRulesMax = 1'000'000;

// All of the calling thread's namespace, each list sorted.
class RuleFilters {
 public:
  // "nft inet filter forward (forward): policy drop". `transit`: the device forwards the pool's traffic.
  Result<std::vector<std::string>> of(const Ground& ground, const IpPrefix& pool, bool transit,
                                      const Call& call);

 private:
  struct Known {
    std::string question;  // a generation, and what was asked
    std::vector<std::string> found;
  };
  std::map<std::string, Known> known_;  // by pool
};

}  // namespace lockstep::diversion
