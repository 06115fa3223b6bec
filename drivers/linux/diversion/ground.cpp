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

bool is_foreign(const Rule& rule) { return rule.protocol != kOwnProtocol && !is_first(rule); }

Ground::Ground(NetworkState read, std::vector<Neighbour> neighbours, std::set<std::uint32_t> ports)
    : network(std::move(read)),
      neighbours(std::move(neighbours)),
      ports(std::move(ports)),
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
  return out;
}

bool Ground::is_foreign(const Route& route) const {
  switch (route.protocol) {
    case kOwnProtocol: return false;
    case RTPROT_KERNEL: return !is_implied(route);
    case RTPROT_BGP:
    case RTPROT_ZEBRA: return ends_packets(route.type) && !is_of_an_aggregate(route);
    default: return true;
  }
}

// An address has its network in the main table (in the local one on a loopback, RFC 1122's), and in the local
// one itself, IPv4's broadcasts and IPv6's anycast of the network (RFC 4291 2.6.1).
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

// A daemon drops what it announces a summary for and has no narrower route to, and announces one only of
// something inside (RFC 4271 9.2.2.2): a route or, until it sees that one went with a port, a port's network.
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

}  // namespace lockstep::diversion
