#include "drivers/linux/devlink/port_network.hpp"

#include <algorithm>

#include "drivers/linux/devlink/attempts.hpp"
#include "drivers/linux/route_extras.hpp"

namespace lockstep::devlink_map {
namespace {

bool is_over(const Route& route, const NetworkState& network, const std::vector<std::string>& ports) {
  return std::ranges::any_of(route.hops, [&](const NextHop& hop) {
    const Link* const link = network.link(hop.index);
    return link != nullptr && std::ranges::count(ports, link->name) > 0;
  });
}

}  // namespace

Result<PortNetwork> PortNetwork::of(const std::vector<std::string>& ports, const Call& call) {
  TRY(auto socket, netlink::Socket::open(NETLINK_ROUTE));
  const Wanted wanted{.addresses = true, .routes = true, .rules = false};
  TRY(const NetworkState network, read_network(socket, wanted, call));
  PortNetwork out;
  for (const std::string& name : ports) {
    const Link* const link = network.link(name);
    if (link == nullptr) continue;
    Port port{name, link->mtu, link->admin_up, {}};
    for (const InterfaceAddress& one : network.addresses)
      if (one.index == link->index && !is_link_local(one.prefix.address) && one.permanent)
        port.addresses.push_back(one.prefix);
    out.ports_.push_back(std::move(port));
  }
  for (const Route& route : network.routes) {
    if (route.protocol != kOwnProtocol || !is_over(route, network, ports)) continue;
    if (!extras(route).empty()) continue;  // changed by another writer
    OwnRoute one{route.table, route.destination, {}};
    for (const NextHop& hop : route.hops)
      if (const Link* const link = network.link(hop.index)) one.hops.push_back({hop.gateway, link->name});
    out.routes_.push_back(std::move(one));
  }
  return out;
}

Result<Done> PortNetwork::put_back(const Call& call) const {
  TRY(Session session, Session::open(call));
  Attempts all;
  for (const Port& port : ports_) {
    all.add(session.set_mtu(port.name, port.mtu));
    for (const IpPrefix& one : port.addresses) all.add(session.add_address(port.name, one));
    all.add(session.set_admin(port.name, port.up));
  }
  for (const OwnRoute& one : routes_) all.add(session.set_route(one.table, one.destination, one.hops));
  return all.outcome();
}

}  // namespace lockstep::devlink_map
