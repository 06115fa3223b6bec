#include "reconciler/twin/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "drivers/linux/in_namespace.hpp"
#include "reconciler/twin/fault_kinds.hpp"
#include "reconciler/twin/twin.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

constexpr std::array<Fault, 17> kFaults{{
    {"address-removed", "DEVICE PORT [PREFIX]",
     "a port loses its address, and with it the routes that the kernel hangs on it",
     "RTM_DELADDR of the given or first global address", 1, 2, break_address_removed},
    {"bgp-neighbor-shutdown", "DEVICE NEIGHBOR", "a BGP neighbour is shut down by configuration",
     "bgpd vty: neighbor NEIGHBOR shutdown", 1, 1, break_bgp_neighbor_shutdown},
    {"ecmp-off", "DEVICE", "a switch uses one path of several", "bgpd vty: maximum-paths 1", 0, 0,
     break_ecmp_off},
    {"hash-policy", "DEVICE [POLICY=0]", "all flows of an address pair take one path",
     "net.ipv4.fib_multipath_hash_policy", 0, 1, break_hash_policy},
    {"hung-daemon", "DEVICE [DAEMON=bgpd]", "a daemon hangs: it is there and does nothing",
     "SIGSTOP to the twin's own daemon", 0, 1, break_hung_daemon},
    {"killed-daemon", "DEVICE [DAEMON=bgpd]", "a daemon dies; nothing starts it again by itself",
     "SIGKILL to the twin's own daemon", 0, 1, break_killed_daemon},
    {"link-down", "DEVICE PORT", "a port is set down; the other end loses its carrier",
     "RTM_NEWLINK without IFF_UP", 1, 1, break_link_down},
    {"link-flap", "DEVICE PORT [TIMES=1]", "a port goes down and up again, 100 ms each",
     "RTM_NEWLINK without and with IFF_UP", 1, 2, break_link_flap},
    {"lost-nexthop", "DEVICE [PREFIX]",
     "the kernel forwards a BGP route on one path less, while FRR calls all of them installed",
     "RTM_NEWROUTE with all next hops but one, as protocol bgp, for every BGP route of the group or for "
     "PREFIX",
     0, 1, break_lost_nexthop},
    {"miscabled", "DEVICE PORT DEVICE PORT",
     "two cables are swapped; addresses and routes of both ports go with it",
     "RTM_NEWLINK moves and renames the two veth ends", 3, 3, break_miscabled},
    {"mtu", "DEVICE PORT [MTU=1500]", "a port's MTU is too small: larger packets vanish",
     "RTM_NEWLINK IFLA_MTU", 1, 2, break_mtu},
    {"offload", "DEVICE PORT tso|gso|gro on|off", "segmentation offload is not as wanted",
     "ETHTOOL_MSG_FEATURES_SET", 3, 3, break_offload},
    {"packet-loss", "DEVICE PORT [SHARE=1%]",
     "a port drops a share of the packets that it receives; 0% ends it",
     "a 6-instruction eBPF program (bpf_get_prandom_u32) on the port's clsact ingress", 1, 2,
     break_packet_loss},
    {"resumed-daemon", "DEVICE [DAEMON=bgpd]", "a hung daemon goes on", "SIGCONT to the twin's own daemon", 0,
     1, break_resumed_daemon},
    {"slow-link", "DEVICE PORT [RATE=100Mbps]", "a port sends slower than it should",
     "the port's egress rate (tbf)", 1, 2, break_slow_link},
    {"sysctl", "DEVICE NAME VALUE", "a kernel parameter is wrong",
     "a write to /proc/sys/net in the namespace", 2, 2, break_sysctl},
    {"wrong-address", "DEVICE PORT [PREFIX]", "a port has another address than it should",
     "RTM_DELADDR of the first global address, RTM_NEWADDR of another (192.0.2.0/24, RFC 5737)", 1, 2,
     break_wrong_address},
}};

Result<const Fault*> fault_of(const std::string& name) {
  std::string known;
  for (const Fault& one : kFaults) {
    if (one.name == name) return &one;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
  }
  return Error{ErrorKind::invalid_spec, fmt::format("there is no fault '{}'; there are: {}", name, known)};
}

}  // namespace

std::span<const Fault> faults() { return kFaults; }

Result<FaultLines> break_twin(const std::string& cluster, const std::string& fault,
                              const std::vector<std::string>& words, const Call& call) {
  TRY(const Fault* wanted, fault_of(fault));
  if (words.size() < wanted->least + 1 || words.size() > wanted->most + 1)
    return Error{ErrorKind::invalid_spec, fmt::format("{} takes {}", wanted->name, wanted->arguments)};
  TRY(const TwinReport report, status(cluster));
  if (!report.alive)
    return Error{ErrorKind::refused, "twin " + cluster + " is dead: `lockstep twin up` brings it back"};
  const auto& devices = report.record.layout.devices;
  const auto has = [&](const std::string& name) {
    return std::any_of(devices.begin(), devices.end(),
                       [&](const TwinDevice& one) { return one.name == name; });
  };
  FaultOrder order{
      cluster, words.front(), places(cluster, words.front()), {words.begin() + 1, words.end()}, call};
  if (!has(order.device))
    return Error{ErrorKind::invalid_spec, "the twin has no device '" + order.device + "'"};
  return wanted->make(order);
}

Result<FaultLines> in_device(const FaultOrder& order,
                             const std::function<Result<FaultLines>(Session&)>& body) {
  Result<FaultLines> out = FaultLines{};
  TRY_DONE(in_namespace(order.at.netns_path, [&] {
    auto session = Session::open(order.call);
    if (session)
      out = body(*session);
    else
      out = std::move(session.error());
  }));
  if (!out) return wrap(order.device, std::move(out.error()));
  for (std::string& line : *out) line = order.device + ": " + line;
  return out;
}

Result<Link> port_of(const FaultOrder& order, const std::string& port) {
  const std::string name = kernel_port_name(port);
  Result<Link> out = Error{ErrorKind::invalid_spec, ""};
  TRY_DONE(in_namespace(order.at.netns_path, [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    if (!socket) return void(out = std::move(socket.error()));
    auto links = read_links(*socket, order.call);
    if (!links) return void(out = std::move(links.error()));
    std::string known;
    for (const Link& one : *links) {
      if (one.name == name) return void(out = one);
      if (!one.loopback) known += (known.empty() ? "" : ", ") + one.name;
    }
    out = Error{ErrorKind::invalid_spec,
                fmt::format("{} has no port '{}'; it has {}", order.device, port, known)};
  }));
  return out;
}

}  // namespace lockstep
