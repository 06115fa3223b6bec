#include "reconciler/twin/cables.hpp"

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {

// Requests per send: 128 of about 130 bytes are far below the default send buffer (212992 bytes, socket(7)),
// and cancellation is checked often enough (about 30 ms of kernel work).
constexpr std::size_t kBatch = 128;
constexpr std::chrono::seconds kWait{
    10};  // 128 pairs take 30-60 ms on two cores; a kernel this late is stuck

Call bounded() { return Call{std::chrono::steady_clock::now() + kWait, {}, -1}; }

netlink::Request veth_request(const CableEnds& wiring) {
  netlink::Request out(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
  out.header(ifinfomsg{});
  out.put_text(IFLA_IFNAME, kernel_port_name(wiring.cable->port_a));
  out.put_number(IFLA_NET_NS_FD, wiring.a->netns.number());
  const auto link = out.open_nest(IFLA_LINKINFO);
  out.put_text(IFLA_INFO_KIND, "veth");
  const auto kind = out.open_nest(IFLA_INFO_DATA);
  const auto peer = out.open_nest(VETH_INFO_PEER);
  out.header(ifinfomsg{});
  out.put_text(IFLA_IFNAME, kernel_port_name(wiring.cable->port_b));
  out.put_number(IFLA_NET_NS_FD, wiring.b->netns.number());
  out.close_nest(peer);
  out.close_nest(kind);
  out.close_nest(link);
  return out;
}

Result<Done> ethtool(int socket, const std::string& interface, ethtool_value& value) {
  ifreq request{};
  std::memcpy(request.ifr_name, interface.data(), std::min(interface.size(), sizeof(request.ifr_name) - 1));
  request.ifr_data = reinterpret_cast<char*>(&value);
  if (::ioctl(socket, SIOCETHTOOL, &request) != 0) return errno_error("ethtool " + interface);
  return Done{};
}

Result<Done> set_altname(const MadeNetns& place, const std::string& port) {
  const std::string name = kernel_port_name(port);
  if (name == port) return Done{};
  // A link in another namespace needs a socket there; this is rare, so one socket per name is enough.
  netlink::Request request(RTM_NEWLINKPROP, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
  request.header(ifinfomsg{});
  request.put_text(IFLA_IFNAME, name);
  const auto list = request.open_nest(IFLA_PROP_LIST);
  request.put_text(IFLA_ALT_IFNAME, port);
  request.close_nest(list);
  return inside_namespace(place.netns.number(), [&]() -> Result<Done> {
    TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
    TRY(const netlink::Answer answer, socket.change(request, bounded()));
    if (answer.code != 0) return netlink::to_error(answer, "altname " + port);
    return Done{};
  });
}

Result<Done> finish_cable(const CableEnds& wiring) {
  TRY_DONE(set_altname(*wiring.a, wiring.cable->port_a));
  TRY_DONE(set_altname(*wiring.b, wiring.cable->port_b));
  if (wiring.cable->segmentation_offload) return Done{};
  TRY_DONE(
      set_segmentation_offload(wiring.a->socket.number(), kernel_port_name(wiring.cable->port_a), false));
  return set_segmentation_offload(wiring.b->socket.number(), kernel_port_name(wiring.cable->port_b), false);
}

}  // namespace

Result<Done> wire(std::span<const CableEnds> wirings, const std::function<bool(std::size_t)>& done) {
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  for (std::size_t from = 0; from < wirings.size(); from += kBatch) {
    const auto some = wirings.subspan(from, std::min(kBatch, wirings.size() - from));
    std::vector<netlink::Request> requests;
    for (const CableEnds& one : some) requests.push_back(veth_request(one));
    std::vector<netlink::Answer> answers;
    TRY_DONE(socket.change_all(requests, bounded(), answers));
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (answers[i].code != 0) return netlink::to_error(answers[i], piece_text(*some[i].cable));
      if (auto finished = finish_cable(some[i]); !finished)
        return wrap(piece_text(*some[i].cable), std::move(finished.error()));
    }
    if (!done(from + some.size())) return Error{ErrorKind::cancelled, "stopped while cabling"};
  }
  return Done{};
}

Result<Done> set_segmentation_offload(int socket, const std::string& interface, bool on) {
  // veth has GRO off by default; "on" restores the state after its creation.
  const std::array<ethtool_value, 3> wanted{
      {{ETHTOOL_SGSO, on ? 1U : 0U}, {ETHTOOL_STSO, on ? 1U : 0U}, {ETHTOOL_SGRO, 0U}}};
  for (ethtool_value one : wanted) TRY_DONE(ethtool(socket, interface, one));
  return Done{};
}

Result<bool> segmentation_offload(int socket, const std::string& interface) {
  for (const std::uint32_t command :
       {std::uint32_t{ETHTOOL_GGSO}, std::uint32_t{ETHTOOL_GTSO}, std::uint32_t{ETHTOOL_GGRO}}) {
    ethtool_value value{command, 0};
    TRY_DONE(ethtool(socket, interface, value));
    if (value.data != 0) return true;
  }
  return false;
}

Result<Done> unwire(const std::string& cluster, const TwinCable& cable) {
  for (const auto& [device, port] :
       {std::pair(&cable.device_a, &cable.port_a), std::pair(&cable.device_b, &cable.port_b)}) {
    const Result<Descriptor> netns = open_netns(places(cluster, *device).netns);
    if (!netns) continue;  // the namespace is gone, and its end with it
    netlink::Request request(RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK);
    request.header(ifinfomsg{});
    request.put_text(IFLA_IFNAME, kernel_port_name(*port));
    TRY_DONE(inside_namespace(netns->number(), [&]() -> Result<Done> {
      TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
      TRY(const netlink::Answer answer, socket.change(request, bounded()));
      if (answer.code == 0 || answer.code == ENODEV) return Done{};
      return netlink::to_error(answer, "take away " + piece_text(cable));
    }));
  }
  return Done{};
}

TwinLayout standing(const TwinLayout& layout) {
  std::map<std::string, std::vector<std::string>> wanted;  // by device
  for (const TwinCable& cable : layout.cables) {
    wanted[cable.device_a].push_back(cable.port_a);
    wanted[cable.device_b].push_back(cable.port_b);
  }
  TwinLayout out{layout.cluster, {}, {}};
  std::set<std::pair<std::string, std::string>> there;
  for (const TwinDevice& device : layout.devices) {
    const Result<Descriptor> netns = open_netns(places(layout.cluster, device.name).netns);
    if (!netns) continue;
    const Result<Done> entered = inside_namespace(netns->number(), [&]() -> Result<Done> {
      for (const std::string& port : wanted[device.name])
        if (::if_nametoindex(kernel_port_name(port).c_str()) != 0) there.emplace(device.name, port);
      return Done{};
    });
    if (entered) out.devices.push_back(device);
  }
  for (const TwinCable& cable : layout.cables)
    if (there.contains({cable.device_a, cable.port_a}) && there.contains({cable.device_b, cable.port_b}))
      out.cables.push_back(cable);
  return out;
}

std::vector<std::string> lost_cables(const TwinLayout& layout) {
  std::set<std::string> there;
  for (const TwinCable& cable : standing(layout).cables) there.insert(piece_text(cable));
  std::vector<std::string> out;
  for (const TwinCable& cable : layout.cables)
    if (std::string words = piece_text(cable); !there.contains(words)) out.push_back(std::move(words));
  return out;
}

}  // namespace lockstep
