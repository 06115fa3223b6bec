// IPsec policies (XFRM), decoded: which packets a namespace drops, requires to be transformed or passes
// unchanged.
//
// Promises: policies of sockets, of XFRM interfaces and of packets with a mark are ignored, as they never
// apply to a pool's RoCE or TCP packets. An optional template (`level use`) counts on the way out, where
// packets are transformed as soon as a state for it exists. Refuses a selector with a family or length that
// no address has. Formats: linux/xfrm.h; net/xfrm/xfrm_user.c; ip-xfrm(8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/netlink_socket.hpp"
#include "specs/model/ip.hpp"

namespace lockstep::xfrm {

struct Policy {
  enum class Direction : std::uint8_t { in, out, forward };  // XFRM_POLICY_*
  enum class Action : std::uint8_t { pass, block, transform };
  Direction direction = Direction::in;
  Action action = Action::pass;
  std::uint32_t priority = 0;  // the lowest decides
  IpPrefix from;
  IpPrefix to;
  std::uint8_t ip_protocol = 0;  // 0: any
  // A port matches if it equals `number` in the bits of `mask`.
  struct Port {
    std::uint16_t number = 0;
    std::uint16_t mask = 0;
    bool matches(std::uint16_t other, std::uint16_t known_bits) const {
      return ((number ^ other) & mask & known_bits) == 0;
    }
  };
  Port source;
  Port destination;
  std::uint32_t interface = 0;  // 0: any
};

// nullopt: of no interest.
Result<std::optional<Policy>> decode_policy(netlink::Bytes payload);
// For the calling thread's namespace; empty if the kernel has no XFRM.
Result<std::vector<Policy>> read_policies(const Call& call);
// "xfrm policy out: from 10.64.0.0/16 to 10.64.0.0/16 proto 17 dport 4791 dev rail0 block". `interface`: its
// name.
std::string text_of(const Policy& policy, const std::string& interface);

}  // namespace lockstep::xfrm
