// The raw answers of the kernel and our test netdev over dcbnl, on which the DCB part of the driver relies.
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "specs/files/descriptor.hpp"
#include "tests/vm/nic_lab.hpp"

namespace lockstep {
namespace {

using Dcbnl = NicLab;

constexpr std::size_t kPriorities = 8;
using Counters = std::array<std::uint64_t, 2 * kPriorities>;  // received by priority, then sent

Counters counters(const std::string& port) {
  struct {  // struct ethtool_stats, whose values are a flexible array
    std::uint32_t command = ETHTOOL_GSTATS;
    std::uint32_t count = 2 * kPriorities;
    Counters values{};
  } asked;
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  port.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&asked);
  EXPECT_EQ(::ioctl(socket.number(), SIOCETHTOOL, &request), 0);
  return asked.values;
}

// Sends one frame with an EtherType for experiments (IEEE 802, 0x88B5), which nothing here answers.
void send_frame(const std::string& port, int priority) {
  const Descriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::setsockopt(socket.number(), SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)), 0);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = 0xB588;  // in network byte order
  to.sll_ifindex = static_cast<int>(::if_nametoindex(port.c_str()));
  to.sll_halen = ETH_ALEN;
  const std::array<char, 64> body{};
  ASSERT_EQ(::sendto(socket.number(), body.data(), body.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                     sizeof(to)),
            static_cast<ssize_t>(body.size()))
      << std::strerror(errno);
}

TEST_F(Dcbnl, ANewPortHasAllParts) {
  make("nic0", "plain");
  const dcb::PortDcb port = read("nic0");
  ASSERT_TRUE(port.ets && port.pfc && port.buffer && port.mode);
  EXPECT_EQ(port.ets->ets_cap, 8);
  EXPECT_EQ(port.pfc->pfc_en, 0);
  EXPECT_EQ(port.buffer->total_size, 1U << 20);
  EXPECT_EQ(*port.mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
  EXPECT_TRUE(port.apps.empty());
}

TEST_F(Dcbnl, SettingsReadBack) {
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

TEST_F(Dcbnl, ARefusalIsAcknowledgedAndReportedInTheReplyOnly) {
  make("nic0", "bnxt");
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_IEEE_PFC, lossless(0x08))), 0);
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_IEEE_PFC, lossless(0x18))), EINVAL);
  EXPECT_EQ(read("nic0").pfc.value_or(ieee_pfc{}).pfc_en, 0x08);
}

TEST_F(Dcbnl, AnMlx5RoundsBuffersDownToCellsAndKeepsItsModes) {
  make("nic0", "mlx5");
  dcbnl_buffer buffer = read("nic0").buffer.value_or(dcbnl_buffer{});
  buffer.buffer_size[1] = 1000;
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_DCB_BUFFER, buffer)), 0);
  EXPECT_EQ(read("nic0").buffer.value_or(dcbnl_buffer{}).buffer_size[1], 896U);
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", DCB_CAP_DCBX_LLD_MANAGED)), EINVAL);
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", 0)), 0);
  EXPECT_EQ(read("nic0").mode, DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE);
}

TEST_F(Dcbnl, APortWithoutDcbAndAMissingPortFailInTheAcknowledgement) {
  make("dum0", "plain", "dummy");
  EXPECT_EQ(reply(dcb::get_request("dum0")).answer.code, EOPNOTSUPP);
  EXPECT_EQ(reply(dcb::get_request("nobody")).answer.code, ENODEV);
}

TEST_F(Dcbnl, FramesAreCountedByPriorityAtBothEnds) {
  make("nic0", "plain");
  make("nic1", "plain");
  bring_up({"nic0", "nic1"});
  const Counters sent = counters("nic0");
  const Counters received = counters("nic1");
  for (int i = 0; i < 3; ++i) send_frame("nic0", 5);
  EXPECT_EQ(counters("nic0")[kPriorities + 5], sent[kPriorities + 5] + 3);
  EXPECT_EQ(counters("nic1")[5], received[5] + 3);
  EXPECT_EQ(counters("nic1")[4], received[4]);
}

}  // namespace
}  // namespace lockstep
