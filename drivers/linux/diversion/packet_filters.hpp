// Packet filters of others that can drop or redirect a pool's traffic on the wanted ports: hooks of nf_tables
// (iptables-nft's as well), tc filters on ingress and egress, XDP programs.
//
// What is tried against the rules is RoCE (UDP to 4791) and TCP between unprivileged ports, of new and of
// known connections: on a switch what arrives for the pool at each wanted port and leaves by the next one, on
// a host what its own addresses of the pool get and send. So what forwards nothing of the pool is not blamed
// for what it does to what it forwards (Docker's policy), and rules for other ports, addresses, marks or
// services are not named. Of an address only the pool's bits are known: a rule for one host of the pool is
// named.
//
// Promises: the kernel's rules are read again only when their generation, or what is asked of them, is
// another (10,000 rules of iptables-nft: 0.6 s of CPU once, in a build without optimisation). Filters that
// Lockstep itself makes are left out; any other tc filter or XDP program is named, whatever it does. Not
// seen: legacy iptables (x_tables), programs by tcx, what a NIC drops, ARP's and bridges' chains, and what a
// switch sends and gets itself (sessions show that).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drivers/linux/diversion/ground.hpp"

namespace lockstep::diversion {

class PacketFilters {
 public:
  // In the calling thread's namespace, sorted: "nft inet filter forward (forward): policy drop",
  // "tc ingress of rail0: bpf NAME", "XDP on rail0 (native)". `transit`: the device forwards the pool's
  // traffic.
  Result<std::vector<std::string>> of(const Ground& ground, const IpPrefix& pool, bool transit,
                                      netlink::Socket& route, const Call& call);

 private:
  struct Known {
    std::string question;  // a generation, and what was asked
    std::vector<std::string> found;
  };
  Result<std::vector<std::string>> of_rules(const Ground& ground, const IpPrefix& pool, bool transit,
                                            const Call& call);
  std::map<std::string, Known> known_;  // by pool
};

}  // namespace lockstep::diversion
