#include "drivers/linux/diversion/questions.hpp"

#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <algorithm>

#include "drivers/linux/diversion/atoms.hpp"

namespace lockstep::diversion {
namespace {

// Where packets come from: a port, and a source that the kernel accepts on it.
struct Way {
  std::uint32_t port = 0;  // 0: sent by the device itself
  std::optional<IpAddress> from;
  bool made_up = false;
};

// Other packet fields that rules and routes compare.
struct Kind {
  std::uint8_t tos = 0;
  std::uint8_t ip_protocol = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
};

Asked asked_of(const IpAddress& to, const Way& way, const Kind& kind) {
  return {{.to = to,
           .from = way.from,
           .arrives_on = way.port,
           .tos = kind.tos,
           .ip_protocol = kind.ip_protocol,
           .source_port = kind.source_port,
           .destination_port = kind.destination_port},
          way.made_up};
}

// A sender on this port's network: an address beside the port's own (RFC 3021 for a /31).
std::optional<IpAddress> beyond(const IpPrefix& own) {
  for (std::uint64_t n = own.size() > 2 ? 1 : 0; n < 3; ++n)
    if (const auto other = own.nth_address(n); other && *other != own.address) return other;
  return std::nullopt;
}

// Whether even a strict reverse path filter accepts the source.
bool is_from_there(const Ground& ground, const IpAddress& from, std::uint32_t port) {
  const Route* const back = ground.lawful.decide({.to = from, .from = {}}).route;
  return back != nullptr && !ground.is_local(from) &&
         std::ranges::find(back->hops, port, &NextHop::index) != back->hops.end();
}

// The ways in which packets of the pool arrive, each port once.
std::vector<Way> ways_in(const Ground& ground, const IpPrefix& pool) {
  std::vector<Way> out;
  std::set<std::uint32_t> silent;  // ports without a known sender yet
  for (const std::uint32_t port : ground.ports)
    if (const Link* const link = ground.network.link(port); ground.is_up(port) && !link->master)
      silent.insert(port);
  const auto take = [&](std::uint32_t port, const std::optional<IpAddress>& from) {
    if (!silent.contains(port) || !from || !is_from_there(ground, *from, port)) return;
    out.push_back({port, from});
    silent.erase(port);
  };
  for (const InterfaceAddress& one : ground.network.addresses)
    if (pool.contains(one.prefix.address)) take(one.index, beyond(one.prefix));
  for (const Route& route : ground.network.routes) {
    if (silent.empty()) break;
    if (route.table != RT_TABLE_MAIN || route.protocol != RTPROT_BGP || !pool.contains(route.destination))
      continue;
    for (const NextHop& hop : route.hops)
      take(hop.index, route.destination.nth_address(route.destination.size() > 2 ? 1 : 0));
  }
  return out;
}

// From an unspecified address, and from each of the pool's.
std::vector<Way> ways_out(const Ground& ground, const IpPrefix& pool) {
  std::vector<Way> out{Way{}};
  for (const InterfaceAddress& own : ground.network.addresses)
    if (ground.is_up(own.index) && pool.contains(own.prefix.address)) out.push_back({0, own.prefix.address});
  return out;
}

std::vector<IpAddress> atoms(const NetworkState& network, const IpPrefix& pool) {
  std::vector<IpPrefix> cuts;
  for (const Route& one : network.routes) cuts.push_back(one.destination);
  for (const Rule& one : network.rules)
    if (one.to) cuts.push_back(*one.to);
  for (const InterfaceAddress& one : network.addresses) cuts.push_back(alone(one.prefix.address));
  return atoms_of(pool, std::move(cuts));
}

constexpr unsigned kDscpBits = 2;  // the bits below the DSCP in a TOS are ECN's (RFC 2474, RFC 3168)

std::uint8_t tos_of(const Rule& rule) {
  return rule.dscp ? static_cast<std::uint8_t>(*rule.dscp << kDscpBits) : rule.tos;
}

// The kinds that any rule or route distinguishes, plain packets first.
std::vector<Kind> kinds(const Ground& ground, const IpPrefix& pool) {
  std::set<std::uint8_t> all_tos{0};
  bool by_protocol = false;
  for (const Rule& one : ground.network.rules) {
    if (one.family != family_of(pool.address) || !is_foreign(one)) continue;
    all_tos.insert(tos_of(one));
    by_protocol = by_protocol || one.ip_protocol != 0 || one.source_ports || one.destination_ports;
  }
  for (const Route& one : ground.network.routes)
    if (one.tos != 0 && one.destination.overlaps(pool)) all_tos.insert(one.tos);
  std::vector<Kind> out;
  for (const std::uint8_t tos : all_tos) {
    out.push_back({.tos = tos});
    if (!by_protocol) continue;
    out.push_back({.tos = tos, .ip_protocol = IPPROTO_UDP, .destination_port = kRoce});
    out.push_back({.tos = tos, .ip_protocol = IPPROTO_TCP});
  }
  return out;
}

bool is_askable(std::uint8_t ip_protocol, bool v6) {
  return ip_protocol == 0 || ip_protocol == IPPROTO_TCP || ip_protocol == IPPROTO_UDP ||
         (v6 ? ip_protocol == IPPROTO_ICMPV6 : ip_protocol == IPPROTO_ICMP);
}

std::uint16_t port_in(const std::optional<PortRange>& range) { return range ? range->first : 0; }

// The kinds that a rule may select: those with its values; for an inverted rule all others.
std::vector<Kind> kinds_of(const Rule& rule, const std::vector<Kind>& all, bool v6) {
  if (rule.inverted) return all;
  if (!is_askable(rule.ip_protocol, v6)) return {};
  return {{tos_of(rule), rule.ip_protocol, port_in(rule.source_ports), port_in(rule.destination_ports)}};
}

// A source of the pool that a rule selects, for when no known source matches it.
std::optional<IpAddress> made_up_source(const Ground& ground, const Rule& rule, const IpPrefix& pool) {
  if (!rule.from || !rule.from->overlaps(pool)) return std::nullopt;
  std::vector<std::optional<IpAddress>> some;
  if (rule.inverted) some = {pool.nth_address(1), rule.from->last().plus(1)};
  const IpPrefix& inner = rule.from->length > pool.length ? *rule.from : pool;
  constexpr std::uint64_t kTries = 4;  // arbitrary; enough for a /30 or shorter
  for (std::uint64_t n = inner.size() > 2 ? 1 : 0; n < kTries; ++n) some.push_back(inner.nth_address(n));
  for (const auto& one : some)
    if (one && pool.contains(*one) && rule.from->contains(*one) != rule.inverted && !ground.is_local(*one))
      return one;
  return std::nullopt;
}

class Questions {
 public:
  Questions(const Ground& ground, const IpPrefix& pool, std::vector<Way> ways)
      : ground_(ground),
        pool_(pool),
        ways_(std::move(ways)),
        atoms_(atoms(ground.network, pool)),
        kinds_(kinds(ground, pool)) {}

  // For arriving packets, one way for each atom: only rules distinguish the ways.
  std::vector<Asked> all() {
    if (ways_.empty()) return {};
    const auto any = [](const Asked&) { return true; };
    for (const Kind& kind : kinds_) ask(ways_, {kind}, any);
    for (const Rule& rule : ground_.network.rules)
      if (is_foreign(rule) && rule.family == family_of(pool_.address)) ask_as(rule);
    std::ranges::sort(out_);
    const auto twice = std::ranges::unique(out_, {}, &Asked::question);
    out_.erase(twice.begin(), twice.end());
    return std::move(out_);
  }

 private:
  void ask_as(const Rule& rule) {
    const std::vector<Kind> like = kinds_of(rule, kinds_, pool_.address.v6);
    std::vector<Way> ways = ways_;
    const auto source = made_up_source(ground_, rule, pool_);
    for (const Way& one : ways_)
      if (source && one.port != 0) ways.push_back({one.port, source, true});
    const auto selects = [&](const Asked& asked) { return matches(rule, asked.question, ground_.network); };
    if (!rule.inverted) {  // each selector separately: the destination excludes no way
      const IpAddress to = rule.to ? rule.to->address : pool_.address;
      std::erase_if(
          ways, [&](const Way& way) { return like.empty() || !selects(asked_of(to, way, like.front())); });
    }
    ask(ways, like, selects);
  }

  // A packet never goes back to its sender's own address on the port that it came from.
  void ask(const std::vector<Way>& ways, const std::vector<Kind>& like, auto&& is_wanted) {
    const auto ask_one = [&](const IpAddress& to, const Way& way) {
      if (way.port != 0 && way.from == to) return false;
      for (const Kind& kind : like)
        if (const Asked asked = asked_of(to, way, kind); is_wanted(asked)) {
          out_.push_back(asked);
          return true;
        }
      return false;
    };
    for (const IpAddress& to : atoms_)
      for (const Way& way : ways)
        if (ask_one(to, way) && way.port != 0) break;
  }

  const Ground& ground_;
  const IpPrefix& pool_;
  const std::vector<Way> ways_;
  const std::vector<IpAddress> atoms_;
  const std::vector<Kind> kinds_;
  std::vector<Asked> out_;
};

}  // namespace

std::vector<Asked> transit_questions(const Ground& ground, const IpPrefix& pool) {
  return Questions(ground, pool, ways_in(ground, pool)).all();
}

std::vector<Asked> sent_questions(const Ground& ground, const IpPrefix& pool) {
  return Questions(ground, pool, ways_out(ground, pool)).all();
}

}  // namespace lockstep::diversion
