// Ports of our test netdev (netdev/), created and configured by raw netlink, as by another program.
#pragma once

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <fstream>
#include <set>

#include "drivers/linux/dcb/dcbnl.hpp"
#include "drivers/linux/netlink_socket.hpp"
#include "tests/unit/linux/operational.hpp"

namespace lockstep {

inline Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
}

struct Reply {
  netlink::Answer answer;
  std::vector<std::byte> payload;
};

// Ports in the machine's own namespace, as each test has the machine to itself.
class NicLab : public ::testing::Test {
 protected:
  void SetUp() override {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    ASSERT_TRUE(socket) << socket.error().text();
    socket_.emplace(*std::move(socket));
  }
  void TearDown() override {
    while (!made_.empty()) remove(std::string(made_.back()));
  }

  int done(netlink::Request& request) {
    const auto answer = socket_->change(request, soon());
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? answer->code : -1;
  }
  void make(const std::string& name, const std::string& personality, const std::string& kind = "test_nic") {
    std::ofstream("/sys/module/test_nic/parameters/personality") << personality << std::flush;
    netlink::Request link(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    link.header(ifinfomsg{}).put_text(IFLA_IFNAME, name);
    const std::size_t nest = link.open_nest(IFLA_LINKINFO);
    link.put_text(IFLA_INFO_KIND, kind);
    link.close_nest(nest);
    ASSERT_EQ(done(link), 0) << name;
    made_.push_back(name);
  }
  void remove(const std::string& name) {
    netlink::Request gone(RTM_DELLINK, NLM_F_ACK);
    gone.header(ifinfomsg{}).put_text(IFLA_IFNAME, name);
    EXPECT_EQ(done(gone), 0) << name;
    std::erase(made_, name);
  }
  Reply reply(netlink::Request request) {
    Reply out;
    auto answer = socket_->ask(request, soon(), [&](const netlink::Message& message) -> Result<Done> {
      out.payload.assign(message.payload.begin(), message.payload.end());
      return Done{};
    });
    EXPECT_TRUE(answer) << answer.error().text();
    if (answer) out.answer = *std::move(answer);
    return out;
  }
  // Sets the ports up and waits until they accept frames.
  void bring_up(const std::set<std::string>& ports) {
    for (const std::string& port : ports) {
      netlink::Request up(RTM_NEWLINK, NLM_F_ACK);
      ifinfomsg header{};
      header.ifi_flags = IFF_UP;
      header.ifi_change = IFF_UP;
      up.header(header).put_text(IFLA_IFNAME, port);
      ASSERT_EQ(done(up), 0) << port;
    }
    await_operational(*socket_, ports);
  }
  dcb::PortDcb read(const std::string& port) {
    const Reply got = reply(dcb::get_request(port));
    EXPECT_EQ(got.answer.code, 0);
    auto out = dcb::decode_port(got.payload);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *std::move(out) : dcb::PortDcb{};
  }
  // The errno in the reply; the acknowledgement always has 0.
  int refusal(netlink::Request request) {
    const Reply got = reply(std::move(request));
    EXPECT_EQ(got.answer.code, 0);
    const auto out = dcb::decode_refusal(got.payload);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *out : -1;
  }
  static ieee_pfc lossless(std::uint8_t priorities) {
    ieee_pfc out{};
    out.pfc_en = priorities;
    return out;
  }

  std::optional<netlink::Socket> socket_;
  std::vector<std::string> made_;
};

}  // namespace lockstep
