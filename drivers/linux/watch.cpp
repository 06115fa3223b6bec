#include "drivers/linux/watch.hpp"

#include <linux/rtnetlink.h>

#include <optional>

#include "drivers/linux/in_namespace.hpp"
#include "drivers/linux/netlink_socket.hpp"

namespace lockstep {
namespace {

using netlink::Socket;

constexpr unsigned kGroups[] = {
    RTNLGRP_LINK,         RTNLGRP_IPV4_IFADDR,  RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
    RTNLGRP_IPV6_ROUTE,   RTNLGRP_IPV4_RULE,    RTNLGRP_IPV6_RULE,   RTNLGRP_TC,
    RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF, RTNLGRP_DCB,
};

class NamespaceWatch : public Watcher {
 public:
  explicit NamespaceWatch(Socket socket) : socket_(std::move(socket)) {}
  int descriptor() const override { return socket_.descriptor(); }

  Result<bool> drain() override {
    bool changed = false;
    for (;;) {
      TRY(const Socket::Event event, socket_.next_event());
      if (!event.overrun && event.bytes.empty()) return changed;
      changed = true;
    }
  }

 private:
  Socket socket_;
};

Result<Socket> open_watch() {
  TRY(Socket socket, Socket::open(NETLINK_ROUTE));
  for (const unsigned group : kGroups) TRY_DONE(socket.join(group));
  (void)socket.join(RTNLGRP_NEXTHOP);  // since Linux 5.3
  return socket;
}

}  // namespace

Result<std::unique_ptr<Watcher>> watch_namespace(const std::string& netns_path) {
  std::optional<Result<Socket>> socket;
  TRY_DONE(in_namespace(netns_path, [&] { socket.emplace(open_watch()); }));
  if (!*socket) return socket->error();
  return std::unique_ptr<Watcher>(std::make_unique<NamespaceWatch>(**std::move(socket)));
}

}  // namespace lockstep
