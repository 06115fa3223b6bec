#include "drivers/linux/queueing/classify.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_skbedit.h>

#include <algorithm>

#include "drivers/linux/queueing/carriers.hpp"

namespace lockstep {
namespace {

using netlink::AttributeTable;
using netlink::AttributeWalk;
using netlink::Bytes;
using netlink::Request;

constexpr std::uint32_t kEgress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);
// Flower keeps one protocol and, for speed, one mask per preference. Later filters override earlier ones.
constexpr std::uint16_t kFirstPreference = 80;
constexpr unsigned kDscpShift = 2;  // of the ToS byte and the traffic class (RFC 2474)
constexpr std::uint8_t kDscpMask = 0xFC;
// act_api.c takes up to TCA_ACT_MAX_PRIO actions, numbered from 1.
constexpr std::uint16_t kFirstAction = 1;

std::uint16_t preference_of(const PriorityFilter& filter) {
  return static_cast<std::uint16_t>(kFirstPreference + (filter.dscp ? 2 : 0) + (filter.v6 ? 1 : 0));
}

std::uint16_t protocol_of(const PriorityFilter& filter) { return htons(filter.v6 ? ETH_P_IPV6 : ETH_P_IP); }

tcmsg place_of(const PriorityFilter& filter) {
  tcmsg out{};
  out.tcm_family = AF_UNSPEC;
  out.tcm_ifindex = static_cast<int>(filter.index);
  out.tcm_handle = filter.handle;
  out.tcm_parent = kEgress;
  out.tcm_info = (std::uint32_t{preference_of(filter)} << 16) | protocol_of(filter);
  return out;
}

// The priority that the filter's actions set, if they do only that and continue.
Result<std::optional<std::uint32_t>> priority_of(Bytes actions) {
  std::optional<std::uint32_t> out;
  AttributeWalk walk(actions);
  unsigned count = 0;
  for (netlink::Attribute one; walk.next(one); ++count) {
    TRY(const auto action, AttributeTable<TCA_ACT_MAX + 1>::parse(one.payload, "action"));
    if (action.text(TCA_ACT_KIND) != "skbedit") return std::optional<std::uint32_t>();
    TRY(auto options,
        AttributeTable<TCA_SKBEDIT_MAX + 1>::parse(action.bytes(TCA_ACT_OPTIONS), "skbedit action"));
    const auto parameters = options.number<tc_skbedit>(TCA_SKBEDIT_PARMS);
    out = options.number<std::uint32_t>(TCA_SKBEDIT_PRIORITY);
    TRY_DONE(options.sound("skbedit action"));
    if (!parameters) return Error{ErrorKind::transient, "netlink: a skbedit action without parameters"};
    for (const std::size_t other : {TCA_SKBEDIT_QUEUE_MAPPING, TCA_SKBEDIT_MARK, TCA_SKBEDIT_PTYPE})
      if (options.has(other)) return std::optional<std::uint32_t>();
    if (parameters->action != TC_ACT_UNSPEC) return std::optional<std::uint32_t>();
  }
  TRY_DONE(walk.finish("filter's actions"));
  return count == 1 ? out : std::nullopt;
}

// Whether the filter has no condition except on DSCP; attributes that the kernel adds are ignored.
Result<bool> is_plain(Bytes options) {
  bool plain = true;
  AttributeWalk walk(options);
  for (netlink::Attribute one; walk.next(one);) switch (one.type) {
      case TCA_FLOWER_ACT:
      case TCA_FLOWER_KEY_ETH_TYPE:
      case TCA_FLOWER_KEY_IP_TOS:
      case TCA_FLOWER_KEY_IP_TOS_MASK:
      case TCA_FLOWER_FLAGS:
      case TCA_FLOWER_IN_HW_COUNT: break;
      default: plain = false;
    }
  TRY_DONE(walk.finish("flower filter"));
  return plain;
}

}  // namespace

Result<std::optional<PriorityFilter>> decode_priority_filter(Bytes payload) {
  constexpr std::optional<PriorityFilter> kNone;
  TRY(const auto frame, netlink::framed<tcmsg>(payload, "filter"));
  TRY(const auto table, AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "filter"));
  if (table.text(TCA_KIND) != "flower") return kNone;
  const Bytes inside = table.bytes(TCA_OPTIONS);
  TRY(auto options, AttributeTable<TCA_FLOWER_KEY_IP_TOS_MASK + 1>::parse(inside, "flower filter"));
  TRY(const bool plain, is_plain(inside));
  TRY(const auto priority, priority_of(options.bytes(TCA_FLOWER_ACT)));
  const auto tos = options.number<std::uint8_t>(TCA_FLOWER_KEY_IP_TOS);
  const auto mask = options.number<std::uint8_t>(TCA_FLOWER_KEY_IP_TOS_MASK);
  const auto protocol = options.number<std::uint16_t>(TCA_FLOWER_KEY_ETH_TYPE);
  TRY_DONE(options.sound("flower filter"));
  PriorityFilter out;
  out.index = static_cast<std::uint32_t>(frame.header.tcm_ifindex);
  out.handle = frame.header.tcm_handle;
  out.v6 = protocol == htons(ETH_P_IPV6);
  out.priority = priority.value_or(0);
  if (tos) out.dscp = static_cast<std::uint8_t>(*tos >> kDscpShift);
  // For a classifier the kernel also sends a message without a filter: its place alone, with handle 0.
  if (!plain || !priority || out.handle == 0 || protocol != protocol_of(out) ||
      frame.header.tcm_info != place_of(out).tcm_info ||
      mask != (tos ? std::optional(kDscpMask) : std::nullopt))
    return kNone;
  return std::optional(out);
}

Result<std::vector<PriorityFilter>> read_priority_filters(netlink::Socket& socket, std::uint32_t index,
                                                          const Call& call) {
  std::vector<PriorityFilter> out;
  tcmsg header{};
  header.tcm_ifindex = static_cast<int>(index);
  header.tcm_parent = kEgress;
  TRY_DONE(read_all(socket, RTM_GETTFILTER, RTM_NEWTFILTER, header, &decode_priority_filter, call, out));
  return out;
}

Request priority_filter_request(const PriorityFilter& wanted) {
  Request request(RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE);
  request.header(place_of(wanted)).put_text(TCA_KIND, "flower");
  const std::size_t options = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_FLOWER_KEY_ETH_TYPE, protocol_of(wanted));
  if (wanted.dscp) {
    request.put_number(TCA_FLOWER_KEY_IP_TOS, static_cast<std::uint8_t>(*wanted.dscp << kDscpShift));
    request.put_number(TCA_FLOWER_KEY_IP_TOS_MASK, kDscpMask);
  }
  const std::size_t actions = request.open_nest(TCA_FLOWER_ACT);
  const std::size_t action = request.open_nest(kFirstAction);
  request.put_text(TCA_ACT_KIND, "skbedit");
  const std::size_t inside = request.open_nest(TCA_ACT_OPTIONS);
  tc_skbedit parameters{};
  parameters.action = TC_ACT_UNSPEC;
  request.put_number(TCA_SKBEDIT_PARMS, parameters).put_number(TCA_SKBEDIT_PRIORITY, wanted.priority);
  request.close_nest(inside);
  request.close_nest(action);
  request.close_nest(actions);
  request.close_nest(options);
  return request;
}

Request delete_priority_filter_request(const PriorityFilter& gone) {
  Request request(RTM_DELTFILTER, NLM_F_ACK);
  request.header(place_of(gone)).put_text(TCA_KIND, "flower");
  return request;
}

namespace queueing {

std::vector<PriorityFilter> filters_for(std::uint32_t index, const PortScheduler& wanted) {
  std::vector<PriorityFilter> out;
  const bool rest_by_one = covers_all(wanted);
  for (const auto& [number, one] : wanted.classes) {
    const bool is_rest = rest_by_one && number == default_class(wanted);
    for (const bool v6 : {false, true}) {
      if (is_rest) out.push_back({index, v6, std::nullopt, class_priority(number), 1});
      for (const std::uint8_t dscp : one.dscp)
        if (!is_rest) out.push_back({index, v6, dscp, class_priority(number), dscp + 1U});
    }
  }
  return out;
}

void reclassify(std::uint32_t index, const PortQueueing& have, const PortScheduler& wanted, Requests& out) {
  const auto filters = filters_for(index, wanted);
  const auto is_place_wanted = [&](const PriorityFilter& one) {
    return std::ranges::any_of(filters, [&](const PriorityFilter& other) {
      return other.v6 == one.v6 && other.dscp == one.dscp && other.handle == one.handle;
    });
  };
  if (!have.clsact && !filters.empty())
    out.push_back(bare_qdisc_request(index, TC_H_MAKE(TC_H_CLSACT, 0), "clsact"));
  for (const PriorityFilter& one : have.priorities)
    if (!is_place_wanted(one)) out.push_back(delete_priority_filter_request(one));
  for (const PriorityFilter& one : filters)
    if (std::ranges::find(have.priorities, one) == have.priorities.end())
      out.push_back(priority_filter_request(one));
}

void unclassify(const PortQueueing& have, Requests& out) {
  for (const PriorityFilter& one : have.priorities) out.push_back(delete_priority_filter_request(one));
}

std::set<std::uint8_t> dscps_of(const std::vector<PriorityFilter>& filters, const PriorityMap& map,
                                std::uint8_t entry) {
  std::set<std::uint8_t> out;
  const auto priority_for = [&](std::uint8_t dscp, bool v6) {
    std::optional<std::uint32_t> any;
    for (const PriorityFilter& one : filters) {
      if (one.v6 == v6 && one.dscp == dscp) return std::optional(one.priority);
      if (one.v6 == v6 && !one.dscp) any = one.priority;
    }
    return any;
  };
  for (std::uint8_t dscp = 0; dscp < kDscps; ++dscp) {
    const auto v4 = priority_for(dscp, false);
    const auto v6 = priority_for(dscp, true);
    // The kernel uses the lowest four bits.
    if (v4 && v6 && map[*v4 % map.size()] == entry && map[*v6 % map.size()] == entry) out.insert(dscp);
  }
  return out;
}

std::set<std::uint8_t> priorities_of(const PriorityMap& map, std::uint8_t entry) {
  std::set<std::uint8_t> out;
  for (std::uint8_t priority = 0; priority < kPriorities; ++priority)
    if (map[priority] == entry) out.insert(priority);
  return out;
}

std::array<unsigned, kPriorities> classes_of_priorities(const PortScheduler& wanted) {
  std::array<std::optional<unsigned>, kPriorities> named;
  for (const auto& [number, one] : wanted.classes)
    for (const std::uint8_t priority : one.priority) named.at(priority) = number;
  const unsigned rest = named[0].value_or(default_class(wanted));
  std::array<unsigned, kPriorities> out{};
  std::ranges::transform(named, out.begin(), [&](const auto& one) { return one.value_or(rest); });
  return out;
}

}  // namespace queueing
}  // namespace lockstep
