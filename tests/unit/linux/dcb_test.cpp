// Decoding of recorded, truncated and mutated dcbnl messages, and the bytes of our requests.
#include "tests/unit/linux/recorded/dcb.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "drivers/linux/dcb/dcbnl.hpp"

namespace lockstep {
namespace {

using namespace recorded::dcb;

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

TEST(Dcbnl, ClassesAndThoseOfThePeerAreDecoded) {
  const auto port = dcb::decode_port(bytes_of(kClasses));
  ASSERT_TRUE(port) << port.error().text();
  ASSERT_TRUE(port->ets && port->maxrate && port->peer_ets && port->peer_pfc);
  EXPECT_EQ(port->ets->tc_tsa[3], IEEE_8021QAZ_TSA_ETS);
  EXPECT_EQ(port->ets->tc_tx_bw[3], 60);
  EXPECT_EQ(port->ets->prio_tc[6], 6);
  EXPECT_EQ(port->maxrate->tc_maxrate[6], 20'000'000U);
  EXPECT_EQ(port->apps.size(), 3U);
  EXPECT_EQ(port->peer_ets->willing, 1);
  EXPECT_EQ(port->peer_ets->prio_tc[0], 7);
  EXPECT_EQ(port->peer_pfc->pfc_en, 0x10);
  EXPECT_FALSE(port->trust) << "Linux 6.1 has no table of it";
}

TEST(Dcbnl, ATrustTableIsDecodedInItsOrder) {
  const auto port = dcb::decode_port(bytes_of(kTrust));
  ASSERT_TRUE(port) << port.error().text();
  ASSERT_TRUE(port->trust);
  EXPECT_EQ(*port->trust, (std::vector<std::uint8_t>{IEEE_8021QAZ_APP_SEL_DSCP, dcb::kSelectorPcp}));
}

TEST(Dcbnl, ARefusalIsFoundInTheReply) {
  for (const auto& [hex, code] : {std::pair(kDone, 0),
                                  {kRefused, EINVAL},
                                  {kNoEntry, ENOENT},
                                  {kModeDone, 0},
                                  {kModeRefused, EINVAL}}) {
    const auto refusal = dcb::decode_refusal(bytes_of(hex));
    ASSERT_TRUE(refusal) << hex << refusal.error().text();
    EXPECT_EQ(*refusal, code) << hex;
  }
  EXPECT_FALSE(dcb::decode_refusal(bytes_of("00140000"))) << "without a word on whether it was done";
}

TEST(Dcbnl, PartsThatTheDriverLacksAreEmpty) {
  const auto port =
      dcb::decode_port(bytes_of("0015000009000100"
                                "6e69633000000000"
                                "04000d00"));
  ASSERT_TRUE(port);
  EXPECT_FALSE(port->pfc || port->ets || port->buffer || port->mode);
}

TEST(Dcbnl, ImpossibleValuesAreAnError) {
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
  EXPECT_TRUE(with(43, "02")) << "class 0 by shares";
  EXPECT_FALSE(with(27, "65" + zeros(15) + "02")) << "a share of 101 %";
  EXPECT_FALSE(with(95, "01")) << "2^56 kbit/s and more";
}

TEST(Dcbnl, CutAndMutatedBytesGiveAnAnswerOrAnError) {
  for (const std::string& hex : {kPort, kClasses, kTrust, kDone, kRefused, kModeRefused})
    fuzz(hex, [](const Buffer& bytes) {
      (void)dcb::decode_port(bytes);
      (void)dcb::decode_refusal(bytes);
    });
}

TEST(Dcbnl, RequestsMatchTheKernelsFormat) {
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
  const dcb_app entries[] = {{IEEE_8021QAZ_APP_SEL_DSCP, 3, 26}, {IEEE_8021QAZ_APP_SEL_DSCP, 6, 48}};
  EXPECT_EQ(hex_of(dcb::app_request("nic0", DCB_CMD_IEEE_DEL, entries).finish(7)),
            "38000000"
            "4f000500"
            "07000000"
            "00000000"
            "001b0000"
            "09000100"
            "6e69633000000000"
            "18000d80"
            "14000380"
            "0800010005031a00"
            "0800010005063000");
  const std::uint8_t selectors[] = {IEEE_8021QAZ_APP_SEL_DSCP, dcb::kSelectorPcp};
  EXPECT_EQ(hex_of(dcb::trust_request("nic0", selectors).finish(7)),
            "38000000"
            "4f000500"
            "07000000"
            "00000000"
            "00140000"
            "09000100"
            "6e69633000000000"
            "18000d80"
            "14000b80"
            "0500010005000000"
            "05000200ff000000");
}

}  // namespace
}  // namespace lockstep
