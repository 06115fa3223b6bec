#include "drivers/linux/route_mtu.hpp"

#include <linux/rtnetlink.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "drivers/linux/session.hpp"
#include "specs/model/mtu_lock.hpp"

namespace lockstep {

std::vector<const Route*> own_routes_to(const IpPrefix& pool, const NetworkState& network) {
  std::set<std::uint32_t> tables;
  for (const Rule& rule : network.rules)
    if (rule.protocol == kOwnProtocol && rule.from && pool.contains(*rule.from)) tables.insert(rule.table);
  std::vector<const Route*> out;
  for (const Route& route : network.routes) {
    if (route.protocol != kOwnProtocol || route.destination.address.v6 != pool.address.v6) continue;
    if (route.type != RTN_UNICAST) continue;  // it does not forward
    if (pool.contains(route.destination) || tables.contains(route.table)) out.push_back(&route);
  }
  return out;
}

Value route_mtu(const IpPrefix& pool, const NetworkState& network) {
  const std::vector<const Route*> routes = own_routes_to(pool, network);
  std::map<std::pair<std::uint32_t, bool>, std::size_t> known;  // count, by MTU and whether it is locked
  for (const Route* const route : routes)
    if (route->mtu != 0) ++known[{route->mtu, route->mtu_locked}];
  if (known.empty()) return {};
  const auto& [first, count] = *known.begin();
  if (first.second && count == routes.size()) return mtu_lock(first.first);
  std::string out;
  for (const auto& [mtu, those] : known)
    out += (out.empty() ? "mtu " : ", mtu ") + std::string(mtu.second ? "lock " : "") +
           std::to_string(mtu.first) + " on " + std::to_string(those) + " of " +
           std::to_string(routes.size()) + " routes";
  return Value::text(out);
}

}  // namespace lockstep
