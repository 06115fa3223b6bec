#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

#include "drivers/linux/kernel_state.hpp"

namespace lockstep {

using netlink::read_all;
using netlink::Request;
using netlink::Socket;

const Link* NetworkState::link(std::uint32_t index) const {
  for (const Link& one : links)
    if (one.index == index) return &one;
  return nullptr;
}

const Link* NetworkState::link(std::string_view name) const {
  for (const Link& one : links)
    if (one.name == name) return &one;
  return nullptr;
}

Result<std::vector<Link>> read_links(Socket& socket, const Call& call) {
  std::vector<Link> out;
  Request request(RTM_GETLINK, NLM_F_DUMP);
  request.header(ifinfomsg{}).put_number(IFLA_EXT_MASK, std::uint32_t{RTEXT_FILTER_SKIP_STATS});
  TRY_DONE(read_all(socket, request, RTM_NEWLINK, &decode_link, call, out));
  return out;
}

Result<std::vector<Neighbour>> read_neighbours(Socket& socket, const Call& call) {
  std::vector<Neighbour> out;
  TRY_DONE(read_all(socket, RTM_GETNEIGH, RTM_NEWNEIGH, ndmsg{}, &decode_neighbour, call, out));
  return out;
}

Result<NetworkState> read_network(Socket& socket, const Wanted& wanted, const Call& call) {
  NetworkState out;
  TRY(out.links, read_links(socket, call));
  if (wanted.addresses)
    TRY_DONE(read_all(socket, RTM_GETADDR, RTM_NEWADDR, ifaddrmsg{}, &decode_address, call, out.addresses));
  if (wanted.routes) {
    // Next-hop objects came with Linux 5.3; without them no route refers to one.
    const auto objects =
        read_all(socket, RTM_GETNEXTHOP, RTM_NEWNEXTHOP, nhmsg{}, &decode_nexthop, call, out.nexthops);
    if (!objects && objects.error().kind != ErrorKind::unsupported) return objects.error();
    // AF_UNSPEC: both families in one dump, and no duplicates if the kernel lacks one.
    TRY_DONE(read_all(socket, RTM_GETROUTE, RTM_NEWROUTE, rtmsg{}, &decode_route, call, out.routes));
    if (!wanted.local_routes)
      std::erase_if(out.routes, [](const Route& one) { return one.table == RT_TABLE_LOCAL; });
    resolve_nexthops(out);
  }
  if (wanted.rules)
    TRY_DONE(read_all(socket, RTM_GETRULE, RTM_NEWRULE, fib_rule_hdr{}, &decode_rule, call, out.rules));
  return out;
}

void resolve_nexthops(NetworkState& state) {
  const auto find = [&](std::uint32_t id) -> const NextHopObject* {
    const auto at =
        std::lower_bound(state.nexthops.begin(), state.nexthops.end(), id,
                         [](const NextHopObject& one, std::uint32_t wanted) { return one.id < wanted; });
    return at != state.nexthops.end() && at->id == id ? &*at : nullptr;
  };
  std::sort(state.nexthops.begin(), state.nexthops.end(),
            [](const NextHopObject& a, const NextHopObject& b) { return a.id < b.id; });
  for (Route& route : state.routes) {
    const NextHopObject* object = route.nexthop_id == 0 ? nullptr : find(route.nexthop_id);
    if (object == nullptr) continue;
    route.hops.clear();
    if (object->hop) route.hops.push_back(*object->hop);
    for (const auto& [id, weight] : object->members) {
      const NextHopObject* member = find(id);  // groups hold single next hops only (nexthop.c)
      if (member == nullptr || !member->hop) continue;
      route.hops.push_back(*member->hop);
      route.hops.back().weight = weight;
    }
  }
}

}  // namespace lockstep
