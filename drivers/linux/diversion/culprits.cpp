#include "drivers/linux/diversion/culprits.hpp"

#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "drivers/linux/diversion/words.hpp"
#include "drivers/linux/session.hpp"

namespace lockstep::diversion {
namespace {

// The fraction of the packets that leave each way, in the smallest whole numbers.
using Hops = std::map<Leaving, std::uint64_t>;

Hops hops_of(const Route& route) {
  Hops out;
  for (const NextHop& one : route.hops) out[leaving_by(one)] += one.weight;
  std::uint64_t common = 0;
  for (const auto& [hop, weight] : out) common = std::gcd(common, weight);
  for (auto& [hop, weight] : out) weight /= std::max<std::uint64_t>(common, 1);
  return out;
}

// Same next hops with the same weights, whoever made the route. The next hops of the daemon's routes are
// checked by fib[...].
bool leads_alike(const Route& one, const Route& other) {
  if (one.type != other.type) return false;
  if (one.type != RTN_UNICAST) return true;  // to this device, or to all on a network
  if (is_of_daemon(one) && is_of_daemon(other) && one.table == other.table &&
      one.destination == other.destination)
    return true;
  return hops_of(one) == hops_of(other);
}

bool leads_alike(const Route* one, const Route* other) {
  return one != nullptr && other != nullptr && leads_alike(*one, *other);
}

// Kernel errors that give no information about a route.
bool is_no_answer(int code) { return code == EOPNOTSUPP || code == ENOBUFS || code == ENOMEM; }

// One lookup and what the tables show about it.
class Judgement {
 public:
  Judgement(const Ground& ground, const IpPrefix& pool, const Asked& asked)
      : ground_(ground),
        pool_(pool),
        asked_(asked),
        wanted_(ground.lawful.decide(asked.question)),
        now_(ground.all.decide(asked.question)) {}

  // The culprit for a changed route; empty: there is none.
  std::string of_route(const Route& answer) const {
    if (leads_alike(wanted_.route, &answer))
      return changes_packets(answer) && !is_route_of_ours(answer) && is_owned()
                 ? text_of(answer, ground_.network)
                 : "";
    const bool foreign = ground_.is_foreign(answer);
    if (!is_owned() && !(foreign && pool_.contains(answer.destination))) return "";
    if (std::string name = by_tables(); !name.empty()) return name;
    return foreign ? text_of(answer, ground_.network) : unnamed(text_of(answer, ground_.network));
  }

  std::string of_error(int code) const {
    if (is_no_answer(code)) return "";
    if (!is_owned()) return is_ended_inside() ? by_tables() : "";
    if (!leads_alike(wanted_.route, now_.route)) {
      const std::string name = by_tables();
      return name.empty() ? unnamed(text_of_refusal(code)) : name;
    }
    if (asked_.made_up) return "";
    const Link* const port = ground_.network.link(asked_.question.arrives_on);
    if (port != nullptr && code == EXDEV) return "the reverse path filter of " + port->name + " (rp_filter)";
    if (port != nullptr && code == EHOSTUNREACH) return "";  // it does not forward: reported by sysctl[...]
    return unnamed(text_of_refusal(code));
  }

 private:
  // Forwarded packets keep their hop limit.
  bool changes_packets(const Route& answer) const {
    return answer.mtu != 0 ||
           (asked_.question.arrives_on == 0 &&
            std::ranges::any_of(answer.metrics, [](const auto& one) { return one.type == RTAX_HOPLIMIT; }));
  }

  // On a host: route-mtu[*] reports its MTU, and route[*] its other attributes.
  bool is_route_of_ours(const Route& answer) const {
    return answer.protocol == kOwnProtocol && asked_.question.arrives_on == 0;
  }

  // A wider route (such as the one to the management network) is not owned, so nothing diverts it.
  bool is_owned() const {
    const Route* const route = wanted_.route;
    return route != nullptr && !ends_packets(route->type) &&
           (route->protocol == kOwnProtocol || pool_.contains(route->destination));
  }

  bool is_ended_inside() const {
    return now_.route != nullptr && ends_packets(now_.route->type) && ground_.is_foreign(*now_.route) &&
           pool_.contains(now_.route->destination);
  }

  std::string unnamed(const std::string& answer) const {
    return asked_.made_up ? "" : text_of(asked_.question, ground_.network) + ": " + answer;
  }

  // The first foreign object on the kernel's path that is not on the lawful path.
  std::string by_tables() const {
    if (leads_alike(wanted_.route, now_.route)) return "";
    // If an expected route is missing, the wider route that takes its traffic is no culprit.
    if (wanted_.route != nullptr && ground_.is_missing(*wanted_.route))
      return text_of(*wanted_.route, ground_.network) + " is missing";
    for (std::size_t i = 0; i < now_.thrown.size(); ++i)
      if (!is_foreign(*now_.left[i]) && ground_.is_foreign(*now_.thrown[i]))
        return text_of(*now_.thrown[i], ground_.network);
    const Route* const route =
        now_.route != nullptr && ground_.is_foreign(*now_.route) ? now_.route : nullptr;
    const std::uint32_t table = wanted_.rule != nullptr ? wanted_.rule->table : std::uint32_t{RT_TABLE_MAIN};
    if (route != nullptr && route->table == table) return text_of(*route, ground_.network);
    if (const Rule* const rule = foreign_rule(); rule != nullptr)
      return text_of(*rule) + (route == nullptr ? "" : " (" + text_of(*route, ground_.network) + ")");
    if (route != nullptr) return text_of(*route, ground_.network);
    if (wanted_.rule != nullptr && ground_.is_missing(*wanted_.rule))
      return text_of(*wanted_.rule) + " is missing";
    return "";
  }

  // The foreign rule that decides, or that jumps past the one that should.
  const Rule* foreign_rule() const {
    if (now_.rule != nullptr && is_foreign(*now_.rule)) return now_.rule;
    const auto is_passed = [&](const Rule& jump) {
      return std::ranges::any_of(ground_.network.rules, [&](const Rule& one) {
        return one.family == jump.family && one.action == FR_ACT_TO_TBL && one.table == wanted_.rule->table &&
               one.priority >= jump.priority && one.priority < jump.target;
      });
    };
    for (const Rule* const jump : now_.jumps)
      if (is_foreign(*jump) && wanted_.rule != nullptr && is_passed(*jump)) return jump;
    return nullptr;
  }

  const Ground& ground_;
  const IpPrefix& pool_;
  const Asked& asked_;
  const Decision wanted_;
  const Decision now_;
};

// The results' routes with the hops of their next-hop objects.
std::vector<Route> resolved(const Ground& ground, const std::vector<Found>& found) {
  NetworkState out;
  out.nexthops = ground.network.nexthops;
  for (const Found& one : found) out.routes.push_back(one.route.value_or(Route{}));
  resolve_nexthops(out);
  return std::move(out.routes);
}

}  // namespace

std::vector<std::string> culprits(const Ground& ground, const IpPrefix& pool, const std::vector<Asked>& asked,
                                  const std::vector<Found>& found) {
  std::set<std::string> out;
  const std::vector<Route> routes = resolved(ground, found);
  for (std::size_t i = 0; i < asked.size() && i < found.size(); ++i) {
    const Judgement judgement(ground, pool, asked[i]);
    std::string culprit = found[i].route ? judgement.of_route(routes[i]) : judgement.of_error(found[i].code);
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

std::vector<std::string> captured_ports(const Ground& ground, const IpPrefix& pool) {
  const auto carries_pool = [&](std::uint32_t port) {
    return std::ranges::any_of(ground.network.addresses,
                               [&](const InterfaceAddress& one) {
                                 return one.index == port && pool.contains(one.prefix.address);
                               }) ||
           std::ranges::any_of(ground.network.routes, [&](const Route& one) {
             return pool.contains(one.destination) &&
                    std::ranges::find(one.hops, port, &NextHop::index) != one.hops.end();
           });
  };
  std::vector<std::string> out;
  for (const Link& port : ground.network.links) {
    const Link* const by = port.master ? ground.network.link(*port.master) : nullptr;
    if (by == nullptr || !ground.ports.contains(port.index)) continue;
    if (carries_pool(port.index))
      out.push_back(port.name + " is under " + by->name + (by->kind.empty() ? "" : " (" + by->kind + ")"));
  }
  return out;
}

std::vector<std::string> silent_ports(const Ground& ground) {
  constexpr std::size_t kEthernet = 6;  // bytes of an address
  std::vector<std::string> out;
  for (const Link& port : ground.network.links)
    if (ground.ports.contains(port.index) && port.no_arp && port.hardware_address.size() == kEthernet &&
        port.kind != "dummy")
      out.push_back(port.name + " asks for no neighbors (arp off)");
  return out;
}

std::vector<std::string> fixed_neighbours(const Ground& ground, const IpPrefix& pool) {
  std::vector<std::string> out;
  for (const Neighbour& one : ground.neighbours) {
    const Link* const port = ground.network.link(one.index);
    if (port == nullptr || !ground.ports.contains(one.index) || !pool.contains(one.address)) continue;
    // The kernel itself maps multicast groups and broadcasts (IEEE 802: the first bit of the address on the
    // wire).
    const bool of_group =
        !one.hardware_address.empty() && (one.hardware_address.front() & std::byte{1}) != std::byte{0};
    const bool by_kernel = (one.state & NUD_NOARP) != 0 && of_group;
    if ((one.state & (NUD_PERMANENT | NUD_NOARP)) != 0 && !by_kernel)
      out.push_back(one.address.text() + " at " + hardware_address_text(one.hardware_address) + " on " +
                    port->name);
  }
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
