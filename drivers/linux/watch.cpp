#include "drivers/linux/watch.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <linux/filter.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
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
    RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_DCB,         RTNLGRP_NEIGH,
};

// Arbitrary: resolving a group is one request to the kernel.
constexpr std::chrono::seconds kResolve{5};

Error watching_failed() { return {ErrorKind::transient, std::string("watching: ") + std::strerror(errno)}; }

// Identifies a path's namespace: open sockets keep a removed namespace alive, so that no other one gets its
// number meanwhile.
struct Identity {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const Identity&) const = default;
};
std::optional<Identity> identity_of(const char* path) {
  struct stat at {};
  if (::stat(path, &at) != 0) return std::nullopt;
  return Identity{at.st_dev, at.st_ino};
}

// What is opened in one namespace.
struct Opened {
  std::vector<Socket> sockets;
  std::optional<Identity> identity{};
};

class NamespaceWatch : public Watcher {
 public:
  // `mounts`: becomes readable when something is mounted or unmounted, as named namespaces are; none: the
  // namespace is this thread's.
  static Result<std::shared_ptr<Watcher>> over(Opened opened, Descriptor mounts, std::string path,
                                               std::string device) {
    Descriptor any(::epoll_create1(EPOLL_CLOEXEC));
    const auto add = [&any](int descriptor, std::uint32_t what) {
      epoll_event event{};
      event.events = what;
      return any && ::epoll_ctl(any.number(), EPOLL_CTL_ADD, descriptor, &event) == 0;
    };
    for (const Socket& one : opened.sockets)
      if (!add(one.descriptor(), EPOLLIN)) return watching_failed();
    if (mounts && !add(mounts.number(), EPOLLPRI)) return watching_failed();
    return std::shared_ptr<Watcher>(new NamespaceWatch(std::move(opened), std::move(mounts), std::move(any),
                                                       std::move(path), std::move(device)));
  }
  int descriptor() const override { return any_.number(); }

  Result<Woken> drain() override {
    if (mounts_ && identity_of(path_.c_str()) != opened_.identity)
      return Error{ErrorKind::transient,
                   device_ + ": network namespace " + path_ + " was removed or replaced"};
    Woken out;
    bool changed = false;
    for (Socket& one : opened_.sockets) TRY_DONE(drain(one, changed, out.all));
    if (changed) out.devices.push_back(device_);
    return out;
  }

 private:
  NamespaceWatch(Opened opened, Descriptor mounts, Descriptor any, std::string path, std::string device)
      : opened_(std::move(opened)),
        mounts_(std::move(mounts)),
        any_(std::move(any)),
        path_(std::move(path)),
        device_(std::move(device)) {}

  static Result<Done> drain(Socket& socket, bool& changed, bool& overrun) {
    for (;;) {
      TRY(const Socket::Event event, socket.next_event());
      if (!event.overrun && event.bytes.empty()) return Done{};
      changed = true;
      overrun = overrun || event.overrun;
    }
  }

  Opened opened_;
  Descriptor mounts_;
  Descriptor any_;  // readable if one of them is
  std::string path_;
  std::string device_;
};

// Passes neighbour events of permanent entries (NUD_PERMANENT), and any that a program caused: since Linux
// 4.12 such a message has the program's port number, while the message of a removed entry does not show its
// previous state. All others are ARP's and ND's own. Numbers are read in network byte order (socket filters,
// Documentation/networking/filter.rst).
Result<Done> leave_out_arp(const Socket& socket) {
  constexpr auto entry = static_cast<std::uint32_t>(NLMSG_HDRLEN);
  sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(nlmsghdr, nlmsg_type)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWNEIGH), 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELNEIGH), 0, 6),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, entry + offsetof(ndmsg, ndm_family)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_BRIDGE, 5, 0),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, entry + offsetof(ndmsg, ndm_state)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, htons(NUD_PERMANENT), 2, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(lines)), lines};
  if (::setsockopt(socket.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) != 0)
    return watching_failed();
  return Done{};
}

Result<Socket> open_network() {
  TRY(Socket socket, Socket::open(NETLINK_ROUTE));
  TRY_DONE(leave_out_arp(socket));
  for (const unsigned group : kGroups) TRY_DONE(socket.join(group));
  (void)socket.join(RTNLGRP_NEXTHOP);  // since Linux 5.3
  return socket;
}

// Opens a multicast group in which a generic netlink family reports changes, whoever makes them and how.
Result<Socket> open_group(const char* family, std::string_view group) {
  const Call call{.deadline = std::chrono::steady_clock::now() + kResolve, .stop = {}};
  TRY(Socket socket, Socket::open(NETLINK_GENERIC));
  TRY(const std::uint32_t number, netlink::resolve_group(socket, family, group, call));
  TRY_DONE(socket.join(number));
  return socket;
}

Result<Opened> open_all() {
  Opened out{.sockets = {}, .identity = identity_of("/proc/thread-self/ns/net")};
  TRY(Socket network, open_network());
  out.sockets.push_back(std::move(network));
  // Since Linux 5.6, and in kernels with devlink.
  if (auto ethtool = open_group(ETHTOOL_GENL_NAME, ETHTOOL_MCGRP_MONITOR_NAME))
    out.sockets.push_back(*std::move(ethtool));
  if (auto devlink = open_group(DEVLINK_GENL_NAME, DEVLINK_GENL_MCGRP_CONFIG_NAME))
    out.sockets.push_back(*std::move(devlink));
  return out;
}

}  // namespace

Result<std::shared_ptr<Watcher>> watch_namespace(const std::string& netns_path, const std::string& device) {
  Descriptor mounts;
  // Before entering the namespace, so that a change between the two is not missed.
  if (!netns_path.empty()) {
    mounts = Descriptor(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    if (!mounts) return watching_failed();
  }
  std::optional<Result<Opened>> opened;
  TRY_DONE(in_namespace(netns_path, [&] { opened.emplace(open_all()); }));
  if (!*opened) return opened->error();
  return NamespaceWatch::over(**std::move(opened), std::move(mounts), netns_path, device);
}

}  // namespace lockstep
