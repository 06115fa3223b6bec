// Questions: which lookups tell whether traffic of a pool goes as the specs say.
//
// Owned is what goes to a pool's addresses and either arrives on one of the wanted ports (transit, a
// switch's) or leaves from an address of the pool on one (sent, a host's). Promises: pure; one question for
// each way in which routes and rules can tell the pool's packets apart: an atom, a TOS, RoCE and TCP where
// rules tell protocols or ports apart, and for each foreign rule packets that it selects; none twice. Not
// asked: protocols that the kernel refuses to look up (net/ipv4/fib_semantics.c,
// rtm_getroute_parse_ip_proto), and ports of VRFs.
#pragma once

#include <vector>

#include "drivers/linux/diversion/ground.hpp"

namespace lockstep::diversion {

inline constexpr std::uint16_t kRoce = 4791;  // RoCEv2's UDP port (IANA)
// Bits that are set in ports: RoCEv2 sends from 0xC000 to 0xFFFF (IBTA, annex A17); TCP's ports of Linux's
// own choice are 32768 and more (ip-sysctl, ip_local_port_range).
inline constexpr std::uint16_t kRoceSourceBits = 0xC000;
inline constexpr std::uint16_t kOwnPortBits = 0x8000;

struct Asked {
  Question question;
  bool made_up = false;  // its source is any that a rule names: reverse path filters may refuse it
  auto operator<=>(const Asked&) const = default;
};

std::vector<Asked> transit_questions(const Ground& ground, const IpPrefix& pool);
std::vector<Asked> sent_questions(const Ground& ground, const IpPrefix& pool);

}  // namespace lockstep::diversion
