// Route lookups: what the kernel itself would do with a packet, in batches.
//
// Promises: nothing is inferred from a table; the result is the kernel's (RTM_GETROUTE with RTM_F_FIB_MATCH),
// one for each question, in order, with the table that contains the route, for user 0. Pitfalls, observed on
// Linux 6.18: with `arrives_on` and no `from`, or a `from` of the device's own, the result is EINVAL, the
// same as for a blackhole; naming an output device bypasses rules, so no question names one. Results do not
// reflect neighbours, packet filters, tc or IPv6's `forwarding`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "drivers/linux/kernel_state.hpp"

namespace lockstep::diversion {

struct Question {
  IpAddress to;
  std::optional<IpAddress> from;
  std::uint32_t arrives_on = 0;  // an interface; 0: sent by the device itself
  std::uint8_t tos = 0;
  std::uint8_t ip_protocol = 0;  // 0: any
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  auto operator<=>(const Question&) const = default;
};

struct Found {
  int code = 0;                // an errno; 0: there is a route
  std::optional<Route> route;  // that matched; its hops are not resolved where it has a next-hop object
};

Result<std::vector<Found>> look_up(netlink::Socket& socket, const std::vector<Question>& questions,
                                   const Call& call);

}  // namespace lockstep::diversion
