// Waits, by netlink, until ports accept frames: the kernel reports a carrier late (linkwatch), and until then
// a port silently drops what is sent (its queues have the noop qdisc, dev_activate()).
#pragma once

#include <gtest/gtest.h>
#include <linux/if.h>

#include <set>
#include <string>

#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/netlink_socket.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {

// `ports` are in the network namespace of the socket.
inline void await_operational(netlink::Socket& socket, std::set<std::string> ports) {
  const Call call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
  while (!ports.empty() && !call.must_end(std::chrono::steady_clock::now())) {
    const auto links = read_links(socket, call);
    ASSERT_TRUE(links) << links.error().text();
    for (const Link& one : *links)
      if (one.operational == IF_OPER_UP) ports.erase(one.name);
  }
  ASSERT_TRUE(ports.empty()) << *ports.begin() << ": the carrier did not come";
}

inline void await_operational(const std::string& netns_path, const std::set<std::string>& ports) {
  const auto entered = in_namespace(netns_path, [&ports] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    ASSERT_TRUE(socket) << socket.error().text();
    await_operational(*socket, ports);
  });
  ASSERT_TRUE(entered) << entered.error().text();
}

}  // namespace lockstep
