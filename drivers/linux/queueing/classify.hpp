// Classifies packets by DSCP, and else by priority, for qdiscs with a map of priorities (ETS, mqprio): flower
// filters on clsact's egress give a packet the priority of its class.
//
// Priorities 0 to 7 are 802.1p's. 8 + n is class n's own, which its DSCPs get: so a class of DSCPs alone
// needs no 802.1p priority. The maps have 16 entries (TC_PRIO_MAX + 1). Our filters continue to foreign ones
// (`continue`): first one for all IPv4 and one for all IPv6 packets, if a class has all DSCPs that no other
// has, then one filter for each other DSCP and protocol.
//
// Promises: a filter decodes only if it has exactly this shape: one with a further condition or another
// action is foreign. Formats: tc-flower(8), tc-skbedit(8); linux/pkt_cls.h, net/sched/cls_flower.c,
// act_skbedit.c.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/queueing/class_qdiscs.hpp"

namespace lockstep {

struct PriorityFilter {
  std::uint32_t index = 0;  // interface
  bool v6 = false;
  std::optional<std::uint8_t> dscp;  // none: any
  std::uint32_t priority = 0;
  std::uint32_t handle = 0;  // of our own filter of this shape: DSCP + 1, or 1
  bool operator==(const PriorityFilter&) const = default;
};

constexpr std::uint8_t class_priority(unsigned number) { return static_cast<std::uint8_t>(8 + number); }

// nullopt: of no interest.
Result<std::optional<PriorityFilter>> decode_priority_filter(netlink::Bytes payload);
Result<std::vector<PriorityFilter>> read_priority_filters(netlink::Socket& socket, std::uint32_t index,
                                                          const Call& call);
// Creates or replaces.
netlink::Request priority_filter_request(const PriorityFilter& wanted);
netlink::Request delete_priority_filter_request(const PriorityFilter& gone);

struct PortQueueing;
struct PortScheduler;

namespace queueing {

// The filters that `wanted` needs, and the requests that turn the existing ones into them.
std::vector<PriorityFilter> filters_for(std::uint32_t index, const PortScheduler& wanted);
void reclassify(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted,
                std::vector<netlink::Request>& out);
// Removes classification by DSCP; clsact stays.
void unclassify(const PortQueueing& have, std::vector<netlink::Request>& out);

// The DSCPs whose packets get a priority that `entry` is mapped to, for both IPv4 and IPv6.
std::set<std::uint8_t> dscps_of(const std::vector<PriorityFilter>& filters, const PriorityMap& map,
                                std::uint8_t entry);
// The 802.1p priorities that `entry` is mapped to.
std::set<std::uint8_t> priorities_of(const PriorityMap& map, std::uint8_t entry);
// The class of each 802.1p priority. `wanted` must have classes.
std::array<unsigned, 8> classes_of_priorities(const PortScheduler& wanted);

}  // namespace queueing
}  // namespace lockstep
