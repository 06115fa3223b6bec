// What the kernel and our test netdev answer over dcbnl, raw: the ground that the driver's DCB part stands
// on.
#include <cerrno>

#include "tests/vm/nic_lab.hpp"

namespace lockstep {
namespace {

using Dcbnl = NicLab;

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
