// The contents of one network namespace as plain data decoded from rtnetlink, and functions that read it in
// few dumps.
//
// Promises: decoders check the bytes they take; a message of an unknown kind is skipped, one with wrong
// lengths is an Error. Names are resolved to interface indices only within one reading. Refuses nothing: what
// the kernel does not report (an old kernel without next-hop objects) is left empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/kernel_address.hpp"
#include "drivers/linux/netlink_socket.hpp"

namespace lockstep {

struct Link {
  std::uint32_t index = 0;
  std::string name;
  std::string kind;  // "veth", "bridge"; empty for hardware
  std::uint32_t mtu = 0;
  bool admin_up = false;
  bool carrier = false;
  bool loopback = false;
  bool no_arp = false;           // IFF_NOARP: it does not resolve neighbours
  std::uint8_t operational = 0;  // RFC 2863, IF_OPER_*
  std::vector<std::byte> hardware_address;
  std::string parent_bus;     // "pci"
  std::string parent_device;  // "0000:3b:00.0"
  std::optional<std::uint32_t> master;
  std::optional<std::uint32_t> below;  // the port below it (a VLAN's), in this namespace
  std::uint8_t xdp = 0;                // XDP_ATTACHED_*, linux/if_link.h; 0: no program
};

struct InterfaceAddress {
  std::uint32_t index = 0;
  IpPrefix prefix;
  std::uint8_t scope = 0;
  bool permanent = false;  // it has no lifetime
  bool tentative = false;
  bool failed = false;  // duplicate address detection
};

struct NextHop {
  std::uint32_t index = 0;           // interface
  std::optional<IpAddress> gateway;  // none: on link
  std::uint8_t flags = 0;            // RTNH_F_*
  std::uint32_t weight = 1;
  std::uint16_t encapsulation = 0;  // LWTUNNEL_ENCAP_*, linux/lwtunnel.h; 0: none, or IP's
  bool operator==(const NextHop&) const = default;
};

// What a route sets for packets sent over it (RTA_METRICS), except its MTU.
struct RouteMetric {
  std::uint16_t type = 0;  // RTAX_*, linux/rtnetlink.h
  bool locked = false;
  std::uint32_t number = 0;
  std::string text;  // of RTAX_CC_ALGO, in place of the number
};

struct Route {
  IpPrefix destination;
  std::uint32_t table = 0;
  std::uint32_t metric = 0;
  std::uint8_t protocol = 0;
  std::uint8_t type = 0;  // RTN_*
  std::uint8_t scope = 0;
  std::uint8_t tos = 0;          // 0: any
  std::uint32_t nexthop_id = 0;  // 0: none
  std::uint32_t mtu = 0;         // 0: the port's MTU
  bool mtu_locked = false;       // no path MTU discovery (ip-route(8), `mtu lock`)
  std::vector<RouteMetric> metrics;
  std::optional<IpAddress> source;  // source of packets that have no source address yet
  std::vector<NextHop> hops;        // with the group of nexthop_id resolved
};

struct NextHopObject {
  std::uint32_t id = 0;
  bool blackhole = false;
  std::optional<NextHop> hop;                                    // a single one
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // a group: id, weight
};

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  std::uint16_t mask = 0;  // the bits in which a port must equal `first`; 0: all from first to last
};

struct UserRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

struct Rule {
  std::uint8_t family = 0;
  std::uint32_t priority = 0;
  std::uint32_t table = 0;
  std::uint8_t action = 0;
  std::uint32_t target = 0;  // the priority of the rule that FR_ACT_GOTO jumps to
  std::uint8_t protocol = 0;
  std::optional<IpPrefix> from;  // none: all
  std::optional<IpPrefix> to;
  bool plain = true;  // nothing but from, priority and table
  bool inverted = false;
  std::string iif;  // empty: any
  std::string oif;
  std::uint8_t tos = 0;              // 0: any
  std::optional<std::uint8_t> dscp;  // of all six bits, which `tos` does not compare in IPv4
  std::optional<std::uint32_t> mark;
  std::optional<UserRange> users;  // owners of sockets; what the kernel sends itself is user 0's
  bool of_vrfs = false;            // for the ports of VRFs, in their tables
  std::optional<std::uint32_t> suppressed_length;  // routes of this length and shorter ones are ignored
  std::uint8_t ip_protocol = 0;                    // 0: any
  std::optional<PortRange> source_ports;
  std::optional<PortRange> destination_ports;
};

struct Neighbour {
  std::uint32_t index = 0;
  IpAddress address;
  std::uint16_t state = 0;  // NUD_*
  std::vector<std::byte> hardware_address;
};

struct NetworkState {
  std::vector<Link> links;
  std::vector<InterfaceAddress> addresses;
  std::vector<NextHopObject> nexthops;
  std::vector<Route> routes;
  std::vector<Rule> rules;

  const Link* link(std::uint32_t index) const;
  const Link* link(std::string_view name) const;
};

// Decoders. A nullopt is a message of no interest (another family, a cloned route).
Result<std::optional<Link>> decode_link(netlink::Bytes payload);
Result<std::optional<InterfaceAddress>> decode_address(netlink::Bytes payload);
Result<std::optional<Route>> decode_route(netlink::Bytes payload);
Result<std::optional<NextHopObject>> decode_nexthop(netlink::Bytes payload);
Result<std::optional<Rule>> decode_rule(netlink::Bytes payload);
Result<std::optional<Neighbour>> decode_neighbour(netlink::Bytes payload);

struct Wanted {
  bool addresses = true;
  bool routes = true;
  bool rules = true;
  bool local_routes = false;  // of RT_TABLE_LOCAL, which the kernel maintains
};
// Links are always read.
Result<NetworkState> read_network(netlink::Socket& socket, const Wanted& wanted, const Call& call);
Result<std::vector<Link>> read_links(netlink::Socket& socket, const Call& call);
Result<std::vector<Neighbour>> read_neighbours(netlink::Socket& socket, const Call& call);

// Replaces each route's hops by those of its next-hop object.
void resolve_nexthops(NetworkState& state);

}  // namespace lockstep
