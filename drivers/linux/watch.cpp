#include "drivers/linux/watch.hpp"

#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "drivers/linux/generic_netlink.hpp"
#include "drivers/linux/netlink_socket.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

using netlink::Socket;

constexpr unsigned kGroups[] = {
    RTNLGRP_LINK,         RTNLGRP_IPV4_IFADDR,  RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
    RTNLGRP_IPV6_ROUTE,   RTNLGRP_IPV4_RULE,    RTNLGRP_IPV6_RULE,   RTNLGRP_TC,
    RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_DCB,
};

// A choice: resolving a group is one question to the kernel.
constexpr std::chrono::seconds kResolve{5};

class NamespaceWatch : public Watcher {
 public:
  static Result<std::shared_ptr<Watcher>> over(std::vector<Socket> sockets, std::string device) {
    Descriptor any(::epoll_create1(EPOLL_CLOEXEC));
    for (const Socket& one : sockets) {
      epoll_event event{};
      event.events = EPOLLIN;
      if (!any || ::epoll_ctl(any.number(), EPOLL_CTL_ADD, one.descriptor(), &event) != 0)
        return Error{ErrorKind::transient, std::string("watching: ") + std::strerror(errno)};
    }
    return std::shared_ptr<Watcher>(
        new NamespaceWatch(std::move(sockets), std::move(any), std::move(device)));
  }
  int descriptor() const override { return any_.number(); }

  Result<Woken> drain() override {
    Woken out;
    bool changed = false;
    for (Socket& one : sockets_) TRY_DONE(drain(one, changed, out.all));
    if (changed) out.devices.push_back(device_);
    return out;
  }

 private:
  NamespaceWatch(std::vector<Socket> sockets, Descriptor any, std::string device)
      : sockets_(std::move(sockets)), any_(std::move(any)), device_(std::move(device)) {}

  static Result<Done> drain(Socket& socket, bool& changed, bool& overrun) {
    for (;;) {
      TRY(const Socket::Event event, socket.next_event());
      if (!event.overrun && event.bytes.empty()) return Done{};
      changed = true;
      overrun = overrun || event.overrun;
    }
  }

  std::vector<Socket> sockets_;
  Descriptor any_;  // readable when one of them is
  std::string device_;
};

Result<Socket> open_network() {
  TRY(Socket socket, Socket::open(NETLINK_ROUTE));
  for (const unsigned group : kGroups) TRY_DONE(socket.join(group));
  (void)socket.join(RTNLGRP_NEXTHOP);  // since Linux 5.3
  return socket;
}

// What a family of generic netlink tells of changes, whoever makes them and how.
Result<Socket> open_group(const char* family, std::string_view group) {
  const Call call{.deadline = std::chrono::steady_clock::now() + kResolve, .stop = {}};
  TRY(Socket socket, Socket::open(NETLINK_GENERIC));
  TRY(const std::uint32_t number, netlink::resolve_group(socket, family, group, call));
  TRY_DONE(socket.join(number));
  return socket;
}

Result<std::vector<Socket>> open_all() {
  std::vector<Socket> out;
  TRY(Socket network, open_network());
  out.push_back(std::move(network));
  // Since Linux 5.6, and in kernels with devlink.
  if (auto ethtool = open_group(ETHTOOL_GENL_NAME, ETHTOOL_MCGRP_MONITOR_NAME))
    out.push_back(*std::move(ethtool));
  if (auto devlink = open_group(DEVLINK_GENL_NAME, DEVLINK_GENL_MCGRP_CONFIG_NAME))
    out.push_back(*std::move(devlink));
  return out;
}

}  // namespace

Result<std::shared_ptr<Watcher>> watch_namespace(const std::string& netns_path, const std::string& device) {
  std::optional<Result<std::vector<Socket>>> sockets;
  TRY_DONE(in_namespace(netns_path, [&] { sockets.emplace(open_all()); }));
  if (!*sockets) return sockets->error();
  return NamespaceWatch::over(**std::move(sockets), device);
}

}  // namespace lockstep
