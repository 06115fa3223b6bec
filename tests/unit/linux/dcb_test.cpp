// dcbnl's messages as Linux 6.1.192 sent them in the VM lab (tests/vm/dcb_test.cpp, our test netdev),
// decoded, cut and mutated; and our requests as bytes.
#include <gtest/gtest.h>

#include <cerrno>

#include "drivers/linux/dcb/dcbnl.hpp"

namespace lockstep {
namespace {

using Buffer = std::vector<std::byte>;

Buffer bytes_of(std::string_view hex) {
  Buffer out;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    out.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  return out;
}

std::string zeros(std::size_t bytes) { return std::string(2 * bytes, '0'); }

std::string hex_of(netlink::Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte one : bytes) {
    out += kDigits[std::to_integer<unsigned>(one) >> 4];
    out += kDigits[std::to_integer<unsigned>(one) & 0xF];
  }
  return out;
}

// nic0 with priority 3 lossless in a buffer of its own, DSCP 48 to priority 6 and DSCP 26 to priority 3.
// clang-format off
const std::string kPort =
    "00150000" "09000100" "6e69633000000000"                                              // DCB_ATTR_IFNAME
    "58010d00"                                                                            // DCB_ATTR_IEEE
    "3f000100" "000800" + zeros(24) + "0001020304050607" + zeros(24) + "00"               // ETS
    "44000700" + zeros(64) +                                                              // maximal rates
    "8c000200" "0808" + zeros(134) +                                                      // PFC
    "30000a00" "0000000300000000" "00000400" + zeros(8) + "00000400" + zeros(16) + "00001000"     // buffers
    "14000300" "08000100" "05063000" "08000100" "05031a00"                                // app table
    "05000e00" "09000000";                                                                // DCB_ATTR_DCBX
// clang-format on
const std::string kDone = "0014000005000d0000000000";
const std::string kRefused = "0014000005000d00ea000000";
const std::string kModeDone = "0017000005000e0000000000";
const std::string kModeRefused = "0017000005000e0001000000";

TEST(Dcbnl, APortIsDecoded) {
  const auto port = dcb::decode_port(bytes_of(kPort));
  ASSERT_TRUE(port) << port.error().text();
  ASSERT_TRUE(port->ets && port->pfc && port->buffer && port->mode);
  EXPECT_EQ(port->ets->ets_cap, 8);
  EXPECT_EQ(port->ets->prio_tc[5], 5);
  EXPECT_EQ(port->pfc->pfc_cap, 8);
  EXPECT_EQ(port->pfc->pfc_en, 0x08);
  EXPECT_EQ(port->buffer->prio2buffer[3], 3);
  EXPECT_EQ(port->buffer->buffer_size[0], 262144U);
  EXPECT_EQ(port->buffer->buffer_size[3], 262144U);
  EXPECT_EQ(port->buffer->total_size, 1048576U);
  EXPECT_EQ(*port->mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
  ASSERT_EQ(port->apps.size(), 2U);
  EXPECT_EQ(port->apps[1].selector, IEEE_8021QAZ_APP_SEL_DSCP);
  EXPECT_EQ(port->apps[1].protocol, 26);
  EXPECT_EQ(port->apps[1].priority, 3);
}

TEST(Dcbnl, ARefusalIsFoundInTheReply) {
  for (const auto& [hex, code] :
       {std::pair(kDone, 0), {kRefused, EINVAL}, {kModeDone, 0}, {kModeRefused, EINVAL}}) {
    const auto refusal = dcb::decode_refusal(bytes_of(hex));
    ASSERT_TRUE(refusal) << hex << refusal.error().text();
    EXPECT_EQ(*refusal, code) << hex;
  }
  EXPECT_FALSE(dcb::decode_refusal(bytes_of("00140000"))) << "without a word on whether it was done";
}

TEST(Dcbnl, APartThatTheDriverLacksIsEmpty) {
  const auto port =
      dcb::decode_port(bytes_of("0015000009000100"
                                "6e69633000000000"
                                "04000d00"));
  ASSERT_TRUE(port);
  EXPECT_FALSE(port->pfc || port->ets || port->buffer || port->mode);
}

TEST(Dcbnl, WhatCannotBeIsAnError) {
  const auto with = [](std::size_t at, std::string_view hex) {
    std::string changed = kPort;
    changed.replace(2 * at, hex.size(), hex);
    return dcb::decode_port(bytes_of(changed));
  };
  EXPECT_TRUE(with(0, "00"));
  EXPECT_FALSE(with(20, "3e")) << "ETS a byte short";
  EXPECT_FALSE(with(51, "08")) << "priority 0 in traffic class 8";
  EXPECT_FALSE(with(300, "08")) << "a priority in buffer 8";
  EXPECT_FALSE(with(349, "08")) << "an app entry with priority 8";
}

TEST(Dcbnl, CutAndMutatedBytesAreAnAnswerOrAnError) {
  for (const std::string& hex : {kPort, kDone, kRefused, kModeRefused}) {
    const Buffer whole = bytes_of(hex);
    const auto decode = [](const Buffer& bytes) {
      (void)dcb::decode_port(bytes);
      (void)dcb::decode_refusal(bytes);
    };
    for (std::size_t size = 0; size < whole.size(); ++size)
      decode(Buffer(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (unsigned flip = 1; flip < 256; ++flip) {
        Buffer changed = whole;
        changed[at] ^= static_cast<std::byte>(flip);
        decode(changed);
      }
  }
}

TEST(Dcbnl, RequestsAreAsTheKernelReadsThem) {
  EXPECT_EQ(hex_of(dcb::get_request("nic0").finish(7)),
            "20000000"
            "4e000500"
            "07000000"
            "00000000"
            "00150000"
            "09000100"
            "6e69633000000000");
  EXPECT_EQ(hex_of(dcb::set_mode_request("nic0", 9).finish(7)),
            "28000000"
            "4f000500"
            "07000000"
            "00000000"
            "00170000"
            "09000100"
            "6e69633000000000"
            "05000e0009000000");
}

}  // namespace
}  // namespace lockstep
