#include "drivers/linux/diversion/culprits.hpp"

#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

#include "drivers/linux/diversion/atoms.hpp"
#include "drivers/linux/diversion/words.hpp"
#include "drivers/linux/session.hpp"

namespace lockstep::diversion {
namespace {

// Priorities of the rules that the kernel makes (net/ipv4/fib_rules.c, fib_default_rules_init).
constexpr std::uint32_t kKernelPriorities[] = {0, 32766, 32767};

bool is_of_kernel(const Rule& rule) {
  return rule.plain && !rule.from && rule.action == FR_ACT_TO_TBL &&
         std::ranges::find(kKernelPriorities, rule.priority) != std::end(kKernelPriorities) &&
         (rule.table == RT_TABLE_LOCAL || rule.table == RT_TABLE_MAIN || rule.table == RT_TABLE_DEFAULT);
}

bool is_foreign(const Rule& rule) { return rule.protocol != kOwnProtocol && !is_of_kernel(rule); }

// By a protocol that carries out what the specs say: our own, BGP by the routing daemon, and the routes that
// the kernel makes for addresses.
bool is_foreign(const Route& route) {
  constexpr std::uint8_t kLawful[] = {kOwnProtocol, RTPROT_KERNEL, RTPROT_BGP, RTPROT_ZEBRA};
  return std::ranges::find(kLawful, route.protocol) == std::end(kLawful);
}

bool ends_packets(std::uint8_t type) {
  return type == RTN_BLACKHOLE || type == RTN_UNREACHABLE || type == RTN_PROHIBIT || type == RTN_THROW;
}

// A packet of ours has no mark, is of no user's socket and is not bound to a way out.
bool selects_others(const Rule& rule) {
  return rule.of_users || !rule.oif.empty() || rule.mark.value_or(0) != 0;
}

bool contains(const std::optional<PortRange>& range, std::uint16_t port) {
  return !range || (range->first <= port && port <= range->last);
}

// Whether the kernel would try the rule for that packet (net/core/fib_rules.c, fib_rule_match).
bool matches(const Rule& rule, const Question& question, const NetworkState& network) {
  if (rule.family != family_of(question.to)) return false;
  const Link* const in = network.link(question.arrives_on);
  const std::string_view arrives_on = in != nullptr ? std::string_view(in->name) : "lo";
  const bool all = !selects_others(rule) && (!rule.to || rule.to->contains(question.to)) &&
                   (!rule.from || (question.from && rule.from->contains(*question.from))) &&
                   (rule.iif.empty() || rule.iif == arrives_on) &&
                   (rule.tos == 0 || rule.tos == question.tos) &&
                   (rule.ip_protocol == 0 || rule.ip_protocol == question.ip_protocol) &&
                   contains(rule.source_ports, question.source_port) &&
                   contains(rule.destination_ports, question.destination_port);
  return all != rule.inverted;
}

// The first that the kernel would come to; null: none.
const Rule* first_rule(const NetworkState& network, const Question& question, auto&& wanted) {
  const Rule* first = nullptr;
  for (const Rule& rule : network.rules)
    if (is_foreign(rule) && matches(rule, question, network) && wanted(rule) &&
        (first == nullptr || rule.priority < first->priority))
      first = &rule;
  return first;
}

// Somebody who sends to this port: the address beside the port's own (RFC 3021 where it is a /31).
std::optional<IpAddress> beyond(const IpPrefix& own) {
  for (std::uint64_t n = 0; n < 3; ++n)
    if (const auto other = own.nth_address(n); other && *other != own.address && own.size() > n) {
      if (own.size() > 2 && n == 0) continue;  // the network's own
      return other;
    }
  return std::nullopt;
}

bool is_up(const Ground& ground, std::uint32_t index) {
  const Link* const link = ground.network.link(index);
  return link != nullptr && ground.ports.contains(index) && link->admin_up && link->carrier;
}

struct Arrival {
  std::uint32_t port = 0;
  IpAddress from;
};

// How packets of the pool arrive on each port, by an address of the pool that the kernel takes from there
// under a strict reverse path filter, too.
std::vector<Arrival> arrivals(const Ground& ground, const IpPrefix& pool) {
  std::vector<Arrival> out;
  const auto known = [&](std::uint32_t port) {
    return std::ranges::find(out, port, &Arrival::port) != out.end();
  };
  for (const InterfaceAddress& one : ground.network.addresses) {
    if (!is_up(ground, one.index) || !pool.contains(one.prefix.address) || known(one.index)) continue;
    if (const auto from = beyond(one.prefix)) out.push_back({one.index, *from});
  }
  for (const Route& route : ground.network.routes) {
    if (route.table != RT_TABLE_MAIN || route.protocol != RTPROT_BGP || !pool.contains(route.destination))
      continue;
    for (const NextHop& hop : route.hops)
      if (is_up(ground, hop.index) && !known(hop.index))
        if (const auto from = route.destination.nth_address(route.destination.size() > 2 ? 1 : 0))
          out.push_back({hop.index, *from});
  }
  return out;
}

std::vector<IpAddress> atoms(const NetworkState& network, const IpPrefix& pool) {
  std::vector<IpPrefix> cuts;
  for (const Route& one : network.routes) cuts.push_back(one.destination);
  for (const Rule& one : network.rules)
    if (one.to) cuts.push_back(*one.to);
  return atoms_of(pool, std::move(cuts));
}

// The question as a foreign rule's selectors would have it; none: no packet of ours is like that.
std::optional<Asked> under(const Rule& rule, Asked asked, const IpPrefix& pool) {
  Question& question = asked.question;
  const bool any_source = !rule.from || rule.inverted;
  if (!any_source && !(question.from && rule.from->contains(*question.from))) {
    if (question.arrives_on == 0 || !rule.from->overlaps(pool)) return std::nullopt;
    const IpPrefix& inner = rule.from->length > pool.length ? *rule.from : pool;
    question.from = inner.size() > 2 ? inner.nth_address(1) : inner.address;
    asked.made_up = true;
  }
  question.ip_protocol = rule.ip_protocol;
  question.tos = rule.tos;
  question.source_port = rule.source_ports ? rule.source_ports->first : 0;
  question.destination_port = rule.destination_ports ? rule.destination_ports->first : 0;
  return asked;
}

// Each question as it is, and as each rule that others made could tell it from the rest.
std::vector<Asked> with_rules(const Ground& ground, const IpPrefix& pool, const std::vector<Asked>& plain,
                              const std::vector<Arrival>& ways_in) {
  std::vector<Asked> out = plain;
  for (const Rule& rule : ground.network.rules) {
    if (rule.family != family_of(pool.address) || !is_foreign(rule)) continue;
    if (selects_others(rule) && !rule.inverted) continue;
    for (Asked asked : plain) {
      const Link* const in = rule.iif.empty() ? nullptr : ground.network.link(rule.iif);
      const bool sent = asked.question.arrives_on == 0;
      if (rule.to && !rule.inverted && !rule.to->contains(asked.question.to)) continue;
      if (!rule.iif.empty() && (sent ? rule.iif != "lo" : in == nullptr)) continue;
      if (in != nullptr && !sent) {
        const auto way = std::ranges::find(ways_in, in->index, &Arrival::port);
        if (way == ways_in.end()) continue;
        asked.question.arrives_on = way->port;
        asked.question.from = way->from;
      }
      const Question before = asked.question;
      const auto one = under(rule, std::move(asked), pool);
      if (one && (one->question != before || in != nullptr)) out.push_back(*one);
    }
  }
  return out;
}

// The route as the dump has it, with the hops behind its next-hop object.
Route resolved(const Route& route, const NetworkState& network) {
  for (const Route& one : network.routes)
    if (one.destination == route.destination && one.table == route.table && one.metric == route.metric &&
        one.type == route.type && one.protocol == route.protocol)
      return one;
  return route;
}

bool leaves_only_by(const Route& route, auto&& right) {
  return !route.hops.empty() &&
         std::ranges::all_of(route.hops, [&](const NextHop& hop) { return right(hop.index); });
}

// What the specs' own routes do. The hops of BGP's are fib[...]'s matter.
bool is_as_wanted(const Ground& ground, const Asked& asked, const Route& route) {
  if (is_foreign(route)) return false;
  if (route.table == RT_TABLE_LOCAL) return true;  // an address: stray_addresses()
  if (ends_packets(route.type)) return true;       // BGP's own discard route of an aggregate
  if (asked.leaves_by != 0)
    return leaves_only_by(route, [&](std::uint32_t index) { return index == asked.leaves_by; });
  if (route.table != RT_TABLE_MAIN) return false;
  return route.protocol != RTPROT_KERNEL ||
         leaves_only_by(route, [&](std::uint32_t index) { return ground.ports.contains(index); });
}

// Whether the specs' own routes lead somewhere from there. Where they don't, what a wider route of others
// does (the way to the management network) diverts nothing.
bool is_owned(const Ground& ground, const Asked& asked, const IpPrefix& pool) {
  return asked.leaves_by != 0 || std::ranges::any_of(ground.network.routes, [&](const Route& one) {
           return one.table == RT_TABLE_MAIN && !is_foreign(one) && pool.contains(one.destination) &&
                  one.destination.contains(asked.question.to);
         });
}

std::string culprit_of_error(const Ground& ground, const Asked& asked, const IpPrefix& pool, int code) {
  const NetworkState& network = ground.network;
  const Rule* const rule = first_rule(network, asked.question, [](const Rule& one) {
    return one.action == FR_ACT_BLACKHOLE || one.action == FR_ACT_UNREACHABLE ||
           one.action == FR_ACT_PROHIBIT;
  });
  const bool owned = is_owned(ground, asked, pool);
  if (rule != nullptr && owned) return text_of(*rule);
  const Route* nearest = nullptr;
  for (const Route& route : network.routes)
    if (is_foreign(route) && ends_packets(route.type) && route.destination.contains(asked.question.to) &&
        (owned || pool.contains(route.destination)) &&
        (nearest == nullptr || route.destination.length > nearest->destination.length))
      nearest = &route;
  if (nearest != nullptr) return text_of(*nearest, network);
  if (code != EXDEV || asked.made_up) return "";
  const Link* const port = network.link(asked.question.arrives_on);
  return port == nullptr ? "" : "the reverse path filter of " + port->name + " (rp_filter)";
}

std::string culprit_of_route(const Ground& ground, const Asked& asked, const IpPrefix& pool,
                             const Route& route) {
  const NetworkState& network = ground.network;
  const bool inside = pool.contains(route.destination);
  if (!inside && !is_owned(ground, asked, pool)) return "";
  if (is_foreign(route) && route.table == RT_TABLE_MAIN) return text_of(route, network);
  const Rule* const rule = first_rule(network, asked.question, [&](const Rule& one) {
    return one.action == FR_ACT_TO_TBL && one.table == route.table;
  });
  const bool stray = route.protocol == RTPROT_KERNEL && route.table == RT_TABLE_MAIN;
  if (rule == nullptr) return is_foreign(route) || stray ? text_of(route, network) : "";
  return text_of(*rule) + (is_foreign(route) ? " (" + text_of(route, network) + ")" : "");
}

}  // namespace

std::vector<Asked> transit_questions(const Ground& ground, const IpPrefix& pool) {
  const std::vector<Arrival> ways_in = arrivals(ground, pool);
  if (ways_in.empty()) return {};  // nothing arrives
  std::vector<Asked> plain;
  for (const IpAddress& to : atoms(ground.network, pool)) {
    // What came from a port never goes back to its sender's own address there.
    const auto way = std::ranges::find_if(ways_in, [&](const Arrival& one) { return one.from != to; });
    if (way == ways_in.end()) continue;
    plain.push_back({{.to = to, .from = way->from, .arrives_on = way->port}});
  }
  return with_rules(ground, pool, plain, ways_in);
}

std::vector<Asked> sent_questions(const Ground& ground, const IpPrefix& pool) {
  std::vector<Asked> plain;
  for (const IpAddress& to : atoms(ground.network, pool)) plain.push_back({{.to = to, .from = {}}});
  for (const InterfaceAddress& own : ground.network.addresses) {
    if (!is_up(ground, own.index) || !pool.contains(own.prefix.address)) continue;
    for (const IpAddress& to : atoms(ground.network, pool))
      plain.push_back({{.to = to, .from = own.prefix.address}, own.index});
  }
  return with_rules(ground, pool, plain, {});
}

std::vector<std::string> culprits(const Ground& ground, const IpPrefix& pool, const std::vector<Asked>& asked,
                                  const std::vector<Found>& found) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < asked.size() && i < found.size(); ++i) {
    std::string culprit;
    if (found[i].route) {
      const Route route = resolved(*found[i].route, ground.network);
      if (!is_as_wanted(ground, asked[i], route)) culprit = culprit_of_route(ground, asked[i], pool, route);
    } else if (found[i].code != 0) {
      culprit = culprit_of_error(ground, asked[i], pool, found[i].code);
    }
    if (!culprit.empty()) out.insert(std::move(culprit));
  }
  return {out.begin(), out.end()};
}

std::vector<std::string> stray_addresses(const Ground& ground, const IpPrefix& pool) {
  std::vector<std::string> out;
  for (const InterfaceAddress& one : ground.network.addresses) {
    const Link* const link = ground.network.link(one.index);
    if (link == nullptr || link->loopback || ground.ports.contains(one.index)) continue;
    if (pool.contains(one.prefix.address))
      out.push_back("address " + one.prefix.text() + " on " + link->name);
  }
  return out;
}

std::vector<std::string> fixed_neighbours(const Ground& ground, const IpPrefix& pool) {
  std::vector<std::string> out;
  for (const Neighbour& one : ground.neighbours)
    if ((one.state & NUD_PERMANENT) != 0 && ground.ports.contains(one.index) && pool.contains(one.address))
      out.push_back(one.address.text() + " at " + hardware_address_text(one.hardware_address) + " on " +
                    ground.network.link(one.index)->name);
  return out;
}

std::vector<Route> static_routes(const NetworkState& network, const IpPrefix& pool) {
  std::vector<Route> out;
  for (const Route& one : network.routes)
    if (one.table == RT_TABLE_MAIN && pool.contains(one.destination) &&
        (one.protocol == RTPROT_BOOT || one.protocol == RTPROT_STATIC))
      out.push_back(one);
  return out;
}

}  // namespace lockstep::diversion
