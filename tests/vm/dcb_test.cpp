// What the kernel and our test netdev answer over dcbnl, raw: the ground that the driver's DCB part stands
// on.
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "drivers/linux/dcb/dcbnl.hpp"
#include "drivers/linux/netlink_socket.hpp"

namespace lockstep {
namespace {

using netlink::Answer;
using netlink::Bytes;
using netlink::Request;

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
}

struct Reply {
  Answer answer;
  std::vector<std::byte> payload;
};

// Of the machine's own namespace, as each test has the machine's ports to itself.
class Dcbnl : public ::testing::Test {
 protected:
  void SetUp() override {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    ASSERT_TRUE(socket) << socket.error().text();
    socket_.emplace(*std::move(socket));
  }
  void TearDown() override {
    for (const std::string& name : made_) {
      Request gone(RTM_DELLINK, NLM_F_ACK);
      gone.header(ifinfomsg{}).put_text(IFLA_IFNAME, name);
      EXPECT_EQ(done(gone), 0) << name;
    }
  }

  int done(Request& request) {
    const auto answer = socket_->change(request, soon());
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? answer->code : -1;
  }
  void make(const std::string& name, const std::string& personality, const std::string& kind = "test_nic") {
    std::ofstream("/sys/module/test_nic/parameters/personality") << personality << std::flush;
    Request link(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    link.header(ifinfomsg{}).put_text(IFLA_IFNAME, name);
    const std::size_t nest = link.open_nest(IFLA_LINKINFO);
    link.put_text(IFLA_INFO_KIND, kind);
    link.close_nest(nest);
    ASSERT_EQ(done(link), 0) << name;
    made_.push_back(name);
  }
  Reply reply(Request request) {
    Reply out;
    auto answer = socket_->ask(request, soon(), [&](const netlink::Message& message) -> Result<Done> {
      out.payload.assign(message.payload.begin(), message.payload.end());
      return Done{};
    });
    EXPECT_TRUE(answer) << answer.error().text();
    if (answer) out.answer = *std::move(answer);
    return out;
  }
  dcb::PortDcb read(const std::string& port) {
    const Reply got = reply(dcb::get_request(port));
    EXPECT_EQ(got.answer.code, 0);
    auto out = dcb::decode_port(got.payload);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *std::move(out) : dcb::PortDcb{};
  }
  // The errno in the reply; the acknowledgement says 0 in any case.
  int refusal(Request request) {
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

TEST_F(Dcbnl, AMadePortHasAllParts) {
  make("nic0", "plain");
  const dcb::PortDcb port = read("nic0");
  ASSERT_TRUE(port.ets && port.pfc && port.buffer && port.mode);
  EXPECT_EQ(port.ets->ets_cap, 8);
  EXPECT_EQ(port.pfc->pfc_en, 0);
  EXPECT_EQ(port.buffer->total_size, 1U << 20);
  EXPECT_EQ(*port.mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
  EXPECT_TRUE(port.apps.empty());
}

TEST_F(Dcbnl, WhatIsSetIsRead) {
  make("nic0", "plain");
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_IEEE_PFC, lossless(0x18))), 0);
  dcbnl_buffer buffer = read("nic0").buffer.value_or(dcbnl_buffer{});
  buffer.prio2buffer[3] = 3;
  buffer.buffer_size[3] = 1000;
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_DCB_BUFFER, buffer)), 0);
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", DCB_CAP_DCBX_VER_IEEE)), 0);
  const dcb::PortDcb port = read("nic0");
  ASSERT_TRUE(port.pfc && port.buffer && port.mode);
  EXPECT_EQ(port.pfc->pfc_en, 0x18);
  EXPECT_EQ(port.buffer->prio2buffer[3], 3);
  EXPECT_EQ(port.buffer->buffer_size[3], 1000U);
  EXPECT_EQ(*port.mode, DCB_CAP_DCBX_VER_IEEE);
}

TEST_F(Dcbnl, ARefusalIsAcknowledgedAndHidesInTheReply) {
  make("nic0", "strict");
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_IEEE_PFC, lossless(0x08))), 0);
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_IEEE_PFC, lossless(0x18))), EINVAL);
  EXPECT_EQ(read("nic0").pfc.value_or(ieee_pfc{}).pfc_en, 0x08);
}

TEST_F(Dcbnl, AnMlx5CutsBuffersToCellsAndKeepsItsModes) {
  make("nic0", "mlx5");
  dcbnl_buffer buffer = read("nic0").buffer.value_or(dcbnl_buffer{});
  buffer.buffer_size[1] = 1000;
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_DCB_BUFFER, buffer)), 0);
  EXPECT_EQ(read("nic0").buffer.value_or(dcbnl_buffer{}).buffer_size[1], 896U);
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", DCB_CAP_DCBX_LLD_MANAGED)), EINVAL);
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", 0)), 0);
  EXPECT_EQ(read("nic0").mode, DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE);
}

TEST_F(Dcbnl, APortWithoutDcbAndNoPortAreErrorsOfTheAcknowledgement) {
  make("dum0", "plain", "dummy");
  EXPECT_EQ(reply(dcb::get_request("dum0")).answer.code, EOPNOTSUPP);
  EXPECT_EQ(reply(dcb::get_request("nobody")).answer.code, ENODEV);
}

}  // namespace
}  // namespace lockstep
