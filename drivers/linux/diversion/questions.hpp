// Questions: the lookups that determine whether traffic of a pool takes the path that the specs require.
//
// Owned traffic goes to a pool's addresses and either arrives on one of the desired ports (transit, on a
// switch) or leaves from an address of the pool on one (sent, on a host). Promises: pure; one question for
// each way in which routes and rules can distinguish the pool's packets: an atom, a TOS, RoCE and TCP if
// rules match on protocols or ports, and for each foreign rule packets that it selects; no duplicates. Not
// covered: protocols that the kernel refuses to look up (net/ipv4/fib_semantics.c,
// rtm_getroute_parse_ip_proto), and ports of VRFs.
#pragma once

#include <vector>

#include "drivers/linux/diversion/ground.hpp"

namespace lockstep::diversion {

inline constexpr std::uint16_t kRoce = 4791;  // RoCEv2's UDP port (IANA)
// Bits that are set in ports: RoCEv2 sends from 0xC000 to 0xFFFF (IBTA, annex A17); TCP ports chosen by Linux
// are 32768 and above (ip-sysctl, ip_local_port_range).
inline constexpr std::uint16_t kRoceSourceBits = 0xC000;
inline constexpr std::uint16_t kOwnPortBits = 0x8000;

struct Asked {
  Question question;
  bool made_up = false;  // its source was derived from a rule: reverse path filters may refuse it
  auto operator<=>(const Asked&) const = default;
};

std::vector<Asked> transit_questions(const Ground& ground, const IpPrefix& pool);
std::vector<Asked> sent_questions(const Ground& ground, const IpPrefix& pool);

}  // namespace lockstep::diversion
