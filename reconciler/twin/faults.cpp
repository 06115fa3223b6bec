#include "reconciler/twin/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "drivers/posix/in_namespace.hpp"
#include "reconciler/twin/fault_kinds.hpp"
#include "reconciler/twin/twin.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

constexpr std::array<Fault, 27> kFaults{{
    {.name = "address-removed",
     .arguments = "DEVICE PORT [PREFIX]",
     .what = "a port loses its address, and with it the routes that the kernel hangs on it",
     .shown_by = "interface[PORT]/address[PREFIX] and the routes over it; apply repairs it",
     .native = "RTM_DELADDR of the given or first global address",
     .least = 1,
     .most = 2,
     .make = break_address_removed},
    {.name = "agent-clock",
     .arguments = "DEVICE [behind|ahead|off]",
     .what = "an agent's clock is off by more than a day, as its certificates see it",
     .shown_by =
         "`drift` and `apply` say that the agent refused the controller's certificate; \"off\" ends it",
     .native = "the agent's copy of the CA certificate, signed with other dates: CLOCK_REALTIME has no "
               "namespace",
     .least = 0,
     .most = 1,
     .of_agents = true,
     .make = break_agent_clock},
    {.name = "agent-delay",
     .arguments = "DEVICE [DELAY=500ms|off]",
     .what = "the management path to an agent takes long, both ways",
     .shown_by =
         "that every command takes longer; beyond a call's deadline the agent does not answer in time",
     .native = "a relay between the bridge and the device's management cable",
     .least = 0,
     .most = 1,
     .of_agents = true,
     .make = break_agent_delay},
    {.name = "agent-killed",
     .arguments = "DEVICE [on|off]",
     .what = "an agent dies; \"off\" starts it, as systemd would",
     .shown_by = "`drift` and `apply` say that nothing listens at the agent's address",
     .native = "SIGKILL to the twin's own lockstep-agent",
     .least = 0,
     .most = 1,
     .of_agents = true,
     .make = break_agent_killed},
    {.name = "agent-loss",
     .arguments = "DEVICE [SHARE=10%|off]",
     .what = "the management path to an agent loses a share of the packets, both ways",
     .shown_by = "that commands take longer; with 100% the agent does not answer in time",
     .native = "a 6-instruction eBPF program at both hooks of clsact, on the bridge's port",
     .least = 0,
     .most = 1,
     .of_agents = true,
     .make = break_agent_loss},
    {.name = "agent-partition",
     .arguments = "DEVICE [on|off]",
     .what = "the management path to an agent is cut, at the switch above it",
     .shown_by = "`drift` and `apply` say that the agent can't be reached; an armed change is rolled back",
     .native = "RTM_NEWLINK without IFF_UP on the bridge's port",
     .least = 0,
     .most = 1,
     .of_agents = true,
     .make = break_agent_partition},
    {.name = "agent-revoked",
     .arguments = "DEVICE [on|off]",
     .what = "an agent's certificate is revoked; \"off\" gives it a new one",
     .shown_by = "`drift` and `apply` say that the agent's certificate was revoked",
     .native = "the revocation list of the twin's CA",
     .least = 0,
     .most = 1,
     .of_agents = true,
     .make = break_agent_revoked},
    {.name = "agent-stopped",
     .arguments = "DEVICE [on|off]",
     .what = "an agent hangs: its port takes connections and nothing answers; \"off\" lets it go on",
     .shown_by = "`drift` and `apply` say that the agent did not answer in time",
     .native = "SIGSTOP and SIGCONT to the twin's own lockstep-agent",
     .least = 0,
     .most = 1,
     .of_agents = true,
     .make = break_agent_stopped},
    {.name = "bgp-neighbor-shutdown",
     .arguments = "DEVICE NEIGHBOR",
     .what = "a BGP neighbor is shut down by configuration",
     .shown_by = "bgp/neighbor[NEIGHBOR]/shutdown; apply repairs it",
     .native = "bgpd vty: neighbor NEIGHBOR shutdown",
     .least = 1,
     .most = 1,
     .make = break_bgp_neighbor_shutdown},
    {.name = "ecmp-off",
     .arguments = "DEVICE",
     .what = "a switch uses one path of several",
     .shown_by = "bgp/max-paths; apply repairs it",
     .native = "bgpd vty: maximum-paths 1",
     .least = 0,
     .most = 0,
     .make = break_ecmp_off},
    {.name = "hash-policy",
     .arguments = "DEVICE [POLICY=0]",
     .what = "all flows of an address pair take one path",
     .shown_by = "sysctl[net.ipv4.fib_multipath_hash_policy]; apply repairs it",
     .native = "net.ipv4.fib_multipath_hash_policy",
     .least = 0,
     .most = 1,
     .make = break_hash_policy},
    {.name = "hung-daemon",
     .arguments = "DEVICE [DAEMON=bgpd]",
     .what = "a daemon hangs: it is there and does nothing",
     .shown_by = "routing-daemon[*] or lldp-agent does not answer; apply starts it anew",
     .native = "SIGSTOP to the twin's own daemon",
     .least = 0,
     .most = 1,
     .make = break_hung_daemon},
    {.name = "killed-daemon",
     .arguments = "DEVICE [DAEMON=bgpd]",
     .what = "a daemon dies; nothing starts it again by itself",
     .shown_by = "routing-daemon[*] or lldp-agent does not run; apply starts it",
     .native = "SIGKILL to the twin's own daemon",
     .least = 0,
     .most = 1,
     .make = break_killed_daemon},
    {.name = "link-down",
     .arguments = "DEVICE PORT",
     .what = "a port is set down; the other end loses its carrier",
     .shown_by = "interface[PORT]/admin, and carrier at both ends; apply repairs it",
     .native = "RTM_NEWLINK without IFF_UP",
     .least = 1,
     .most = 1,
     .make = break_link_down},
    {.name = "link-flap",
     .arguments = "DEVICE PORT [TIMES=1]",
     .what = "a port goes down and up again, 100 ms each",
     .shown_by = "sessions and fib[*] until they are back; apply repairs what does not come back",
     .native = "RTM_NEWLINK without and with IFF_UP",
     .least = 1,
     .most = 2,
     .make = break_link_flap},
    {.name = "lost-nexthop",
     .arguments = "DEVICE [PREFIX]",
     .what = "the kernel forwards a BGP route on one path less, while FRR calls all of them installed",
     .shown_by = "fib[PREFIX]; apply repairs it",
     .native = "RTM_NEWROUTE with all next hops but one, as protocol bgp, for every BGP route of the group "
               "or for PREFIX",
     .least = 0,
     .most = 1,
     .make = break_lost_nexthop},
    {.name = "miscabled",
     .arguments = "DEVICE PORT DEVICE PORT",
     .what = "two cables are swapped; addresses and routes of both ports go with it",
     .shown_by = "interface[PORT]/peer at all four ends; only swapping them back ends it",
     .native = "RTM_NEWLINK moves and renames the two veth ends",
     .least = 3,
     .most = 3,
     .make = break_miscabled},
    {.name = "mtu",
     .arguments = "DEVICE PORT [MTU=1500]",
     .what = "a port's MTU is too small: larger packets vanish",
     .shown_by = "interface[PORT]/mtu; apply repairs it",
     .native = "RTM_NEWLINK IFLA_MTU",
     .least = 1,
     .most = 2,
     .make = break_mtu},
    {.name = "offload",
     .arguments = "DEVICE PORT tso|gso|gro on|off",
     .what = "a segmentation offload is on or off against the specs",
     .shown_by = "interface[PORT]/offload[*]; apply repairs it",
     .native = "ETHTOOL_MSG_FEATURES_SET",
     .least = 3,
     .most = 3,
     .make = break_offload},
    {.name = "packet-loss",
     .arguments = "DEVICE PORT [SHARE=1%]",
     .what = "a port drops a share of the packets that it receives; 0% ends it",
     .shown_by =
         "the finding diverted[POOL]/filters, which is no drift; `bench` fails and names link or host, "
         "where TCP can't make up for the loss (40% does)",
     .native = "a 6-instruction eBPF program (bpf_get_prandom_u32) on the port's clsact ingress",
     .least = 1,
     .most = 2,
     .make = break_packet_loss},
    {.name = "resumed-daemon",
     .arguments = "DEVICE [DAEMON=bgpd]",
     .what = "a hung daemon goes on",
     .shown_by = "that what hung-daemon had shown is gone",
     .native = "SIGCONT to the twin's own daemon",
     .least = 0,
     .most = 1,
     .make = break_resumed_daemon},
    {.name = "slow-link",
     .arguments = "DEVICE PORT [RATE=100Mbps]",
     .what = "a port sends slower than it should",
     .shown_by = "interface[PORT]/rate; apply repairs it",
     .native = "the port's egress rate (tbf)",
     .least = 1,
     .most = 2,
     .make = break_slow_link},
    {.name = "sonic-ignores-row",
     .arguments = "DEVICE TABLE|\"TABLE|KEY\" [on|off]",
     .what = "the stand-in for SONiC's daemons ignores what changes in a table or a row of CONFIG_DB",
     .shown_by = "nothing, until such a row changes; then what the row was for: of a neighbor "
                 "bgp/neighbor[*]/session at both ends; \"off\" ends it",
     .native = "an order to the twin's own sonic-stand-in",
     .least = 1,
     .most = 2,
     .of_sonic = true,
     .make = break_sonic_ignores_row},
    {.name = "sonic-reports-up",
     .arguments = "DEVICE PORT [on|off]",
     .what = "a port of a SONiC switch is down, and APPL_DB has it up",
     .shown_by = "interface[*]/carrier at the other end, and sessions over it at both; \"off\" ends it",
     .native = "an order to the twin's own sonic-stand-in",
     .least = 1,
     .most = 2,
     .of_sonic = true,
     .make = break_sonic_reports_up},
    {.name = "sonic-stand-in-dies",
     .arguments = "DEVICE [on|off]",
     .what =
         "the stand-in for SONiC's daemons dies when it has carried half of the next change; \"off\" starts "
         "it, as systemd would",
     .shown_by = "what the other half was for, at the other ends; `twin status` has it as ended",
     .native = "an order to the twin's own sonic-stand-in",
     .least = 0,
     .most = 1,
     .of_sonic = true,
     .make = break_sonic_stand_in_dies},
    {.name = "sysctl",
     .arguments = "DEVICE NAME VALUE",
     .what = "a kernel parameter is wrong",
     .shown_by = "sysctl[NAME], where specs want it; apply repairs it",
     .native = "a write to /proc/sys/net in the namespace",
     .least = 2,
     .most = 2,
     .make = break_sysctl},
    {.name = "wrong-address",
     .arguments = "DEVICE PORT [PREFIX]",
     .what = "a port has another address than it should",
     .shown_by = "interface[PORT]/address[*] and the routes over it; apply repairs it",
     .native = "RTM_DELADDR of the first global address, RTM_NEWADDR of another (192.0.2.0/24, RFC 5737)",
     .least = 1,
     .most = 2,
     .make = break_wrong_address},
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
  TRY(TwinReport report, status(cluster));
  if (!report.alive)
    return Error{ErrorKind::refused, "twin " + cluster + " is dead: `lockstep twin up` brings it back"};
  const FaultOrder order{std::move(report),
                         words.front(),
                         places(cluster, words.front()),
                         {words.begin() + 1, words.end()},
                         call};
  const auto& devices = order.twin.record.layout.devices;
  const auto device = std::ranges::find(devices, order.device, &TwinDevice::name);
  if (device == devices.end())
    return Error{ErrorKind::invalid_spec, "the twin has no device '" + order.device +
                                              "'; if you added it to the specs, run `lockstep twin up`"};
  if (wanted->of_agents && !order.twin.record.agents)
    return Error{ErrorKind::refused,
                 fmt::format("{} needs a twin with agents: take this one down, and bring it "
                             "up with `lockstep twin up --agents`",
                             wanted->name)};
  if (wanted->of_sonic && device->sonic_type.empty())
    return Error{ErrorKind::refused,
                 fmt::format("{} is for a device whose specs say `drivers: [sonic]`, and {} "
                             "is none",
                             wanted->name, order.device)};
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
  std::set<std::string> known;
  for (const TwinCable& cable : order.twin.record.layout.cables) {
    if (cable.device_a == order.device) known.insert(cable.port_a);
    if (cable.device_b == order.device) known.insert(cable.port_b);
  }
  if (known.contains(port)) return link_of(order, kernel_port_name(port));
  return Error{ErrorKind::invalid_spec,
               fmt::format("{} has no port '{}'; it has {}", order.device, port, fmt::join(known, ", "))};
}

Result<Link> link_of(const FaultOrder& order, const std::string& name) {
  Result<Link> out = Error{ErrorKind::refused, fmt::format("{} has lost its {}", order.device, name)};
  TRY_DONE(in_namespace(order.at.netns_path, [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    if (!socket) return void(out = std::move(socket.error()));
    auto links = read_links(*socket, order.call);
    if (!links) return void(out = std::move(links.error()));
    for (const Link& one : *links)
      if (one.name == name) return void(out = one);
  }));
  return out;
}

}  // namespace lockstep
