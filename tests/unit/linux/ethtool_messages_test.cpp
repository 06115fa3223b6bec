// Decoding of recorded, truncated and mutated ethtool netlink messages, the bytes of our requests, and the
// memory of modules.
#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include "drivers/linux/ethtool/features.hpp"
#include "drivers/linux/ethtool/messages.hpp"
#include "drivers/linux/ethtool/module_eeprom.hpp"
#include "tests/unit/linux/recorded/ethtool.hpp"

namespace lockstep {
namespace {

using namespace recorded::ethtool;

using ethtool::Kind;

constexpr std::uint16_t kFamily = 0x15;  // arbitrary

struct Recorded {
  Kind kind;
  const std::string& hex;
};
const Recorded kRecorded[] = {{Kind::link, kLink},
                              {Kind::fec, kFec},
                              {Kind::rings, kRings},
                              {Kind::channels, kChannels},
                              {Kind::coalescing, kCoalescing},
                              {Kind::pause, kPause},
                              {Kind::features, kFeatures}};

template <class T>
T decoded(Kind kind, const std::string& hex) {
  auto port = ethtool::decode(kind, bytes_of(hex));
  EXPECT_TRUE(port) << port.error().text();
  if (!port) return {};
  EXPECT_EQ(port->index, 15U);
  return std::get<T>(port->facts);
}

std::vector<std::string> names(const std::string& hex) {
  auto out = ethtool::decode_names(bytes_of(hex));
  EXPECT_TRUE(out) << out.error().text();
  return out ? *std::move(out) : std::vector<std::string>{};
}

TEST(EthtoolMessages, LinkModesAreDecoded) {
  const auto link = decoded<ethtool::LinkModes>(Kind::link, kLink);
  EXPECT_TRUE(link.autoneg);
  EXPECT_EQ(link.speed, 400000U);
  EXPECT_TRUE(ethtool::bit(link.supported, ETHTOOL_LINK_MODE_400000baseCR8_Full_BIT));
  EXPECT_TRUE(ethtool::bit(link.supported, ETHTOOL_LINK_MODE_Autoneg_BIT));
  EXPECT_FALSE(ethtool::bit(link.supported, ETHTOOL_LINK_MODE_40000baseCR4_Full_BIT));
  EXPECT_FALSE(ethtool::bit(link.supported, 100'000)) << "beyond the last word";
  EXPECT_EQ(ethtool::speeds_of(link.supported, names(kModeNames)),
            (std::vector<std::uint32_t>{25000, 50000, 100000}));
  EXPECT_EQ(ethtool::speed_of("2500baseX/Full"), 2500U);
  EXPECT_EQ(ethtool::speed_of("Autoneg"), 0U);
  std::string no_link = kLink;  // SPEED_UNKNOWN
  no_link.replace(no_link.find("801a0600"), 8, "ffffffff");
  EXPECT_FALSE(decoded<ethtool::LinkModes>(Kind::link, no_link).speed);
}

TEST(EthtoolMessages, FecIsDecodedToEthtoolNames) {
  const auto fec = decoded<ethtool::Fec>(Kind::fec, kFec);
  EXPECT_EQ(ethtool::words_of(fec), "auto");
  ASSERT_TRUE(fec.active);
  EXPECT_EQ(ethtool::fec_word(*fec.active), "rs");
  EXPECT_EQ(ethtool::fec_word(ETHTOOL_LINK_MODE_Autoneg_BIT), "");
  const auto words = [](bool automatic, std::uint64_t modes) {
    return ethtool::words_of(
        {automatic, {0, static_cast<std::uint32_t>(modes >> 32), 1U << 10}, std::nullopt});
  };
  EXPECT_EQ(words(false, 1ULL << ETHTOOL_LINK_MODE_FEC_RS_BIT), "rs llrs");
  EXPECT_EQ(words(true, 1ULL << ETHTOOL_LINK_MODE_FEC_BASER_BIT), "auto");
}

TEST(EthtoolMessages, NumbersAreDecodedByTheirAttributes) {
  auto rings = decoded<ethtool::Numbers>(Kind::rings, kRings);
  EXPECT_EQ(rings[ETHTOOL_A_RINGS_RX], 1024U);
  EXPECT_EQ(rings[ETHTOOL_A_RINGS_TX_MAX], 8192U);
  EXPECT_FALSE(rings.contains(ETHTOOL_A_RINGS_RX_JUMBO));
  auto channels = decoded<ethtool::Numbers>(Kind::channels, kChannels);
  EXPECT_EQ(channels[ETHTOOL_A_CHANNELS_COMBINED_COUNT], 8U);
  EXPECT_FALSE(channels.contains(ETHTOOL_A_CHANNELS_RX_COUNT));
  auto coalescing = decoded<ethtool::Numbers>(Kind::coalescing, kCoalescing);
  EXPECT_EQ(coalescing[ETHTOOL_A_COALESCE_RX_USECS], 8U);
  EXPECT_EQ(coalescing[ETHTOOL_A_COALESCE_TX_MAX_FRAMES], 32U);
  EXPECT_EQ(coalescing[ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX], 1U);
  auto pause = decoded<ethtool::Numbers>(Kind::pause, kPause);
  EXPECT_EQ(pause.size(), 2U);
  EXPECT_EQ(pause[ETHTOOL_A_PAUSE_RX], 0U);
}

TEST(EthtoolMessages, FeaturesHaveEthtoolNames) {
  const auto features = decoded<ethtool::Features>(Kind::features, kFeatures);
  const auto all = names(kFeatureNames);
  EXPECT_EQ(ethtool::is_on("sg", features, all), true);
  EXPECT_EQ(ethtool::is_on("tso", features, all), true);
  EXPECT_EQ(ethtool::is_on("gro", features, all), true);
  EXPECT_EQ(ethtool::is_on("tx-udp-segmentation", features, all), false);
  EXPECT_EQ(ethtool::is_on("rxhash", features, all), std::nullopt) << "not among these four";
  EXPECT_EQ(ethtool::changeable("tso", features, all), std::vector<std::string>{"tx-tcp-segmentation"});
  EXPECT_TRUE(ethtool::is_known("tx-udp-segmentation", all));
  EXPECT_FALSE(ethtool::is_known("tx", all)) << "no checksum is among these four";
}

TEST(EthtoolMessages, ImpossibleValuesAreAnError) {
  const auto changed = [](Kind kind, std::string hex, std::string_view from, std::string_view to) {
    hex.replace(hex.find(from), from.size(), to);
    return ethtool::decode(kind, bytes_of(hex));
  };
  EXPECT_FALSE(changed(Kind::rings, kRings, "080001000f000000", "080001000000000000")) << "of no interface";
  EXPECT_FALSE(changed(Kind::rings, kRings, "0800090000040000", "0500090000000000")) << "a ring of one byte";
  EXPECT_FALSE(changed(Kind::link, kLink, "10000400", "0f000400")) << "half a word of link modes";
  EXPECT_FALSE(changed(Kind::link, kLink, "08000500801a0600", "06000500801a0600")) << "a speed of two bytes";
  EXPECT_FALSE(changed(Kind::fec, kFec, "1800018", "ff00018")) << "longer than the message";
  std::string absurd = kModeNames;
  absurd.replace(absurd.find("0800010036000000"), 16, "08000100ffffffff");
  EXPECT_FALSE(ethtool::decode_names(bytes_of(absurd))) << "a name at 4294967295";
  EXPECT_FALSE(ethtool::decode_module_half(bytes_of(kRings))) << "no memory in it";
}

TEST(EthtoolMessages, CutAndMutatedBytesGiveAnAnswerOrAnError) {
  for (const Recorded& one : kRecorded)
    fuzz(one.hex, [&](const Buffer& bytes) { (void)ethtool::decode(one.kind, bytes); });
  for (const std::string& hex : {kFeatureNames, kModeNames})
    fuzz(hex, [](const Buffer& bytes) { (void)ethtool::decode_names(bytes); });
  fuzz(kModulePage, [](const Buffer& bytes) { (void)ethtool::decode_module_half(bytes); });
}

TEST(EthtoolMessages, RequestsMatchTheKernelsFormat) {
  EXPECT_EQ(hex_of(ethtool::get_request(kFamily, Kind::rings, 0).finish(7)),
            "2000000015000103070000000000000"
            "00f0100000c000180"
            "0800030001000000");
  netlink::Request rings = ethtool::set_request(kFamily, Kind::rings, 15);
  ethtool::put_number(rings, Kind::rings, ETHTOOL_A_RINGS_RX, 4096);
  EXPECT_EQ(hex_of(rings.finish(7)),
            "2800000015000500070000000000000"
            "0100100000c000180"
            "080001000f000000"
            "0800060000100000");
  netlink::Request coalescing = ethtool::set_request(kFamily, Kind::coalescing, 15);
  ethtool::put_number(coalescing, Kind::coalescing, ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 0);
  EXPECT_EQ(hex_of(coalescing.finish(7)).substr(64), "05000b0000000000");
  netlink::Request fec = ethtool::set_request(kFamily, Kind::fec, 15);
  EXPECT_TRUE(ethtool::put_fec(fec, "rs"));
  EXPECT_EQ(hex_of(fec.finish(7)).substr(64),
            "18000280"
            "04000100"
            "100003800c000180"
            "0800010032000000"
            "0500030000000000");
  EXPECT_FALSE(ethtool::put_fec(fec, "llrs"));
  netlink::Request features = ethtool::set_request(kFamily, Kind::features, 15);
  ethtool::put_features(features, {{"rx-gro", true}, {"rx-lro", false}});
  EXPECT_EQ(hex_of(features.finish(7)).substr(80),
            "2c000380"
            "28000380"
            "140001800b00020072782d67726f000004000300"
            "100001800b00020072782d6c726f00"
            "00");
}

// The memory of a module with these texts and bytes at their offsets.
Buffer memory(std::initializer_list<std::pair<std::size_t, std::string_view>> texts,
              std::initializer_list<std::pair<std::size_t, unsigned>> bytes) {
  Buffer out(256);
  for (const auto& [at, text] : texts)
    for (std::size_t i = 0; i < text.size(); ++i) out.at(at + i) = static_cast<std::byte>(text[i]);
  for (const auto& [at, byte] : bytes) out.at(at) = static_cast<std::byte>(byte);
  return out;
}

std::string told(const Buffer& memory) {
  const auto module = ethtool::decode_module(memory);
  if (!module) return module.error().text();
  return module->kind + "|" + module->vendor + "|" + module->part + "|" + module->revision + "|" +
         module->serial + "|" + module->medium + "|" + std::to_string(module->decimetres);
}

TEST(EthtoolModule, IsDecodedByItsKind) {
  Buffer recorded;
  for (const std::string& hex : {kModuleLower, kModulePage}) {
    const auto half = ethtool::decode_module_half(bytes_of(hex));
    ASSERT_TRUE(half) << half.error().text();
    recorded.insert(recorded.end(), half->begin(), half->end());
  }
  EXPECT_EQ(told(recorded), "QSFP-DD|Lockstep Cables|TQ4N-2P5C|A1|LC2411070042|passive copper|25");
  EXPECT_EQ(told(memory({{148, "ACME   "}, {168, "P1"}, {184, "B"}, {196, "S1"}},
                        {{0, 0x11}, {130, 0x0C}, {146, 50}, {147, 0x00}})),
            "QSFP28|ACME|P1|B|S1|optical|0")
      << "50: the reach over a fibre";
  EXPECT_EQ(told(memory({{148, "ACME"}}, {{0, 0x11}, {130, 0x23}, {146, 30}, {147, 0x00}})),
            "QSFP28|ACME||||optical|300");
  EXPECT_EQ(told(memory({{148, "ACME"}}, {{0, 0x0D}, {146, 5}, {147, 0xC0}})),
            "QSFP+|ACME||||active copper|50");
  EXPECT_EQ(told(memory({{20, "ACME"}, {40, "P3"}, {56, "C3"}, {68, "S3"}}, {{0, 0x03}, {8, 0x04}, {18, 2}})),
            "SFP|ACME|P3|C3|S3|passive copper|20");
  EXPECT_EQ(told(memory({{129, "ACME"}}, {{0, 0x19}, {202, 0x43}, {203, 0x23}, {212, 0x0F}})),
            "OSFP|ACME||||active copper|30");
}

TEST(EthtoolModule, TreatsModuleDataAsUntrustedInput) {
  EXPECT_EQ(told(memory({{148, "A\x01\xff Z"}}, {{0, 0x11}, {147, 0xA0}})),
            "QSFP28|A?? Z||||passive copper|0");
  EXPECT_EQ(told(Buffer(256, std::byte{0xFF})), "a module of kind 255 (SFF-8024)");
  EXPECT_EQ(told(Buffer(128)), "a module's memory of 128 bytes");
  Buffer blank(256, std::byte{0xFF});
  blank[0] = std::byte{0x11};
  EXPECT_EQ(told(blank).substr(0, 11), "QSFP28|||||") << "memory that was never written";
  fuzz(hex_of(memory({{148, "ACME"}}, {{0, 0x11}, {147, 0xA0}})),
       [](const Buffer& bytes) { (void)ethtool::decode_module(bytes); });
}

}  // namespace
}  // namespace lockstep
