#include "drivers/linux/diversion/port_filters.hpp"

#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "drivers/linux/diversion/questions.hpp"
#include "drivers/linux/queueing/carriers.hpp"

namespace lockstep::diversion {
namespace {

using Texts = std::vector<std::string>;
using FilterTable = netlink::AttributeTable<TCA_MAX + 1>;

constexpr std::uint32_t kAtRoot = 0;  // the root qdisc, whatever it is (net/sched/cls_api.c, tc_dump_tfilter)

// A place where a port's filters are read.
struct Place {
  const Link& port;
  std::uint32_t parent;
  std::string text;  // "ingress", "root", "queue 4c5c:"
};

std::string handle_text(std::uint32_t handle) {
  std::array<char, 16> out{};
  const std::uint32_t minor = TC_H_MIN(handle);
  if (minor == 0)
    (void)std::snprintf(out.data(), out.size(), "%x:", TC_H_MAJ(handle) >> 16);
  else
    (void)std::snprintf(out.data(), out.size(), "%x:%x", TC_H_MAJ(handle) >> 16, minor);
  return out.data();
}

// The head of a list of filters, or u32's hash table.
bool is_no_filter(const tcmsg& header, const FilterTable& table) {
  if (header.tcm_handle == 0 || !table.has(TCA_OPTIONS)) return true;
  if (table.text(TCA_KIND) != "u32") return false;
  const auto u32 = netlink::AttributeTable<TCA_U32_MAX + 1>::parse(table.bytes(TCA_OPTIONS), "u32 filter");
  return u32 && !u32->has(TCA_U32_SEL);
}

// Whether it is a class's filter or a marker, as made by Lockstep at that place.
Result<bool> is_own_filter(netlink::Bytes filter, const Place& place) {
  if (place.parent == kAtRoot) {
    TRY(const auto of_class, decode_filter(filter));
    return of_class && queueing::is_own_filter(*of_class);
  }
  if (place.parent != TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)) return false;
  TRY(const auto marker, decode_marker(filter));
  TRY(const auto of_class, decode_priority_filter(filter));
  return marker || of_class;
}

Result<Done> add_filters(netlink::Socket& socket, const Place& place, const Call& call,
                         std::set<std::string>& out) {
  netlink::Request request(RTM_GETTFILTER, NLM_F_DUMP);
  tcmsg header{};
  header.tcm_ifindex = static_cast<int>(place.port.index);
  header.tcm_parent = place.parent;
  request.header(header);
  const auto add = [&](const netlink::Message& message) -> Result<Done> {
    if (message.type != RTM_NEWTFILTER) return Done{};
    TRY(const auto frame, netlink::framed<tcmsg>(message.payload, "filter"));
    TRY(const auto table, FilterTable::parse(frame.attributes, "filter"));
    if (is_no_filter(frame.header, table)) return Done{};
    TRY(const bool own, is_own_filter(message.payload, place));
    if (own) return Done{};
    const std::string kind = table.text(TCA_KIND);
    std::string name = "pref " + std::to_string(frame.header.tcm_info >> 16);
    if (kind == "bpf") {
      TRY(const auto bpf,
          netlink::AttributeTable<TCA_BPF_MAX + 1>::parse(table.bytes(TCA_OPTIONS), "filter"));
      if (bpf.has(TCA_BPF_NAME)) name = bpf.text(TCA_BPF_NAME);
    }
    out.insert("tc " + place.text + " of " + place.port.name + ": " + kind + " " + name);
    return Done{};
  };
  return socket.dump(request, call, add, [] {});
}

// The kernel's default qdiscs (net.core.default_qdisc), and similar ones; their limits are not
// checked.
bool is_usual(const std::string& kind) {
  constexpr std::string_view kKinds[] = {"bfifo",  "clsact",     "codel", "fq",     "fq_codel",
                                         "fq_pie", "ingress",    "mq",    "mqprio", "noqueue",
                                         "pfifo",  "pfifo_fast", "sfq"};
  return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

// Our qdiscs by their place (queueing/carriers.hpp): in HTB the queues that mark, in TBF an ETS, in mqprio
// none, and in an ETS the queues that class[*] is read from.
bool is_own_in(const std::string& root, const Qdisc& one) {
  if (!is_own(one) || one.parent == TC_H_ROOT) return is_own(one);
  if (!is_own_handle(one.parent)) return false;
  if ((one.parent & TC_H_MAJ_MASK) != queueing::kOwnHandle) return true;
  return (root == "htb" && one.kind == "red") || (root == "tbf" && one.kind == "ets");
}

bool is_foreign_queue(const std::string& root, const Qdisc& one) {
  if (is_own_in(root, one) || one.handle == 0) return false;  // 0: the kernel's own
  return is_own_handle(one.parent) || !is_usual(one.kind);
}

std::string text_of_queue(const Qdisc& one, const Link& port) {
  return "tc queue of " + port.name + ": " + one.kind + " " + handle_text(one.handle) +
         (one.parent == TC_H_ROOT ? " at the root" : " in " + handle_text(one.parent));
}

Result<Done> add_traffic_control(netlink::Socket& socket, const Ground& ground, const Call& call,
                                 std::set<std::string>& out) {
  TRY(const std::vector<Qdisc> qdiscs, read_qdiscs(socket, call));
  std::map<std::uint32_t, std::string> roots;  // kinds, by port
  for (const Qdisc& one : qdiscs)
    if (one.parent == TC_H_ROOT) roots[one.index] = one.kind;
  for (const Qdisc& one : qdiscs) {
    const Link* const port = ground.network.link(one.index);
    if (port == nullptr || !ground.ports.contains(one.index)) continue;
    if (is_foreign_queue(roots[one.index], one)) out.insert(text_of_queue(one, *port));
    std::vector<Place> places;
    if (one.parent == TC_H_ROOT) places.push_back({*port, kAtRoot, "root"});
    if (one.kind == "clsact" || one.kind == "ingress")
      places.push_back({*port, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), "ingress"});
    if (one.kind == "clsact") places.push_back({*port, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS), "egress"});
    if (one.kind == "ets" && one.parent != TC_H_ROOT)  // in the TBF of a port's rate
      places.push_back({*port, one.handle, "queue " + handle_text(one.handle)});
    for (const Place& place : places) TRY_DONE(add_filters(socket, place, call, out));
  }
  return Done{};
}

void add_xdp(const Ground& ground, std::set<std::string>& out) {
  for (const Link& port : ground.network.links) {
    if (port.xdp == XDP_ATTACHED_NONE || !ground.ports.contains(port.index)) continue;
    const char* const mode = port.xdp == XDP_ATTACHED_DRV   ? "native"
                             : port.xdp == XDP_ATTACHED_SKB ? "generic"
                             : port.xdp == XDP_ATTACHED_HW  ? "offloaded"
                                                            : "several";
    out.insert("XDP on " + port.name + " (" + mode + ")");
  }
}

// Packets of RoCE or TCP, as defined in packet_filters.cpp.
bool is_of_kind(const xfrm::Policy& policy) {
  constexpr std::uint16_t kAllBits = 0xFFFF;
  if (policy.ip_protocol == IPPROTO_UDP)
    return policy.source.matches(kRoceSourceBits, kRoceSourceBits) &&
           policy.destination.matches(kRoce, kAllBits);
  if (policy.ip_protocol == IPPROTO_TCP)
    return policy.source.matches(kOwnPortBits, kOwnPortBits) &&
           policy.destination.matches(kOwnPortBits, kOwnPortBits);
  return policy.ip_protocol == 0;
}

// Forwarded packets are checked as forwarded and as sent (net/xfrm/xfrm_policy.c, __xfrm_route_forward).
bool is_of_pool(const xfrm::Policy& policy, const Ground& ground, const IpPrefix& pool, bool transit) {
  using Direction = xfrm::Policy::Direction;
  if (policy.direction == (transit ? Direction::in : Direction::forward)) return false;
  // A policy's port is the one that a packet leaves through: for packets that end here, the loopback.
  if (policy.interface != 0 &&
      (policy.direction == Direction::in || !ground.ports.contains(policy.interface)))
    return false;
  return is_of_kind(policy) && policy.to.overlaps(pool) && policy.from.overlaps(pool);
}

const IpPrefix& narrower(const IpPrefix& one, const IpPrefix& other) {
  return one.length > other.length ? one : other;
}

// Whether a pass policy is consulted before another one, for all packets of the pool that the other selects.
bool is_behind(const xfrm::Policy& one, const xfrm::Policy& other, const IpPrefix& pool) {
  return other.action == xfrm::Policy::Action::pass && other.direction == one.direction &&
         other.priority < one.priority && other.ip_protocol == 0 && other.interface == 0 &&
         other.from.contains(narrower(one.from, pool)) && other.to.contains(narrower(one.to, pool));
}

}  // namespace

Result<Texts> port_filters(const Ground& ground, netlink::Socket& route, const Call& call) {
  std::set<std::string> out;
  TRY_DONE(add_traffic_control(route, ground, call, out));
  add_xdp(ground, out);
  return Texts(out.begin(), out.end());
}

Texts policy_filters(const std::vector<xfrm::Policy>& policies, const Ground& ground, const IpPrefix& pool,
                     bool transit) {
  const auto name_of = [&](std::uint32_t index) {
    const Link* const link = ground.network.link(index);
    return link == nullptr ? std::string() : link->name;
  };
  std::set<std::string> out;
  for (const xfrm::Policy& one : policies)
    if (one.action != xfrm::Policy::Action::pass && is_of_pool(one, ground, pool, transit) &&
        std::ranges::none_of(policies,
                             [&](const xfrm::Policy& other) { return is_behind(one, other, pool); }))
      out.insert(xfrm::text_of(one, name_of(one.interface)));
  return Texts(out.begin(), out.end());
}

}  // namespace lockstep::diversion
