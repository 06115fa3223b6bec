#include "reconciler/twin/management.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "reconciler/twin/cables.hpp"
#include "reconciler/twin/layout.hpp"
#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {

constexpr const char* kBridge = "mgmt";
constexpr std::uint8_t kPrefixLength = 64;
constexpr std::string_view kPrefix = "fd6c:6f63:6b73:0";  // "locks" in ASCII; a private prefix of one twin
constexpr std::chrono::seconds kManagementWait{10};       // a few requests to the local kernel

// FNV-1a: 64 bits, so that two of a twin's device names practically never get one address.
std::uint64_t interface_id(std::string_view device) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : device) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// In the namespace that the calling thread is in.
class Links {
 public:
  static Result<Links> open() {
    TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
    return Links(std::move(socket));
  }
  Result<Done> add_bridge(const std::string& name) {
    netlink::Request request(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    request.header(ifinfomsg{});
    request.put_text(IFLA_IFNAME, name);
    const auto info = request.open_nest(IFLA_LINKINFO);
    request.put_text(IFLA_INFO_KIND, "bridge");
    request.close_nest(info);
    return change(request, "add bridge " + name, EEXIST);
  }
  Result<Done> set_up(const std::string& name) {
    netlink::Request request(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    ifinfomsg header{};
    TRY(header.ifi_index, index_of(name));
    header.ifi_flags = header.ifi_change = IFF_UP;
    request.header(header);
    return change(request, "set " + name + " up", 0);
  }
  // Its MAC address: locally administered (IEEE 802 c), and the last five bytes.
  Result<Done> set_mac(const std::string& name, std::uint64_t bytes) {
    netlink::Request request(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    ifinfomsg header{};
    TRY(header.ifi_index, index_of(name));
    std::array<std::uint8_t, 6> mac{0x02};
    for (std::size_t i = 1; i < mac.size(); ++i, bytes >>= 8) mac[i] = static_cast<std::uint8_t>(bytes);
    request.header(header).put(IFLA_ADDRESS, std::as_bytes(std::span(mac)));
    return change(request, "set the MAC address of " + name, 0);
  }
  // Empty: of no bridge.
  Result<Done> set_bridge(const std::string& name, const std::string& bridge) {
    netlink::Request request(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    ifinfomsg header{};
    TRY(header.ifi_index, index_of(name));
    int master = 0;
    if (!bridge.empty()) {
      TRY(master, index_of(bridge));
    }
    request.header(header).put_number(IFLA_MASTER, static_cast<std::uint32_t>(master));
    return change(request, "set the bridge of " + name, 0);
  }
  Result<Done> add_address(const std::string& name, const std::string& address) {
    netlink::Request request(RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    ifaddrmsg header{};
    TRY(const int index, index_of(name));
    header.ifa_family = AF_INET6;
    header.ifa_prefixlen = kPrefixLength;
    header.ifa_index = static_cast<std::uint32_t>(index);
    request.header(header);
    in6_addr binary{};
    if (::inet_pton(AF_INET6, address.c_str(), &binary) != 1)
      return Error{ErrorKind::refused, "'" + address + "' is no IPv6 address"};
    request.put_number(IFA_LOCAL, binary);
    request.put_number(IFA_FLAGS, std::uint32_t{IFA_F_NODAD});
    return change(request, "add address " + address, EEXIST);
  }

 private:
  explicit Links(netlink::Socket socket) : socket_(std::move(socket)) {}
  static Result<int> index_of(const std::string& name) {
    const unsigned index = ::if_nametoindex(name.c_str());
    if (index == 0) return errno_error("find " + name);
    return static_cast<int>(index);
  }
  Result<Done> change(netlink::Request& request, const std::string& what, int there_already) {
    const Call call{.deadline = std::chrono::steady_clock::now() + kManagementWait, .stop = {}};
    TRY(const netlink::Answer answer, socket_.change(request, call));
    if (answer.code == 0 || (there_already != 0 && answer.code == there_already)) return Done{};
    return netlink::to_error(answer, what);
  }
  netlink::Socket socket_;
};

std::string text_of(std::uint64_t interface) {
  return fmt::format("{}:{:x}:{:x}:{:x}:{:x}", kPrefix, interface >> 48 & 0xffff, interface >> 32 & 0xffff,
                     interface >> 16 & 0xffff, interface & 0xffff);
}

std::string netns_of(const std::string& cluster) { return places(cluster, kController).netns; }

// Of a device's management cable, at the bridge, by its name in a cable.
std::string bridge_end(const std::string& device) { return "to-" + device; }

// In the controller's namespace: from the bridge to the relay that delays a device's frames.
TwinCable late_cable(const std::string& device) {
  return {.device_a = std::string(kController),
          .port_a = "via-" + device,
          .device_b = std::string(kController),
          .port_b = "late-" + device};
}

}  // namespace

std::string management_address(std::string_view device) { return text_of(interface_id(device)); }

Result<Done> make_controller(const std::string& cluster) {
  const std::string name = netns_of(cluster);
  const bool there = open_netns(name).operator bool();
  TRY(const MadeNetns made, there ? reopen_netns(name) : create_netns(name));
  return inside_namespace(made.netns.number(), [&]() -> Result<Done> {
    TRY(Links links, Links::open());
    TRY_DONE(links.add_bridge(kBridge));
    TRY_DONE(links.add_address(kBridge, management_address(kController)));
    return links.set_up(kBridge);
  });
}

Result<Done> connect_management(const std::string& cluster, const std::string& device,
                                const MadeNetns& made) {
  TRY(const MadeNetns controller, reopen_netns(netns_of(cluster)));
  const TwinCable cable{.device_a = device,
                        .port_a = std::string(kManagementPort),
                        .device_b = std::string(kController),
                        .port_b = bridge_end(device)};
  const CableEnds ends{&cable, &made, &controller};
  // A namespace that somebody else deleted lives while a process is in it, and its end of the cable with it.
  TRY_DONE(unwire(cluster, cable));
  TRY_DONE(wire(std::span(&ends, 1), [](std::size_t) { return true; }));
  Result<Done> joined = inside_namespace(controller.netns.number(), [&]() -> Result<Done> {
    TRY(Links links, Links::open());
    TRY_DONE(links.set_bridge(kernel_port_name(cable.port_b), kBridge));
    return links.set_up(kernel_port_name(cable.port_b));
  });
  if (!joined) return joined;
  return inside_namespace(made.netns.number(), [&]() -> Result<Done> {
    TRY(Links links, Links::open());
    // As a NIC that stays in its machine: for a device that is made anew, neighbors would send to the former
    // one's address for up to a minute.
    TRY_DONE(links.set_mac(cable.port_a, interface_id(device)));
    TRY_DONE(links.add_address(cable.port_a, management_address(device)));
    return links.set_up(cable.port_a);
  });
}

std::string management_bridge_port(const std::string& device) { return kernel_port_name(bridge_end(device)); }

Result<Done> undelay_management(const std::string& cluster, const std::string& device) {
  TRY(const MadeNetns controller, reopen_netns(netns_of(cluster)));
  TRY_DONE(unwire(cluster, late_cable(device)));
  return inside_namespace(controller.netns.number(), [&]() -> Result<Done> {
    TRY(Links links, Links::open());
    return links.set_bridge(management_bridge_port(device), kBridge);
  });
}

Result<LateRelay> delay_management(const std::string& cluster, const std::string& device,
                                   std::chrono::milliseconds delay) {
  TRY_DONE(undelay_management(cluster, device));
  TRY(const MadeNetns controller, reopen_netns(netns_of(cluster)));
  const TwinCable cable = late_cable(device);
  const CableEnds ends{&cable, &controller, &controller};
  TRY_DONE(wire(std::span(&ends, 1), [](std::size_t) { return true; }));
  const std::string port = management_bridge_port(device);
  const Result<Done> moved = inside_namespace(controller.netns.number(), [&]() -> Result<Done> {
    TRY(Links links, Links::open());
    TRY_DONE(links.set_bridge(port, ""));
    TRY_DONE(links.set_bridge(kernel_port_name(cable.port_a), kBridge));
    TRY_DONE(links.set_up(kernel_port_name(cable.port_a)));
    return links.set_up(kernel_port_name(cable.port_b));
  });
  if (!moved) return moved.error();
  return LateRelay::start(controller.netns.number(), {port, kernel_port_name(cable.port_b), delay});
}

}  // namespace lockstep
