// The qdiscs that have classes by priority, ETS and mqprio, and the plain queue of a class, as messages.
//
// Promises: requests decode to the same parameters; a request names all parameters, as the kernel resets
// those that are left out (a change of ETS without its map sends all priorities to the last band). Refuses
// kernel messages with a count of bands or queues that exceeds their content. Formats: tc-ets(8),
// tc-mqprio(8), tc-bfifo(8); linux/pkt_sched.h, net/sched/sch_{ets,mqprio,fifo}.c.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep {

inline constexpr std::size_t kPriorityEntries = 16;              // TC_PRIO_MAX + 1
using PriorityMap = std::array<std::uint8_t, kPriorityEntries>;  // band or traffic class, by priority

struct EtsParameters {
  std::uint8_t strict = 0;            // bands, the first ones
  std::vector<std::uint32_t> quanta;  // bytes, of the others
  PriorityMap bands{};
  bool operator==(const EtsParameters&) const = default;
};

struct MqprioParameters {
  struct Queues {
    std::uint16_t first = 0;
    std::uint16_t count = 0;
    bool operator==(const Queues&) const = default;
  };
  std::vector<Queues> classes;  // none: the kernel removed them together with the port's queues
  PriorityMap map{};
  bool hardware = false;  // offloaded
  bool operator==(const MqprioParameters&) const = default;
};

// TCA_OPTIONS of such a qdisc.
Result<EtsParameters> decode_ets(netlink::Bytes options);
Result<MqprioParameters> decode_mqprio(netlink::Bytes options);

netlink::Request ets_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent,
                             const EtsParameters& ets);
// As the root, not offloaded.
netlink::Request mqprio_request(std::uint32_t index, std::uint32_t handle, const MqprioParameters& mqprio);
// `limit`: bytes.
netlink::Request bfifo_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent,
                               std::uint32_t limit);

}  // namespace lockstep
