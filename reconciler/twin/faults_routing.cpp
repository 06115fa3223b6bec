#include <fmt/format.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "drivers/frr/state.hpp"
#include "reconciler/twin/fault_kinds.hpp"
#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {
namespace {

Result<DaemonState> daemon_of(const FaultOrder& order, const std::string& name) {
  for (const DaemonState& one : order.twin.daemons) {
    if (one.device != order.device || one.name != name) continue;
    if (one.pid > 0) return one;
    return Error{ErrorKind::refused, fmt::format("{}: {} does not run: {}", order.device, name, one.how)};
  }
  return Error{ErrorKind::invalid_spec, fmt::format("{} has no daemon '{}'", order.device, name)};
}

Result<FaultLines> configure_bgp(const FaultOrder& order, const std::vector<std::string>& lines) {
  TRY_DONE(daemon_of(order, "bgpd"));
  TRY(frr::Vty bgpd, frr::Vty::connect(order.at.run_dir, "bgpd", order.call));
  TRY(const frr::RunningConfig config, frr::read_config(bgpd, order.call));
  const frr::ConfigLine* router = config.find("router bgp");
  if (router == nullptr) return Error{ErrorKind::refused, order.device + " has no BGP configured"};
  std::vector<std::string> all{"configure terminal", router->text};
  all.insert(all.end(), lines.begin(), lines.end());
  FaultLines out;
  for (const std::string& line : all) {
    TRY(const frr::Reply reply, bgpd.say(line, frr::Intention::writes, order.call));
    if (reply.code != 0)
      return Error{ErrorKind::refused, fmt::format("{}: bgpd: '{}': {}", order.device, line, reply.words())};
  }
  std::string text;
  for (const std::string& line : all) text += (text.empty() ? "" : "; ") + line;
  out.push_back(order.device + ": bgpd: " + text);
  return out;
}

// The agent has faults of its own: what heals a daemon (an apply) does not reach a device without its agent.
Result<FaultLines> signal_chosen_daemon(const FaultOrder& order, int number, const char* name) {
  const std::string daemon = order.argument(0, "bgpd");
  if (daemon != "agent") return signal_daemon(order, daemon, number, name);
  return Error{ErrorKind::invalid_spec, "for an agent there are the faults agent-killed and agent-stopped"};
}

// Routes that share one group of several next hops.
struct Sharing {
  NextHopObject group;
  std::vector<Route> routes;
};

// The first BGP route (or `prefix`) with several next hops, and every other BGP route on the same group;
// lowest prefix first, so that the choice does not depend on the kernel's order.
Result<Sharing> sharing_of(netlink::Socket& socket, const std::string& prefix, const Call& call) {
  TRY(NetworkState state, read_network(socket, {.addresses = false, .routes = true, .rules = false}, call));
  std::sort(state.routes.begin(), state.routes.end(),
            [](const Route& a, const Route& b) { return a.destination < b.destination; });
  Sharing out;
  for (const Route& route : state.routes) {
    if (route.nexthop_id == 0 || route.protocol != RTPROT_BGP) continue;
    if (!prefix.empty() && route.destination.text() != prefix) continue;
    for (const NextHopObject& object : state.nexthops)
      if (out.routes.empty() && object.id == route.nexthop_id && object.members.size() > 1)
        out.group = object;
    if (route.nexthop_id == out.group.id) out.routes.push_back(route);
  }
  if (!out.routes.empty()) return out;
  return Error{ErrorKind::refused, prefix.empty()
                                       ? "no BGP route with several next hops is in the kernel"
                                       : "the kernel has no BGP route " + prefix + " with several next hops"};
}

// The next-hop object of all members but `lost`: a member itself if only one is left, else a new group. The
// group itself is not changed: zebra 8.4 detects that and sends its own down again
// (zebra_nhg_handle_kernel_state_change, zebra_nhg.c).
Result<std::uint32_t> without(netlink::Socket& socket, const NextHopObject& group, std::uint32_t lost,
                              const Call& call) {
  std::vector<nexthop_grp> members;
  for (const auto& [id, weight] : group.members) {
    nexthop_grp one{};
    one.id = id;
    one.weight = static_cast<__u8>(weight - 1);  // the kernel stores weight - 1 (linux/nexthop.h)
    if (id != lost) members.push_back(one);
  }
  if (members.size() == 1) return members.front().id;
  // zebra counts its ids from 1; "LS" in the upper half avoids collisions.
  const std::uint32_t fresh = 0x4C530000U | (group.id & 0xFFFFU);
  netlink::Request request(RTM_NEWNEXTHOP, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
  request.header(nhmsg{}).put_number(NHA_ID, fresh);
  request.put(NHA_GROUP, std::as_bytes(std::span<const nexthop_grp>(members)));
  TRY(const netlink::Answer answer, socket.change(request, call));
  if (answer.code != 0) return netlink::to_error(answer, "a next-hop group of the others");
  return fresh;
}

// Under FRR's own protocol (bgp): zebra ignores such a change (is_selfroute, rt_netlink.c), so FRR believes
// that the route is unchanged.
Result<Done> point(netlink::Socket& socket, const Route& route, std::uint32_t nexthop, const Call& call) {
  rtmsg header{};
  header.rtm_family = family_of(route.destination.address);
  header.rtm_dst_len = route.destination.length;
  header.rtm_table = RT_TABLE_UNSPEC;  // see RTA_TABLE
  header.rtm_protocol = route.protocol;
  header.rtm_scope = route.scope;
  header.rtm_type = route.type;
  netlink::Request request(RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
  request.header(header).put(RTA_DST, bytes_of(route.destination.address));
  request.put_number(RTA_TABLE, route.table).put_number(RTA_PRIORITY, route.metric);
  request.put_number(RTA_NH_ID, nexthop);
  TRY(const netlink::Answer answer, socket.change(request, call));
  if (answer.code != 0) return netlink::to_error(answer, "replace route " + route.destination.text());
  return Done{};
}

}  // namespace

Result<FaultLines> signal_daemon(const FaultOrder& order, const std::string& daemon, int number,
                                 const char* name) {
  TRY(const DaemonState one, daemon_of(order, daemon));
  // The supervisor, its parent, has just reported it alive, and only the supervisor could release the pid.
  // The daemon has its own process group (daemons.cpp), which includes the child that speaks LLDP for lldpd.
  if (::kill(-one.pid, number) != 0) return errno_error(fmt::format("{}: kill -{}", order.device, one.pid));
  return FaultLines{fmt::format("{}: kill -{} -{} ({})", order.device, name, one.pid, daemon)};
}

Result<FaultLines> break_bgp_neighbor_shutdown(const FaultOrder& order) {
  return configure_bgp(order, {"neighbor " + order.argument(0) + " shutdown", "end"});
}

Result<FaultLines> break_ecmp_off(const FaultOrder& order) {
  return configure_bgp(order, {"address-family ipv4 unicast", "maximum-paths 1", "end"});
}

Result<FaultLines> break_hung_daemon(const FaultOrder& order) {
  return signal_chosen_daemon(order, SIGSTOP, "STOP");
}
Result<FaultLines> break_resumed_daemon(const FaultOrder& order) {
  return signal_chosen_daemon(order, SIGCONT, "CONT");
}
Result<FaultLines> break_killed_daemon(const FaultOrder& order) {
  // The sonic driver restarts nothing: on a switch that is SONiC's own task.
  for (const TwinDevice& one : order.twin.record.layout.devices)
    if (one.name == order.device && !one.sonic_type.empty())
      return Error{ErrorKind::refused, order.device +
                                           " runs SONiC, and nothing would start the daemon again; "
                                           "there are hung-daemon and sonic-stand-in-dies"};
  return signal_chosen_daemon(order, SIGKILL, "KILL");
}

Result<FaultLines> break_lost_nexthop(const FaultOrder& order) {
  return in_device(order, [&](Session&) -> Result<FaultLines> {
    TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
    TRY(const Sharing sharing, sharing_of(socket, order.argument(0), order.call));
    const auto& members = sharing.group.members;
    const std::uint32_t lost = std::max_element(members.begin(), members.end())->first;
    TRY(const std::uint32_t rest, without(socket, sharing.group, lost, order.call));
    FaultLines out;
    for (const Route& route : sharing.routes) {
      TRY_DONE(point(socket, route, rest, order.call));
      out.push_back(fmt::format("ip route replace {} proto bgp nhid {} (was {}: {} next hops, now {})",
                                route.destination.text(), rest, sharing.group.id, members.size(),
                                members.size() - 1));
    }
    return out;
  });
}

}  // namespace lockstep
