#include "drivers/linux/diversion/ground.hpp"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

#include "drivers/linux/session.hpp"

namespace lockstep::diversion {
namespace {

struct FirstRule {
  std::uint8_t family;
  std::uint32_t priority;
  std::uint32_t table;
};
// net/ipv4/fib_rules.c, fib_default_rules_init; net/ipv6/fib6_rules.c, fib6_rules_net_init.
constexpr FirstRule kFirstRules[] = {
    {AF_INET, 0, RT_TABLE_LOCAL},  {AF_INET, 32766, RT_TABLE_MAIN},  {AF_INET, 32767, RT_TABLE_DEFAULT},
    {AF_INET6, 0, RT_TABLE_LOCAL}, {AF_INET6, 32766, RT_TABLE_MAIN},
};

bool is(const Rule& rule, const FirstRule& first) {
  return rule.family == first.family && rule.priority == first.priority && rule.table == first.table &&
         rule.protocol == RTPROT_KERNEL && rule.action == FR_ACT_TO_TBL && rule.plain && !rule.from;
}

bool is_first(const Rule& rule) {
  return std::ranges::any_of(kFirstRules, [&](const FirstRule& one) { return is(rule, one); });
}

std::vector<const Route*> all_of(const std::vector<Route>& routes) {
  std::vector<const Route*> out;
  for (const Route& one : routes) out.push_back(&one);
  return out;
}

}  // namespace

bool is_of_daemon(const Route& route) {
  return route.protocol == RTPROT_BGP || route.protocol == RTPROT_ZEBRA;
}

IpPrefix alone(const IpAddress& address) { return {address, static_cast<std::uint8_t>(address.width())}; }

Leaving leaving_by(const NextHop& hop) { return {hop.index, hop.gateway, hop.encapsulation}; }

bool is_foreign(const Rule& rule) { return rule.protocol != kOwnProtocol && !is_first(rule); }

Ground::Ground(NetworkState read, std::vector<Neighbour> known, std::set<std::uint32_t> desired,
               const std::set<IpPrefix>& prefixes)
    : network(std::move(read)),
      neighbours(std::move(known)),
      ports(std::move(desired)),
      routed(routes_to(prefixes)),
      gone(local_routes_gone()),
      all(network, network.rules, all_of(network.routes)),
      lawful(network, lawful_rules(), lawful_routes()) {}

std::vector<Rule> Ground::lawful_rules() const {
  std::vector<Rule> out;
  for (const FirstRule& one : kFirstRules) {
    Rule& rule = out.emplace_back();
    rule.family = one.family;
    rule.priority = one.priority;
    rule.table = one.table;
    rule.action = FR_ACT_TO_TBL;
    rule.protocol = RTPROT_KERNEL;
  }
  for (const Rule& one : network.rules)
    if (one.protocol == kOwnProtocol) out.push_back(one);
  std::ranges::stable_sort(out, {}, &Rule::priority);
  return out;
}

std::vector<const Route*> Ground::lawful_routes() const {
  std::vector<const Route*> out;
  for (const Route& one : network.routes)
    if (!is_foreign(one)) out.push_back(&one);
  for (const Route& one : gone) out.push_back(&one);
  return out;
}

// The kernel creates one with an address, and keeps it while the port is up; for IPv6 after duplicate address
// detection (net/ipv4/fib_frontend.c, fib_add_ifaddr; net/ipv6/addrconf.c). For a VRF's port it is in the
// VRF's table.
std::vector<Route> Ground::local_routes_gone() const {
  std::set<IpPrefix> there;
  for (const Route& one : network.routes)
    if (one.table == RT_TABLE_LOCAL && one.type == RTN_LOCAL) there.insert(one.destination);
  std::vector<Route> out;
  for (const InterfaceAddress& one : network.addresses) {
    const Link* const link = network.link(one.index);
    if (link == nullptr || link->master || one.tentative || one.failed) continue;
    if (!link->loopback && (!link->admin_up || !ports.contains(one.index))) continue;
    const IpPrefix own = alone(one.prefix.address);
    if (there.contains(own)) continue;
    Route& made = out.emplace_back();
    made.destination = own;
    made.table = RT_TABLE_LOCAL;
    made.protocol = RTPROT_KERNEL;
    made.type = RTN_LOCAL;
    made.hops.emplace_back().index = one.index;
  }
  return out;
}

bool Ground::is_foreign(const Route& route) const {
  switch (route.protocol) {
    case kOwnProtocol: return false;
    case RTPROT_KERNEL: return !is_implied(route);
    case RTPROT_BGP:
    case RTPROT_ZEBRA: return ends_packets(route.type) ? !is_of_an_aggregate(route) : !leads_as_wanted(route);
    default: return true;
  }
}

// An address implies its network in the main table (in the local one on a loopback, RFC 1122), and in the
// local table the address itself, IPv4's broadcasts and IPv6's anycast address of the network (RFC 4291
// 2.6.1).
bool Ground::is_implied(const Route& route) const {
  const IpPrefix& to = route.destination;
  return std::ranges::any_of(network.addresses, [&](const InterfaceAddress& one) {
    if (route.hops.size() != 1 || route.hops.front().index != one.index) return false;
    const Link* const link = network.link(one.index);
    if (link == nullptr || (!link->loopback && !ports.contains(one.index))) return false;
    if (to == one.prefix.network()) return true;
    return route.table == RT_TABLE_LOCAL && to.length == to.address.width() &&
           (to.address == one.prefix.address || to.address == one.prefix.network().address ||
            to.address == one.prefix.last());
  });
}

// A daemon drops traffic to a summary that it announces if it has no narrower route, and announces one only
// if something is inside (RFC 4271 9.2.2.2): a route or, until it notices that the port is gone, a port's
// network.
bool Ground::is_of_an_aggregate(const Route& route) const {
  if (route.type != RTN_BLACKHOLE && route.type != RTN_UNREACHABLE) return false;
  const auto is_inside = [&](const IpPrefix& one) {
    return one.length > route.destination.length && route.destination.contains(one);
  };
  return std::ranges::any_of(network.routes,
                             [&](const Route& one) {
                               return one.table == route.table && one.type == RTN_UNICAST &&
                                      is_inside(one.destination) && !is_foreign(one);
                             }) ||
         std::ranges::any_of(network.addresses, [&](const InterfaceAddress& one) {
           return ports.contains(one.index) && is_inside(one.prefix);
         });
}

std::map<IpPrefix, const Route*> Ground::routes_to(const std::set<IpPrefix>& wanted) const {
  std::map<IpPrefix, const Route*> out;
  for (const IpPrefix& one : wanted) out.emplace(one, nullptr);
  for (const Route& one : network.routes)
    if (const auto found = out.find(one.destination);
        found != out.end() && one.table == RT_TABLE_MAIN && one.type == RTN_UNICAST && is_of_daemon(one) &&
        (found->second == nullptr || one.metric < found->second->metric))
      found->second = &one;
  return out;
}

// The daemon has no routes in other tables or for a TOS, and inside a route that specs want it learns
// narrower ones on the same paths only (until a neighbour aggregates them).
bool Ground::leads_as_wanted(const Route& route) const {
  if (route.table != RT_TABLE_MAIN || route.type != RTN_UNICAST || route.tos != 0) return false;
  auto around = routed.end();
  for (int length = route.destination.length; length >= 0 && around == routed.end(); --length)
    around = routed.find(IpPrefix{route.destination.address, static_cast<std::uint8_t>(length)}.network());
  if (around == routed.end() || around->first == route.destination || around->second == nullptr) return true;
  return std::ranges::all_of(route.hops, [&](const NextHop& hop) {
    return std::ranges::find(around->second->hops, leaving_by(hop), leaving_by) != around->second->hops.end();
  });
}

bool Ground::is_local(const IpAddress& address) const {
  return std::ranges::any_of(network.addresses,
                             [&](const InterfaceAddress& one) { return one.prefix.address == address; });
}

bool Ground::is_up(std::uint32_t port) const {
  const Link* const link = network.link(port);
  return link != nullptr && ports.contains(port) && link->admin_up && link->carrier;
}

bool Ground::is_missing(const Rule& rule) const {
  return is_first(rule) && std::ranges::none_of(network.rules, [&](const Rule& one) {
           return is_first(one) && one.family == rule.family && one.priority == rule.priority;
         });
}

bool Ground::is_missing(const Route& route) const {
  return std::ranges::any_of(gone, [&](const Route& one) { return &one == &route; });
}

}  // namespace lockstep::diversion
