#include "drivers/linux/diversion/fib.hpp"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <tuple>

namespace lockstep::diversion {
namespace {

// The bits of a TOS that IPv4's rules and routes compare (INET_DSCP_LEGACY_TOS_MASK,
// include/net/inet_dscp.h).
constexpr std::uint8_t kLegacyTos = 0x1C;
constexpr unsigned kDscpShift = 2;  // RFC 2474

bool is_of_tos(std::uint8_t wanted, const Question& question) {
  return wanted == 0 || wanted == (question.to.v6 ? question.tos : question.tos & kLegacyTos);
}

// Our packets have no mark, are not bound to an output port and not in a VRF; packets sent by the kernel
// itself (RoCE, and forwarded ones) belong to user 0.
bool selects_others(const Rule& rule) {
  return (rule.users && rule.users->first > 0) || !rule.oif.empty() || rule.mark.value_or(0) != 0;
}

bool contains(const std::optional<PortRange>& range, std::uint16_t port) {
  if (!range) return true;
  if (range->mask != 0) return ((range->first ^ port) & range->mask) == 0;  // net/core: fib_rule_port_match
  return range->first <= port && port <= range->last;
}

// A route with a next-hop object does not show the state of its hops.
bool is_alive(const Route& route, const NetworkState& network) {
  return route.hops.empty() || std::ranges::any_of(route.hops, [&](const NextHop& hop) {
           const Link* const link = route.nexthop_id == 0 ? nullptr : network.link(hop.index);
           return (hop.flags & RTNH_F_DEAD) == 0 && (link == nullptr || link->carrier);
         });
}

IpPrefix cut(const IpAddress& address, std::uint8_t length) { return IpPrefix{address, length}.network(); }

}  // namespace

bool ends_packets(std::uint8_t type) {
  return type == RTN_BLACKHOLE || type == RTN_UNREACHABLE || type == RTN_PROHIBIT || type == RTN_THROW;
}

bool matches(const Rule& rule, const Question& question, const NetworkState& network) {
  if (rule.family != family_of(question.to) || rule.of_vrfs) return false;
  const auto arrives_on = [&]() -> std::string_view {
    const Link* const in = network.link(question.arrives_on);
    return in != nullptr ? std::string_view(in->name) : "lo";
  };
  const bool all =
      !selects_others(rule) && (!rule.to || rule.to->contains(question.to)) &&
      (!rule.from || rule.from->length == 0 || (question.from && rule.from->contains(*question.from))) &&
      (rule.iif.empty() || rule.iif == arrives_on()) && is_of_tos(rule.tos, question) &&
      (!rule.dscp || *rule.dscp == question.tos >> kDscpShift) &&
      (rule.ip_protocol == 0 || rule.ip_protocol == question.ip_protocol) &&
      contains(rule.source_ports, question.source_port) &&
      contains(rule.destination_ports, question.destination_port);
  return all != rule.inverted;
}

Fib::Fib(const NetworkState& network, std::vector<Rule> rules, const std::vector<const Route*>& routes)
    : network_(network), rules_(std::move(rules)) {
  for (const Route* const one : routes) {
    Table& table = (one->destination.address.v6 ? v6_ : v4_)[one->table];
    table.lengths.insert(one->destination.length);
    table.routes[one->destination].push_back(one);
  }
  const auto first = [](const Route* a, const Route* b) {
    return std::tuple(-int{a->tos}, a->metric) < std::tuple(-int{b->tos}, b->metric);
  };
  for (auto* const tables : {&v4_, &v6_})
    for (auto& [number, table] : *tables)
      for (auto& [destination, all] : table.routes) std::ranges::stable_sort(all, first);
}

const Route* Fib::find(std::uint32_t number, const Question& question) const {
  const auto& tables = question.to.v6 ? v6_ : v4_;
  const auto table = tables.find(number);
  if (table == tables.end()) return nullptr;
  const auto& lengths = table->second.lengths;
  for (auto length = lengths.rbegin(); length != lengths.rend(); ++length) {
    const auto found = table->second.routes.find(cut(question.to, *length));
    if (found == table->second.routes.end()) continue;
    for (const Route* const one : found->second)
      if ((question.to.v6 || is_of_tos(one->tos, question)) && is_alive(*one, network_)) return one;
  }
  return nullptr;
}

// A goto only jumps forward; one without an existing target is skipped.
std::size_t Fib::place_of(const Rule& jump, std::size_t from) const {
  for (std::size_t i = from; i < rules_.size(); ++i)
    if (rules_[i].family == jump.family && rules_[i].priority == jump.target) return i;
  return rules_.size();
}

Decision Fib::decide(const Question& question) const {
  Decision out;
  for (std::size_t at = 0; at < rules_.size();) {
    const Rule& rule = rules_[at++];
    if (rule.action == FR_ACT_NOP || !matches(rule, question, network_)) continue;
    if (rule.action == FR_ACT_GOTO) {
      const std::size_t place = place_of(rule, at);
      if (place == rules_.size()) continue;
      out.jumps.push_back(&rule);
      at = place;
      continue;
    }
    out.rule = &rule;
    if (rule.action != FR_ACT_TO_TBL) return out;
    out.route = find(rule.table, question);
    const bool suppressed = out.route != nullptr && rule.suppressed_length &&
                            out.route->destination.length <= *rule.suppressed_length;
    if (out.route != nullptr && out.route->type == RTN_THROW) {
      out.left.push_back(&rule);
      out.thrown.push_back(out.route);
    } else if (out.route != nullptr && !suppressed) {
      return out;
    }
    out.rule = nullptr;
    out.route = nullptr;
  }
  return out;
}

}  // namespace lockstep::diversion
