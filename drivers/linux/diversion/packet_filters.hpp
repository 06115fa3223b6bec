// Foreign packet filters that can drop or redirect a pool's traffic on the desired ports: hooks of nf_tables
// (including iptables-nft). For other mechanisms see port_filters.hpp.
//
// The rules are evaluated for RoCE (UDP to 4791) and for TCP between ports from 32768 on, of new and of
// established connections: on a switch for traffic of the pool that arrives at each desired port and leaves
// by each other one (if ports squared times rules exceeds kPairRulesMax: only by the next one), on a host for
// what its own addresses of the pool receive and send. So a device that forwards nothing of the pool is not
// reported for how it filters forwarded traffic (Docker's policy), and rules for other ports, addresses,
// marks or services are not reported. Only an address's pool bits are known: a rule for a single host of the
// pool is reported.
//
// Promises: the kernel's rules are read again only when their generation, or the evaluated packets, changed
// (10,000 rules of iptables-nft: 0.6 s of CPU once, in a build without optimisation). Not covered: legacy
// iptables (x_tables), what a NIC drops, ARP's and bridges' chains, and what a switch sends and receives
// itself (sessions show that).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drivers/linux/diversion/ground.hpp"

namespace lockstep::diversion {

// Chosen to allow 128 ports and 60 rules.
inline constexpr std::size_t kPairRulesMax = 1'000'000;

// For the calling thread's namespace, each list sorted.
class RuleFilters {
 public:
  // "nft inet filter forward (forward): policy drop". `transit`: the device forwards the pool's traffic.
  Result<std::vector<std::string>> of(const Ground& ground, const IpPrefix& pool, bool transit,
                                      const Call& call);

 private:
  struct Known {
    std::string question;  // a generation, and the evaluated packets
    std::vector<std::string> found;
  };
  std::map<std::string, Known> known_;  // by pool
};

}  // namespace lockstep::diversion
