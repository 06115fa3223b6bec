#include "drivers/linux/session.hpp"

#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <tuple>

#include "drivers/linux/ecn_marker.hpp"
#include "drivers/linux/route_extras.hpp"
#include "drivers/linux/route_mtu.hpp"

namespace lockstep {
namespace {

using netlink::Answer;
using netlink::Bytes;
using netlink::Request;

constexpr std::uint16_t kAcknowledge = NLM_F_ACK;

Bytes view(const std::vector<std::byte>& bytes) { return bytes; }

Request address_request(std::uint16_t type, std::uint16_t flags, std::uint32_t index,
                        const IpPrefix& prefix) {
  Request request(type, flags);
  ifaddrmsg header{};
  header.ifa_family = family_of(prefix.address);
  header.ifa_prefixlen = prefix.length;
  header.ifa_index = index;
  const auto raw = bytes_of(prefix.address);
  request.header(header).put(IFA_LOCAL, view(raw)).put(IFA_ADDRESS, view(raw));
  return request;
}

rtmsg route_header(std::uint32_t table, const IpPrefix& destination) {
  rtmsg header{};
  header.rtm_family = family_of(destination.address);
  header.rtm_dst_len = destination.length;
  header.rtm_table = static_cast<unsigned char>(table < 256 ? table : 0U);  // RTA_TABLE holds larger ones
  header.rtm_protocol = kOwnProtocol;
  return header;
}

void put_destination(Request& request, std::uint32_t table, const IpPrefix& destination) {
  if (destination.length > 0) request.put(RTA_DST, view(bytes_of(destination.address)));
  request.put_number(RTA_TABLE, table);
}

void put_gateway(Request& request, const IpAddress& via, std::uint8_t route_family) {
  const auto raw = bytes_of(via);
  if (family_of(via) == route_family) {
    request.put(RTA_GATEWAY, view(raw));
    return;
  }
  // RFC 5549: the gateway is of the other family (struct rtvia: family, address).
  std::vector<std::byte> tagged(sizeof(std::uint16_t));
  const std::uint16_t family = family_of(via);
  std::memcpy(tagged.data(), &family, sizeof(family));
  tagged.insert(tagged.end(), raw.begin(), raw.end());
  request.put(RTA_VIA, tagged);
}

Request rule_request(std::uint16_t type, std::uint16_t flags, std::uint32_t priority,
                     const Session::RuleWanted& rule) {
  Request request(type, flags);
  fib_rule_hdr header{};
  header.family = family_of(rule.from.address);
  header.src_len = rule.from.length;
  header.table =
      static_cast<std::uint8_t>(rule.table < 256 ? rule.table : 0U);  // FRA_TABLE holds larger ones
  header.action = FR_ACT_TO_TBL;
  request.header(header);
  if (rule.from.length > 0) request.put(FRA_SRC, view(bytes_of(rule.from.address)));
  request.put_number(FRA_PRIORITY, priority).put_number(FRA_TABLE, rule.table);
  request.put_number(FRA_PROTOCOL, kOwnProtocol);
  return request;
}

void put_metrics(Request& request, const Route& wanted) {
  if (wanted.mtu == 0 && wanted.metrics.empty()) return;
  const std::size_t nest = request.open_nest(RTA_METRICS);
  std::uint32_t locks = wanted.mtu_locked ? std::uint32_t{1} << RTAX_MTU : 0;
  for (const RouteMetric& one : wanted.metrics) locks |= one.locked ? std::uint32_t{1} << one.type : 0;
  if (locks != 0) request.put_number(RTAX_LOCK, locks);
  if (wanted.mtu != 0) request.put_number(RTAX_MTU, wanted.mtu);
  for (const RouteMetric& one : wanted.metrics) {
    if (one.type == RTAX_CC_ALGO)
      request.put_text(one.type, one.text);
    else
      request.put_number(one.type, one.number);
  }
  request.close_nest(nest);
}

std::uint8_t on_link(const NextHop& hop) { return hop.flags & RTNH_F_ONLINK; }

Request route_request(const Route& wanted, std::uint16_t type, std::uint16_t flags) {
  const std::uint8_t family = family_of(wanted.destination.address);
  Request request(type, flags);
  rtmsg header = route_header(wanted.table, wanted.destination);
  header.rtm_type = wanted.type;
  header.rtm_tos = wanted.tos;
  header.rtm_scope = std::uint8_t{RT_SCOPE_UNIVERSE};
  if (type == RTM_DELROUTE)
    header.rtm_scope = RT_SCOPE_NOWHERE;  // any scope (fib_table_delete)
  else if (!wanted.hops.front().gateway && !wanted.destination.address.v6)
    header.rtm_scope = std::uint8_t{RT_SCOPE_LINK};
  if (wanted.hops.size() == 1) header.rtm_flags = on_link(wanted.hops.front());
  request.header(header);
  put_destination(request, wanted.table, wanted.destination);
  if (wanted.metric != 0) request.put_number(RTA_PRIORITY, wanted.metric);
  if (type == RTM_DELROUTE && wanted.nexthop_id != 0) {
    request.put_number(RTA_NH_ID, wanted.nexthop_id);  // with next hops it matches nothing (fib_nh_match)
  } else if (wanted.hops.size() == 1) {
    const NextHop& hop = wanted.hops.front();
    if (hop.gateway) put_gateway(request, *hop.gateway, family);
    request.put_number(RTA_OIF, hop.index);
  } else if (!wanted.hops.empty()) {
    const std::size_t nest = request.open_nest(RTA_MULTIPATH);
    for (const NextHop& one : wanted.hops) {
      const std::size_t hop = request.open_hop(one.index, one.weight, on_link(one));
      if (one.gateway) put_gateway(request, *one.gateway, family);
      request.close_nest(hop);
    }
    request.close_nest(nest);
  }
  if (wanted.source) request.put(RTA_PREFSRC, view(bytes_of(*wanted.source)));
  put_metrics(request, wanted);
  return request;
}

// If these differ, the kernel has another route beside it.
bool is_as_we_add(const Route& one) { return one.tos == 0 && one.metric == usual_metric(one.destination); }

std::string route_name(std::uint32_t table, const IpPrefix& destination) {
  return "route " + destination.text() + " table " + std::to_string(table);
}

}  // namespace

Result<Session> Session::open(const Call& call) {
  TRY(auto socket, netlink::Socket::open(NETLINK_ROUTE));
  Session out(std::move(socket), call);
  TRY(out.links_, read_links(out.socket_, call));
  return out;
}

Result<Done> Session::acknowledged(Request& request, std::string_view what, int harmless) {
  TRY(const Answer answer, socket_.change(request, call_));
  if (answer.code != 0 && answer.code != harmless) return to_error(answer, what);
  return Done{};
}

Result<std::uint32_t> Session::index_of(std::string_view port) {
  for (const Link& one : links_)
    if (one.name == port) return one.index;
  return Error{ErrorKind::refused, "no interface is called '" + std::string(port) + "' here"};
}

Result<Done> Session::set_admin(std::string_view port, bool up) {
  TRY(const std::uint32_t index, index_of(port));
  Request request(RTM_NEWLINK, kAcknowledge);
  ifinfomsg header{};
  header.ifi_index = static_cast<int>(index);
  header.ifi_change = IFF_UP;
  if (up) header.ifi_flags = IFF_UP;
  request.header(header);
  return acknowledged(request, std::string(port) + (up ? " up" : " down"), 0);
}

Result<Done> Session::set_mtu(std::string_view port, std::uint32_t mtu) {
  TRY(const std::uint32_t index, index_of(port));
  Request request(RTM_NEWLINK, kAcknowledge);
  ifinfomsg header{};
  header.ifi_index = static_cast<int>(index);
  request.header(header).put_number(IFLA_MTU, mtu);
  return acknowledged(request, std::string(port) + " mtu " + std::to_string(mtu), 0);
}

Result<Done> Session::add_address(std::string_view port, const IpPrefix& prefix) {
  TRY(const std::uint32_t index, index_of(port));
  Request request = address_request(RTM_NEWADDR, kAcknowledge | NLM_F_CREATE | NLM_F_EXCL, index, prefix);
  return acknowledged(request, std::string(port) + " address " + prefix.text(), EEXIST);
}

Result<Done> Session::remove_address(std::string_view port, const IpPrefix& prefix) {
  TRY(const std::uint32_t index, index_of(port));
  Request request = address_request(RTM_DELADDR, kAcknowledge, index, prefix);
  return acknowledged(request, std::string(port) + " address " + prefix.text(), EADDRNOTAVAIL);
}

// Like fib_add_ifaddr (net/ipv4/fib_frontend.c) and addrconf_prefix_route (net/ipv6/addrconf.c).
Result<Done> Session::add_connected_route(std::string_view port, const IpPrefix& address) {
  constexpr std::uint32_t kIpv6Metric = 256;  // IP6_RT_PRIO_ADDRCONF
  TRY(const std::uint32_t index, index_of(port));
  const IpPrefix network = address.network();
  Request request(RTM_NEWROUTE, kAcknowledge | NLM_F_CREATE | NLM_F_EXCL);
  rtmsg header = route_header(RT_TABLE_MAIN, network);
  header.rtm_protocol = RTPROT_KERNEL;
  header.rtm_type = RTN_UNICAST;
  header.rtm_scope = address.address.v6 ? std::uint8_t{RT_SCOPE_UNIVERSE} : std::uint8_t{RT_SCOPE_LINK};
  request.header(header);
  put_destination(request, RT_TABLE_MAIN, network);
  request.put_number(RTA_OIF, index);
  if (address.address.v6)
    request.put_number(RTA_PRIORITY, kIpv6Metric);
  else
    request.put(RTA_PREFSRC, view(bytes_of(address.address)));
  return acknowledged(request, route_name(RT_TABLE_MAIN, network), EEXIST);
}

Result<std::vector<Route>> Session::routes_to(std::uint32_t table, const IpPrefix& destination) {
  Wanted routes_only{.addresses = false, .routes = true, .rules = false};
  TRY(NetworkState now, read_network(socket_, routes_only, call_));
  std::erase_if(now.routes,
                [&](const Route& one) { return one.table != table || one.destination != destination; });
  return std::move(now.routes);
}

Result<Done> Session::set_route(std::uint32_t table, const IpPrefix& destination,
                                const std::vector<Hop>& hops) {
  if (hops.empty()) return Error{ErrorKind::invalid_spec, route_name(table, destination) + ": no next hop"};
  if (!destination.is_network())
    return Error{ErrorKind::invalid_spec, destination.text() + " has bits beyond its length"};
  Route wanted;
  wanted.type = RTN_UNICAST;
  wanted.destination = destination;
  wanted.table = table;
  for (const Hop& hop : hops) {
    TRY(const std::uint32_t index, index_of(hop.port));
    wanted.hops.push_back({.index = index, .gateway = hop.via});
  }
  TRY(std::vector<Route> surplus, routes_to(table, destination));
  // The kernel replaces the first route with the same TOS and metric, whoever made it, unless another is
  // identical: a foreign one is left and reported.
  const auto first = std::ranges::find_if(surplus, is_as_we_add);
  if (first != surplus.end() && first->protocol != kOwnProtocol)
    return Error{ErrorKind::refused, route_name(table, destination) + ": a route of another's (proto " +
                                         std::to_string(first->protocol) + ") is there"};
  const bool is_there = first != surplus.end();
  if (is_there) {
    wanted.mtu = first->mtu;
    wanted.mtu_locked = first->mtu_locked;
    surplus.erase(first);
  }
  // In this order, so that one of the routes always exists.
  if (is_there) TRY_DONE(remove_own(surplus));
  const int flag = is_there ? NLM_F_REPLACE : NLM_F_EXCL;
  Request request =
      route_request(wanted, RTM_NEWROUTE, static_cast<std::uint16_t>(kAcknowledge | NLM_F_CREATE | flag));
  TRY_DONE(acknowledged(request, route_name(table, destination), 0));
  return is_there ? Result<Done>(Done{}) : remove_own(surplus);
}

// The kernel looks up a gateway like a packet's destination, and refuses the route if a foreign rule
// redirects that (fib_check_nh). With the on-link flag it skips the lookup.
Result<Done> Session::replace_route(Route wanted) {
  const auto write = [&](std::uint8_t flags) {
    for (NextHop& hop : wanted.hops) hop.flags = hop.gateway ? flags : std::uint8_t{0};
    Request request = route_request(wanted, RTM_NEWROUTE, kAcknowledge | NLM_F_REPLACE);
    return acknowledged(request, route_name(wanted.table, wanted.destination), 0);
  };
  Result<Done> done = write(0);
  if (done || done.error().kind == ErrorKind::unknown_outcome) return done;
  Result<Done> again = write(RTNH_F_ONLINK);
  return again || again.error().kind == ErrorKind::unknown_outcome ? again : done;
}

Result<Done> Session::lock_routes(const IpPrefix& pool, std::optional<std::uint32_t> mtu) {
  Wanted routes_and_rules{.addresses = false, .routes = true, .rules = true};
  TRY(const NetworkState now, read_network(socket_, routes_and_rules, call_));
  std::vector<const Route*> changed;
  // Of routes with the same TOS and metric only the first forwards packets, and is the one that is replaced.
  std::map<std::tuple<std::uint32_t, IpPrefix, std::uint8_t, std::uint32_t>, const Route*> first;
  for (const Route& one : now.routes)
    first.try_emplace({one.table, one.destination, one.tos, one.metric}, &one);
  for (const Route* const one : own_routes_to(pool, now)) {
    if (first.at({one->table, one->destination, one->tos, one->metric}) != one) continue;
    Route wanted = *one;
    wanted.mtu = mtu.value_or(0);
    wanted.mtu_locked = mtu.has_value();
    if (wanted.mtu == one->mtu && wanted.mtu_locked == one->mtu_locked) continue;
    if (Result<Done> done = replace_route(wanted); !done) {
      if (done.error().kind == ErrorKind::unknown_outcome) return done;  // the socket can't be used any more
      for (const Route* const before : changed) (void)replace_route(*before);
      return done;
    }
    changed.push_back(one);
  }
  return Done{};
}

Result<Done> Session::remove_own(const std::vector<Route>& routes) {
  for (const Route& one : routes) {
    if (one.protocol != kOwnProtocol) continue;
    Request request = route_request(one, RTM_DELROUTE, kAcknowledge);
    TRY_DONE(acknowledged(request, route_name(one.table, one.destination), ESRCH));
  }
  return Done{};
}

Result<Done> Session::remove_route(std::uint32_t table, const IpPrefix& destination) {
  TRY(const std::vector<Route> all, routes_to(table, destination));
  return remove_own(all);
}

Result<Done> Session::set_rule(std::uint32_t priority, const std::optional<RuleWanted>& wanted) {
  const std::string what = "rule " + std::to_string(priority);
  Wanted rules_only{.addresses = false, .routes = false, .rules = true};
  TRY(const NetworkState now, read_network(socket_, rules_only, call_));
  bool there = false;
  std::vector<RuleWanted> surplus;
  for (const Rule& one : now.rules) {
    if (one.protocol != kOwnProtocol || one.priority != priority) continue;
    const RuleWanted rule{one.from.value_or(everything(one.family)), one.table};
    if (wanted && rule.from == wanted->from && rule.table == wanted->table && one.plain)
      there = true;
    else
      surplus.push_back(rule);
  }
  // The new one first, so that one of the rules always exists.
  if (wanted && !there) {
    Request request = rule_request(RTM_NEWRULE, kAcknowledge | NLM_F_CREATE | NLM_F_EXCL, priority, *wanted);
    TRY_DONE(acknowledged(request, what, EEXIST));
  }
  for (const RuleWanted& one : surplus) {
    Request request = rule_request(RTM_DELRULE, kAcknowledge, priority, one);
    TRY_DONE(acknowledged(request, what, ENOENT));
  }
  return Done{};
}

Result<PortQueueing> Session::queueing(std::uint32_t index) {
  TRY(const auto qdiscs, read_qdiscs(socket_, call_));
  return read_queueing(socket_, index, qdiscs, call_);
}

Result<PortScheduler> Session::scheduler(std::string_view port) {
  TRY(const std::uint32_t index, index_of(port));
  TRY(const PortQueueing have, queueing(index));
  return scheduler_of(have);
}

// What HTB divides if the port has no rate of its own.
Result<std::uint64_t> Session::port_speed(std::uint32_t index) {
  if (!ethtool_) {
    TRY(ethtool_, Ethtool::open(call_));
  }
  TRY(const Ethtool::Read link, ethtool_->read(ethtool::Kind::link, index, call_));
  const auto speed = link.facts ? std::get<ethtool::LinkModes>(*link.facts).speed : std::nullopt;
  if (!speed)
    return Error{ErrorKind::refused, "traffic classes need a rate: this port does not tell its speed"};
  return std::uint64_t{*speed} * 1'000'000;
}

Result<Done> Session::set_ecn_threshold(std::string_view port, std::optional<std::uint64_t> threshold) {
  TRY(const std::uint32_t index, index_of(port));
  TRY(const auto qdiscs, read_qdiscs(socket_, call_));
  const bool clsact = std::any_of(qdiscs.begin(), qdiscs.end(), [&](const Qdisc& one) {
    return one.index == index && one.kind == "clsact";
  });
  const std::string what = std::string(port) + " ECN marker";
  std::optional<std::uint64_t> now;
  if (clsact) {
    TRY(const auto markers, read_markers(socket_, index, call_));
    if (!markers.empty()) now = markers.front().threshold;
  }
  if (now == threshold) return Done{};
  if (!threshold) {
    Request request = delete_marker_request(index);
    return acknowledged(request, what, ENOENT);
  }
  TRY(const Descriptor program, load_ecn_marker(*threshold));
  if (!clsact) {
    Request request = bare_qdisc_request(index, TC_H_MAKE(TC_H_CLSACT, 0), "clsact");
    TRY_DONE(acknowledged(request, what, EEXIST));
  }
  Request request = marker_request(EcnMarker{index, *threshold}, program.number());
  return acknowledged(request, what, 0);
}

Result<Done> Session::set_scheduler(std::string_view port, const PortScheduler& wanted, Carrier carrier,
                                    unsigned tx_queues) {
  TRY(const std::uint32_t index, index_of(port));
  SchedulerPlace place{.index = index, .carrier = carrier, .tx_queues = tx_queues};
  TRY_DONE(check(wanted, place));
  TRY(const PortQueueing have, queueing(index));
  if (carrier == Carrier::htb && !wanted.classes.empty() && !wanted.rate) {
    TRY(place.speed, port_speed(index));
  }
  auto requests = requests_for(place, have, wanted);
  std::vector<Answer> answers;
  TRY_DONE(socket_.change_all(requests, call_, answers));
  for (const Answer& answer : answers)
    if (answer.code != 0) return to_error(answer, std::string(port) + " egress scheduler");
  return Done{};
}

}  // namespace lockstep
