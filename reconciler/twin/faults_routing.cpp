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

Result<FaultLines> configure_bgp(const FaultOrder& order, const std::vector<std::string>& lines) {
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

Result<FaultLines> signal_daemon(const FaultOrder& order, int number, const char* name) {
  const std::string daemon = order.argument(0, "bgpd");
  TRY(const TwinReport report, status(order.cluster));
  for (const DaemonState& one : report.daemons) {
    if (one.device != order.device || one.name != daemon) continue;
    if (one.pid <= 0)
      return Error{ErrorKind::refused, fmt::format("{}: {} does not run: {}", order.device, daemon, one.how)};
    // The supervisor, its parent, has just told that it lives, and it alone could free the number.
    if (::kill(one.pid, number) != 0) return errno_error(fmt::format("{}: kill {}", order.device, one.pid));
    return FaultLines{fmt::format("{}: kill -{} {} ({})", order.device, name, one.pid, daemon)};
  }
  return Error{ErrorKind::invalid_spec, fmt::format("{} has no daemon '{}'", order.device, daemon)};
}

struct Group {
  Route route;
  NextHopObject object;
};

// The first route of BGP (or of `prefix`) that has a group of several next hops behind it; lowest prefix
// first, so that the choice does not depend on the kernel's order.
Result<Group> group_of(netlink::Socket& socket, const std::string& prefix, const Call& call) {
  TRY(const NetworkState state,
      read_network(socket, {.addresses = false, .routes = true, .rules = false}, call));
  std::optional<Group> found;
  for (const Route& route : state.routes) {
    if (route.nexthop_id == 0 || (!prefix.empty() && route.destination.text() != prefix)) continue;
    if (prefix.empty() && route.protocol != RTPROT_BGP) continue;
    for (const NextHopObject& object : state.nexthops)
      if (object.id == route.nexthop_id && object.members.size() > 1 &&
          (!found || route.destination < found->route.destination))
        found = Group{route, object};
  }
  if (found) return *std::move(found);
  return Error{ErrorKind::refused, prefix.empty()
                                       ? "no BGP route with several next hops is in the kernel"
                                       : "the kernel has no route " + prefix + " with several next hops"};
}

// The group without the member of the highest id.
Result<Done> replace_group(netlink::Socket& socket, const NextHopObject& group, std::uint32_t lost,
                           const Call& call) {
  std::vector<nexthop_grp> members;
  for (const auto& [id, weight] : group.members) {
    nexthop_grp one{};
    one.id = id;
    one.weight = static_cast<__u8>(weight - 1);  // the kernel's is one less (linux/nexthop.h)
    if (id != lost) members.push_back(one);
  }
  nhmsg header{};
  header.nh_family = AF_UNSPEC;
  header.nh_protocol = RTPROT_ZEBRA;  // as it was
  netlink::Request request(RTM_NEWNEXTHOP, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
  request.header(header).put_number(NHA_ID, group.id);
  request.put(NHA_GROUP, std::as_bytes(std::span<const nexthop_grp>(members)));
  TRY(const netlink::Answer answer, socket.change(request, call));
  if (answer.code != 0) return netlink::to_error(answer, fmt::format("replace next-hop group {}", group.id));
  return Done{};
}

}  // namespace

Result<FaultLines> break_bgp_neighbor_shutdown(const FaultOrder& order) {
  return configure_bgp(order, {"neighbor " + order.argument(0) + " shutdown", "end"});
}

Result<FaultLines> break_ecmp_off(const FaultOrder& order) {
  return configure_bgp(order, {"address-family ipv4 unicast", "maximum-paths 1", "end"});
}

Result<FaultLines> break_hung_daemon(const FaultOrder& order) {
  return signal_daemon(order, SIGSTOP, "STOP");
}
Result<FaultLines> break_resumed_daemon(const FaultOrder& order) {
  return signal_daemon(order, SIGCONT, "CONT");
}
Result<FaultLines> break_killed_daemon(const FaultOrder& order) {
  return signal_daemon(order, SIGKILL, "KILL");
}

Result<FaultLines> break_lost_nexthop(const FaultOrder& order) {
  return in_device(order, [&](Session&) -> Result<FaultLines> {
    TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
    TRY(const Group group, group_of(socket, order.argument(0), order.call));
    const auto lost = std::max_element(group.object.members.begin(), group.object.members.end());
    TRY_DONE(replace_group(socket, group.object, lost->first, order.call));
    return FaultLines{fmt::format(
        "ip nexthop replace id {} group: {} members, without {} ({} and every other route that uses it)",
        group.object.id, group.object.members.size() - 1, lost->first, group.route.destination.text())};
  });
}

}  // namespace lockstep
