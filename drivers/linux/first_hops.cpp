#include "drivers/linux/first_hops.hpp"

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "drivers/linux/diversion/lookup.hpp"

namespace lockstep {
namespace {

using netlink::Socket;

// Adds a port with all ports below it.
void add_port(const NetworkState& network, std::uint32_t index, std::set<std::string>& out) {
  const Link* const link = network.link(index);
  if (link == nullptr || !out.insert(link->name).second) return;
  if (link->below) add_port(network, *link->below, out);
  for (const Link& member : network.links)
    if (member.master == index) add_port(network, member.index, out);
}

bool leaves(const Route& route) {
  return route.type == RTN_UNICAST || route.type == RTN_BROADCAST || route.type == RTN_MULTICAST;
}

}  // namespace

Result<std::vector<std::set<std::string>>> first_hops(const std::vector<IpAddress>& addresses,
                                                      const Call& call) {
  TRY(Socket socket, Socket::open(NETLINK_ROUTE));
  std::vector<diversion::Question> questions(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) questions[i].to = addresses[i];
  TRY(const auto answers, diversion::look_up(socket, questions, call));
  NetworkState network;
  TRY(network.links, read_links(socket, call));
  const auto objects = netlink::read_all(socket, RTM_GETNEXTHOP, RTM_NEWNEXTHOP, nhmsg{}, &decode_nexthop,
                                         call, network.nexthops);
  if (!objects && objects.error().kind != ErrorKind::unsupported) return objects.error();
  for (const diversion::Found& found : answers) network.routes.push_back(found.route.value_or(Route{}));
  resolve_nexthops(network);
  std::vector<std::set<std::string>> out(addresses.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!leaves(network.routes[i])) continue;
    for (const NextHop& hop : network.routes[i].hops) add_port(network, hop.index, out[i]);
  }
  return out;
}

}  // namespace lockstep
