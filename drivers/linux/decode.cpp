#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>

#include "drivers/linux/kernel_state.hpp"

namespace lockstep {
namespace {

using netlink::AttributeTable;
using netlink::Bytes;

bool is_ip(std::uint8_t family) { return family == AF_INET || family == AF_INET6; }

// An address attribute must be of the header's family; anything else is malformed.
Result<IpAddress> address_of(Bytes bytes, std::uint8_t family, const char* what) {
  const auto out = address_from_bytes(bytes);
  if (!out || family_of(*out) != family)
    return Error{ErrorKind::transient, std::string("netlink: a ") + what + " has an address of a wrong size"};
  return *out;
}

Result<IpPrefix> prefix_of(Bytes bytes, std::uint8_t family, std::uint8_t length, const char* what) {
  IpPrefix out = everything(family);
  out.length = length;
  if (!bytes.empty()) {
    TRY(out.address, address_of(bytes, family, what));
  }
  if (length > out.address.width())
    return Error{ErrorKind::transient, std::string("netlink: a ") + what + " has an impossible length"};
  return out;
}

// RTA_VIA (RFC 5549 next hops): family and address.
Result<IpAddress> via_of(Bytes bytes) {
  const auto family = netlink::read_as<std::uint16_t>(bytes);
  if (!family || !is_ip(static_cast<std::uint8_t>(*family)))
    return Error{ErrorKind::transient, "netlink: a next hop's gateway is cut short"};
  return address_of(bytes.subspan(sizeof(std::uint16_t)), static_cast<std::uint8_t>(*family), "next hop");
}

// IP encapsulation only passes metadata to a tunnel's port: other ports send packets unchanged
// (net/ipv4/ip_tunnel_core.c).
std::uint16_t encapsulation_of(std::optional<std::uint16_t> type) {
  return type == LWTUNNEL_ENCAP_IP || type == LWTUNNEL_ENCAP_IP6 ? std::uint16_t{0} : type.value_or(0);
}

Result<std::vector<NextHop>> multipath_of(Bytes bytes, std::uint8_t family) {
  std::vector<NextHop> out;
  while (!bytes.empty()) {
    const auto header = netlink::read_as<rtnexthop>(bytes);
    if (!header || header->rtnh_len < sizeof(rtnexthop) || header->rtnh_len > bytes.size())
      return Error{ErrorKind::transient, "netlink: a next hop runs past its route"};
    NextHop hop;
    hop.index = static_cast<std::uint32_t>(header->rtnh_ifindex);
    hop.flags = header->rtnh_flags;
    hop.weight = header->rtnh_hops + 1U;
    const Bytes inside = bytes.subspan(sizeof(rtnexthop), header->rtnh_len - sizeof(rtnexthop));
    TRY(auto table, AttributeTable<RTA_MAX + 1>::parse(inside, "next hop"));
    if (table.has(RTA_GATEWAY)) {
      TRY(hop.gateway, address_of(table.bytes(RTA_GATEWAY), family, "next hop"));
    }
    if (table.has(RTA_VIA)) {
      TRY(hop.gateway, via_of(table.bytes(RTA_VIA)));
    }
    hop.encapsulation = encapsulation_of(table.number<std::uint16_t>(RTA_ENCAP_TYPE));
    TRY_DONE(table.sound("next hop"));
    out.push_back(hop);
    const std::size_t step = RTNH_ALIGN(std::size_t{header->rtnh_len});
    bytes = step < bytes.size() ? bytes.subspan(step) : Bytes{};
  }
  return out;
}

// FRA_DSCP, FRA_SPORT_MASK and FRA_DPORT_MASK of linux/fib_rules.h since Linux 6.13 and 6.15, which older
// headers lack.
constexpr std::size_t kRuleDscp = 25;
constexpr std::size_t kRuleSourceMask = 28;
constexpr std::size_t kRuleDestinationMask = 29;
using RuleTable = AttributeTable<std::max<std::size_t>(FRA_MAX, kRuleDestinationMask) + 1>;

// Absent: any port. A range of a wrong size marks the table like a number does.
std::optional<PortRange> ports_of(RuleTable& table, std::size_t type, std::size_t mask) {
  const auto range = table.number<fib_rule_port_range>(type);
  if (!range) return std::nullopt;
  constexpr std::uint16_t kWhole = 0xFFFF;  // the kernel's value for one port without a mask
  const std::uint16_t bits = table.number<std::uint16_t>(mask).value_or(kWhole);
  return PortRange{range->start, range->end, bits == kWhole ? std::uint16_t{0} : bits};
}

// RTAX_LOCK is a bit mask of the locked metrics.
Result<Done> take_metrics(Bytes bytes, Route& out) {
  TRY(auto table, AttributeTable<RTAX_MAX + 1>::parse(bytes, "route's metrics"));
  const std::uint32_t locks = table.number<std::uint32_t>(RTAX_LOCK).value_or(0);
  const auto locked = [&](std::uint16_t type) { return (locks & (1U << type)) != 0; };
  out.mtu = table.number<std::uint32_t>(RTAX_MTU).value_or(0);
  out.mtu_locked = locked(RTAX_MTU);
  for (std::uint16_t type = RTAX_LOCK + 1; type <= RTAX_MAX; ++type) {
    if (type == RTAX_MTU || !table.has(type)) continue;
    RouteMetric one{.type = type, .locked = locked(type), .number = 0, .text = {}};
    if (type == RTAX_CC_ALGO)
      one.text = table.text(type);
    else
      one.number = table.number<std::uint32_t>(type).value_or(0);
    out.metrics.push_back(std::move(one));
  }
  return table.sound("route's metrics");
}

// A rule's selectors, except addresses and its table.
void take_selectors(RuleTable& table, Rule& out) {
  out.iif = table.text(FRA_IIFNAME);
  out.oif = table.text(FRA_OIFNAME);
  out.dscp = table.number<std::uint8_t>(kRuleDscp);
  out.mark = table.number<std::uint32_t>(FRA_FWMARK);
  if (const auto users = table.number<fib_rule_uid_range>(FRA_UID_RANGE))
    out.users = UserRange{users->start, users->end};
  out.of_vrfs = table.number<std::uint8_t>(FRA_L3MDEV).value_or(0) != 0;
  out.ip_protocol = table.number<std::uint8_t>(FRA_IP_PROTO).value_or(0);
  out.source_ports = ports_of(table, FRA_SPORT_RANGE, kRuleSourceMask);
  out.destination_ports = ports_of(table, FRA_DPORT_RANGE, kRuleDestinationMask);
  out.suppressed_length = table.number<std::uint32_t>(FRA_SUPPRESS_PREFIXLEN);
  constexpr std::uint32_t kNone = 0xFFFFFFFF;  // -1 (net/core/fib_rules.c, fib_nl2rule)
  if (out.suppressed_length == kNone) out.suppressed_length.reset();
}

}  // namespace

Result<std::optional<Link>> decode_link(Bytes payload) {
  TRY(const auto frame, netlink::framed<ifinfomsg>(payload, "link"));
  if (frame.header.ifi_family != AF_UNSPEC) return std::optional<Link>();  // bridge ports are reported twice
  TRY(auto table, AttributeTable<IFLA_PARENT_DEV_BUS_NAME + 1>::parse(frame.attributes, "link"));
  Link out;
  out.index = static_cast<std::uint32_t>(frame.header.ifi_index);
  out.name = table.text(IFLA_IFNAME);
  out.mtu = table.number<std::uint32_t>(IFLA_MTU).value_or(0);
  out.admin_up = (frame.header.ifi_flags & IFF_UP) != 0;
  out.loopback = (frame.header.ifi_flags & IFF_LOOPBACK) != 0;
  out.no_arp = (frame.header.ifi_flags & IFF_NOARP) != 0;
  out.carrier = table.number<std::uint8_t>(IFLA_CARRIER).value_or(0) != 0;
  out.operational = table.number<std::uint8_t>(IFLA_OPERSTATE).value_or(0);
  const Bytes hardware = table.bytes(IFLA_ADDRESS);
  out.hardware_address.assign(hardware.begin(), hardware.end());
  out.parent_bus = table.text(IFLA_PARENT_DEV_BUS_NAME);
  out.parent_device = table.text(IFLA_PARENT_DEV_NAME);
  out.master = table.number<std::uint32_t>(IFLA_MASTER);
  if (table.has(IFLA_LINKINFO)) {
    TRY(const auto inside, AttributeTable<IFLA_INFO_MAX + 1>::parse(table.bytes(IFLA_LINKINFO), "link"));
    out.kind = inside.text(IFLA_INFO_KIND);
  }
  // IFLA_LINK is the port's own index if nothing is below it, the other end of a veth, and an index in
  // another namespace if that is named (net/core/rtnetlink.c, rtnl_fill_link_netnsid).
  const auto below = table.number<std::uint32_t>(IFLA_LINK);
  if (below && *below != out.index && *below != 0 && out.kind != "veth" && !table.has(IFLA_LINK_NETNSID))
    out.below = below;
  if (table.has(IFLA_XDP)) {
    TRY(auto xdp, AttributeTable<IFLA_XDP_MAX + 1>::parse(table.bytes(IFLA_XDP), "link's XDP"));
    out.xdp = xdp.number<std::uint8_t>(IFLA_XDP_ATTACHED).value_or(XDP_ATTACHED_NONE);
    TRY_DONE(xdp.sound("link's XDP"));
  }
  TRY_DONE(table.sound("link"));
  if (out.index == 0 || out.name.empty())
    return Error{ErrorKind::transient, "netlink: a link without index or name"};
  return std::optional(std::move(out));
}

Result<std::optional<InterfaceAddress>> decode_address(Bytes payload) {
  TRY(const auto frame, netlink::framed<ifaddrmsg>(payload, "address"));
  if (!is_ip(frame.header.ifa_family)) return std::optional<InterfaceAddress>();
  TRY(auto table, AttributeTable<IFA_PROTO + 1>::parse(frame.attributes, "address"));
  InterfaceAddress out;
  out.index = frame.header.ifa_index;
  out.scope = frame.header.ifa_scope;
  const std::uint32_t flags = table.number<std::uint32_t>(IFA_FLAGS).value_or(frame.header.ifa_flags);
  out.permanent = (flags & IFA_F_PERMANENT) != 0;
  out.tentative = (flags & IFA_F_TENTATIVE) != 0;
  out.failed = (flags & IFA_F_DADFAILED) != 0;
  // On a point-to-point link IFA_ADDRESS is the peer; IFA_LOCAL is ours if present (if_addr.h).
  const Bytes own = table.has(IFA_LOCAL) ? table.bytes(IFA_LOCAL) : table.bytes(IFA_ADDRESS);
  if (own.empty()) return Error{ErrorKind::transient, "netlink: an address message without an address"};
  TRY(out.prefix, prefix_of(own, frame.header.ifa_family, frame.header.ifa_prefixlen, "address"));
  TRY_DONE(table.sound("address"));
  return std::optional(out);
}

Result<std::optional<Route>> decode_route(Bytes payload) {
  TRY(const auto frame, netlink::framed<rtmsg>(payload, "route"));
  const rtmsg& header = frame.header;
  if (!is_ip(header.rtm_family) || (header.rtm_flags & RTM_F_CLONED) != 0) return std::optional<Route>();
  TRY(auto table, AttributeTable<RTA_MAX + 1>::parse(frame.attributes, "route"));
  Route out;
  out.protocol = header.rtm_protocol;
  out.type = header.rtm_type;
  out.scope = header.rtm_scope;
  out.tos = header.rtm_tos;
  out.table = table.number<std::uint32_t>(RTA_TABLE).value_or(header.rtm_table);
  out.metric = table.number<std::uint32_t>(RTA_PRIORITY).value_or(0);
  out.nexthop_id = table.number<std::uint32_t>(RTA_NH_ID).value_or(0);
  TRY(out.destination, prefix_of(table.bytes(RTA_DST), header.rtm_family, header.rtm_dst_len, "route"));
  if (table.has(RTA_MULTIPATH)) {
    TRY(out.hops, multipath_of(table.bytes(RTA_MULTIPATH), header.rtm_family));
  } else if (table.has(RTA_OIF)) {
    NextHop hop;
    hop.index = table.number<std::uint32_t>(RTA_OIF).value_or(0);
    hop.flags = static_cast<std::uint8_t>(header.rtm_flags & 0xFF);
    if (table.has(RTA_GATEWAY)) {
      TRY(hop.gateway, address_of(table.bytes(RTA_GATEWAY), header.rtm_family, "route"));
    }
    if (table.has(RTA_VIA)) {
      TRY(hop.gateway, via_of(table.bytes(RTA_VIA)));
    }
    hop.encapsulation = encapsulation_of(table.number<std::uint16_t>(RTA_ENCAP_TYPE));
    out.hops.push_back(hop);
  }
  if (table.has(RTA_PREFSRC)) {
    TRY(out.source, address_of(table.bytes(RTA_PREFSRC), header.rtm_family, "route"));
  }
  if (table.has(RTA_METRICS)) {
    TRY_DONE(take_metrics(table.bytes(RTA_METRICS), out));
  }
  TRY_DONE(table.sound("route"));
  return std::optional(std::move(out));
}

Result<std::optional<NextHopObject>> decode_nexthop(Bytes payload) {
  TRY(const auto frame, netlink::framed<nhmsg>(payload, "next-hop object"));
  TRY(auto table, AttributeTable<NHA_MAX + 1>::parse(frame.attributes, "next-hop object"));
  NextHopObject out;
  out.id = table.number<std::uint32_t>(NHA_ID).value_or(0);
  out.blackhole = table.has(NHA_BLACKHOLE);
  Bytes members = table.bytes(NHA_GROUP);
  if (members.size() % sizeof(nexthop_grp) != 0)
    return Error{ErrorKind::transient, "netlink: a next-hop group holds half a member"};
  for (; !members.empty(); members = members.subspan(sizeof(nexthop_grp)))
    if (const auto one = netlink::read_as<nexthop_grp>(members))
      out.members.emplace_back(one->id, one->weight + 1U);
  if (table.has(NHA_OIF)) {
    NextHop hop;
    hop.index = table.number<std::uint32_t>(NHA_OIF).value_or(0);
    hop.flags = static_cast<std::uint8_t>(frame.header.nh_flags & 0xFF);
    if (table.has(NHA_GATEWAY)) {
      TRY(hop.gateway, address_of(table.bytes(NHA_GATEWAY), frame.header.nh_family, "next-hop object"));
    }
    hop.encapsulation = encapsulation_of(table.number<std::uint16_t>(NHA_ENCAP_TYPE));
    out.hop = hop;
  }
  TRY_DONE(table.sound("next-hop object"));
  if (out.id == 0) return Error{ErrorKind::transient, "netlink: a next-hop object without an id"};
  return std::optional(std::move(out));
}

Result<std::optional<Rule>> decode_rule(Bytes payload) {
  TRY(const auto frame, netlink::framed<fib_rule_hdr>(payload, "rule"));
  const fib_rule_hdr& header = frame.header;
  if (!is_ip(header.family)) return std::optional<Rule>();
  TRY(auto table, RuleTable::parse(frame.attributes, "rule"));
  Rule out;
  out.family = header.family;
  out.action = header.action;
  out.priority = table.number<std::uint32_t>(FRA_PRIORITY).value_or(0);
  out.target = table.number<std::uint32_t>(FRA_GOTO).value_or(0);
  out.table = table.number<std::uint32_t>(FRA_TABLE).value_or(header.table);
  out.protocol = table.number<std::uint8_t>(FRA_PROTOCOL).value_or(0);
  if (header.src_len > 0 || table.has(FRA_SRC)) {
    TRY(out.from, prefix_of(table.bytes(FRA_SRC), header.family, header.src_len, "rule"));
  }
  if (header.dst_len > 0 || table.has(FRA_DST)) {
    TRY(out.to, prefix_of(table.bytes(FRA_DST), header.family, header.dst_len, "rule"));
  }
  out.inverted = (header.flags & FIB_RULE_INVERT) != 0;
  out.tos = header.tos;
  take_selectors(table, out);
  out.plain = !out.to && out.tos == 0 && !out.inverted && !out.of_vrfs && !out.suppressed_length;
  for (const unsigned narrowing :
       {unsigned{FRA_IIFNAME}, unsigned{FRA_OIFNAME}, unsigned{FRA_FWMARK}, unsigned{FRA_UID_RANGE},
        unsigned{FRA_IP_PROTO}, unsigned{FRA_SPORT_RANGE}, unsigned{FRA_DPORT_RANGE}, unsigned{kRuleDscp}})
    if (table.has(narrowing)) out.plain = false;
  TRY_DONE(table.sound("rule"));
  return std::optional(out);
}

Result<std::optional<Neighbour>> decode_neighbour(Bytes payload) {
  TRY(const auto frame, netlink::framed<ndmsg>(payload, "neighbor"));
  if (!is_ip(frame.header.ndm_family)) return std::optional<Neighbour>();
  TRY(auto table, AttributeTable<NDA_MAX + 1>::parse(frame.attributes, "neighbor"));
  Neighbour out;
  out.index = static_cast<std::uint32_t>(frame.header.ndm_ifindex);
  out.state = frame.header.ndm_state;
  TRY(out.address, address_of(table.bytes(NDA_DST), frame.header.ndm_family, "neighbor"));
  const Bytes hardware = table.bytes(NDA_LLADDR);
  out.hardware_address.assign(hardware.begin(), hardware.end());
  return std::optional(out);
}

}  // namespace lockstep
