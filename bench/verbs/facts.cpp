// What an end reads about itself for the pre-check: sysfs, rtnetlink, its own limits.
#include <linux/capability.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "bench/verbs/precheck.hpp"
#include "drivers/linux/kernel_state.hpp"

namespace lockstep::bench::verbs {
namespace {

std::string said(int error) { return std::generic_category().message(error); }

// include/uapi/linux/neighbour.h, NUD_*; in the terms of ip-neighbour(8).
std::string neighbour_words(std::uint16_t state) {
  constexpr std::array words{std::pair{NUD_PERMANENT, "permanent"},   std::pair{NUD_NOARP, "noarp"},
                             std::pair{NUD_REACHABLE, "reachable"},   std::pair{NUD_STALE, "stale"},
                             std::pair{NUD_DELAY, "delay"},           std::pair{NUD_PROBE, "probe"},
                             std::pair{NUD_INCOMPLETE, "incomplete"}, std::pair{NUD_FAILED, "failed"}};
  for (const auto& [bit, word] : words)
    if ((state & bit) != 0) return word;
  return {};
}

// ib_umem_get (drivers/infiniband/core/umem.c) checks the limit only without CAP_IPC_LOCK.
std::uint64_t memlock_limit() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &header, data.data()) == 0 && (data[0].effective >> CAP_IPC_LOCK & 1U) != 0)
    return unlimited;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return limit.rlim_cur;
}

// Why the device's user-space file can't be opened; empty: it can.
std::string device_file_trouble(const HostFiles& files, const std::string& device) {
  const std::string folder = "/sys/class/infiniband_verbs/";
  for (const std::string& name : files.names(folder)) {
    const auto of = files.line(folder + name + "/ibdev");
    const std::string file = "/dev/infiniband/" + name;
    if (of && *of == device && ::access(file.c_str(), R_OK | W_OK) != 0) return file + ": " + said(errno);
  }
  return {};
}

// What the kernel would do with a packet to the peer that leaves by this interface.
void read_route(netlink::Socket& socket, const IpAddress& peer, std::uint32_t netdev, const Call& call,
                Facts& out, std::uint32_t& leaves_by) {
  netlink::Request request(RTM_GETROUTE, NLM_F_ACK);
  rtmsg header{};
  header.rtm_family = family_of(peer);
  header.rtm_dst_len = static_cast<std::uint8_t>(peer.width());
  header.rtm_flags = RTM_F_FIB_MATCH;  // the route itself, not a copy for this packet
  request.header(header).put(RTA_DST, lockstep::bytes_of(peer)).put_number(RTA_OIF, netdev);
  const auto answer = socket.ask(request, call, [&](const netlink::Message& message) -> Result<Done> {
    TRY(const auto route, decode_route(message.payload));
    if (!route || route->hops.empty()) return Done{};
    leaves_by = route->hops.front().index;
    out.next_hop = route->hops.front().gateway ? route->hops.front().gateway->text() : peer.text();
    return Done{};
  });
  if (answer && answer->code != 0) out.no_route = said(-answer->code);
}

void read_network_facts(const Call& call, Facts& out) {
  auto socket = netlink::Socket::open(NETLINK_ROUTE);
  const auto own = lockstep::parse_address(out.address);
  if (!socket || !own) return;
  const auto network =
      read_network(*socket, Wanted{.addresses = true, .routes = false, .rules = false}, call);
  if (!network) return;
  const auto has = std::find_if(network->addresses.begin(), network->addresses.end(),
                                [&](const InterfaceAddress& one) { return one.prefix.address == *own; });
  const Link* const link = has == network->addresses.end() ? nullptr : network->link(has->index);
  if (link == nullptr) return;
  out.netdev = link->name;
  out.up = link->admin_up;
  out.carrier = link->carrier;
  out.netdev_mtu = link->mtu;
  const auto peer = lockstep::parse_address(out.peer);
  if (!peer) return;
  std::uint32_t leaves_by = 0;
  read_route(*socket, *peer, link->index, call, out, leaves_by);
  const Link* const leaves = network->link(leaves_by);
  if (leaves != nullptr) out.leaves_by = leaves->name;
  const auto neighbours = read_neighbours(*socket, call);
  if (!neighbours) return;
  for (const Neighbour& one : *neighbours)
    if (one.index == link->index && one.address.text() == out.next_hop)
      out.neighbour = neighbour_words(one.state);
}

}  // namespace

Facts read_facts(const HostFiles& files, const std::string& address, const std::string& wanted_device,
                 const std::string& peer, const Call& call) {
  Facts out;
  out.address = address;
  out.wanted_device = wanted_device;
  out.peer = peer;
  out.devices = read_rdma_devices(files, call);
  out.memlock = memlock_limit();
  if (const auto gid = choose_gid(out.devices, address, wanted_device))
    out.cannot_open = device_file_trouble(files, gid->device);
  read_network_facts(call, out);
  return out;
}

}  // namespace lockstep::bench::verbs
