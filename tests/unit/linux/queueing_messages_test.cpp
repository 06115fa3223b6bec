// Decoding of messages of ETS, mqprio, flower and skbedit that Linux 6.1.192 sent in the VM lab (tests/vm)
// about objects made by tc(8), also truncated and mutated; and our requests, compared with the bytes that
// tc(8) sends.
#include <gtest/gtest.h>
#include <linux/pkt_sched.h>

#include "drivers/linux/queueing/classify.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "tests/unit/linux/fuzz.hpp"

namespace lockstep {
namespace {

// clang-format off
// root handle 4c5c: ets bands 3 strict 1 quanta 36000 24000 priomap 2 2 2 1 2 2 0 2 2 2 2 1 2 2 0 2
constexpr std::string_view kEts =
    "000000000300000000005c4cffffffff050000000800010065747300ac00020005000100030000000500020001000000"
    "1400038008000400a08c000008000400c05d000084000580050006000200000005000600020000000500060002000000"
    "050006000100000005000600020000000500060002000000050006000000000005000600020000000500060002000000"
    "050006000200000005000600020000000500060001000000050006000200000005000600020000000500060000000000"
    "050006000200000005000c00000000003000070014000100000000000000000000000000000000001800030000000000"
    "000000000000000000000000000000002c00030000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000";
// root handle 4c53: mqprio num_tc 3 map 0 0 0 1 0 0 2 0 0 0 0 1 1 1 2 2 queues 2@0 1@2 1@3 hw 0
constexpr std::string_view kMqprio =
    "00000000030000000000534cffffffff010000000b0001006d717072696f000058000200030000000100000200000000"
    "010101020200020001000100000000000000000000000000000000000000000000000000000000000200030000000000"
    "00000000000000000000000000000000000000000000000005000c000000000030000700140001000000000000000000"
    "00000000000000001800030000000000000000000000000000000000000000002c000300000000000000000000000000"
    "00000000000000000000000000000000000000000000000000000000";
// egress pref 80 protocol ip flower: the classifier, for which one message precedes its filters
constexpr std::string_view kPlace =
    "000000000300000000000000f3ffffff080050000b000100666c6f776572000008000b0000000000";
// egress pref 80 handle 1 protocol ip flower action skbedit priority 8 continue
constexpr std::string_view kAnyV4 =
    "000000000300000001000000f3ffffff080050000b000100666c6f776572000008000b0000000000c400020006000800"
    "0800000008001600080000000800560000000000a8000300a40001000c000100736b6265646974004400040014000100"
    "000000000000000000000000000000001400070000000000000000000000000000000000180003000000000000000000"
    "00000000000000000000000008000a000000000048000200180002000100000000000000ffffffff0100000001000000"
    "0800030008000000240001001900000000000000190000000000000000000000000000000000000000000000";
// egress pref 82 handle 0x1b protocol ip flower ip_tos 0x68/0xfc action skbedit priority 11 continue (0x11)
constexpr std::string_view kDscpV4 =
    "00000000030000001b000000f3ffffff080052000b000100666c6f776572000008000b0000000000d400020006000800"
    "08000000050049006800000005004a00fc00000008001600080000000800560000000000a8000300a40001000c000100"
    "736b62656469740044000400140001000000000000000000000000000000000014000700000000000000000000000000"
    "0000000018000300000000000000000000000000000000000000000008000a0000000000480002001800020002000000"
    "00000000ffffffff01000000010000000800030011000000240001001400000000000000140000000000000000000000"
    "000000000000000000000000";
// egress pref 83 handle 0x1b protocol ipv6 flower ip_tos 0x68/0xfc action skbedit priority 11 continue
constexpr std::string_view kDscpV6 =
    "00000000030000001b000000f3ffffff86dd53000b000100666c6f776572000008000b0000000000d400020006000800"
    "86dd0000050049006800000005004a00fc00000008001600080000000800560000000000a8000300a40001000c000100"
    "736b62656469740044000400140001000000000000000000000000000000000014000700000000000000000000000000"
    "0000000018000300000000000000000000000000000000000000000008000a0000000000480002001800020003000000"
    "00000000ffffffff01000000010000000800030011000000240001001000000000000000100000000000000000000000"
    "000000000000000000000000";
// egress pref 82 handle 0x1c protocol ip flower ip_tos 0x6c/0xfc src_ip 10.0.0.1 action skbedit ... continue
constexpr std::string_view kWithSource =
    "00000000030000001c000000f3ffffff080052000b000100666c6f776572000008000b0000000000e400020006000800"
    "08000000050049006c00000005004a00fc00000008000a000a00000108000b00ffffffff080016000800000008005600"
    "00000000a8000300a40001000c000100736b626564697400440004001400010000000000000000000000000000000000"
    "140007000000000000000000000000000000000018000300000000000000000000000000000000000000000008000a00"
    "0000000048000200180002000400000000000000ffffffff01000000010000000800030011000000240001000b000000"
    "000000000b0000000000000000000000000000000000000000000000";
// egress pref 82 handle 0x1d protocol ip flower ip_tos 0x70/0xfc action skbedit priority 11
constexpr std::string_view kEnding =
    "00000000030000001d000000f3ffffff080052000b000100666c6f776572000008000b0000000000d400020006000800"
    "08000000050049007000000005004a00fc00000008001600080000000800560000000000a8000300a40001000c000100"
    "736b62656469740044000400140001000000000000000000000000000000000014000700000000000000000000000000"
    "0000000018000300000000000000000000000000000000000000000008000a0000000000480002001800020005000000"
    "000000000300000001000000010000000800030011000000240001000600000000000000060000000000000000000000"
    "000000000000000000000000";
// egress pref 82 handle 0x1e protocol ip flower ip_tos 0x74/0xfc action skbedit priority 11 mark 3 continue
constexpr std::string_view kMarking =
    "00000000030000001e000000f3ffffff080052000b000100666c6f776572000008000b0000000000dc00020006000800"
    "08000000050049007400000005004a00fc00000008001600080000000800560000000000b0000300ac0001000c000100"
    "736b62656469740044000400140001000000000000000000000000000000000014000700000000000000000000000000"
    "0000000018000300000000000000000000000000000000000000000008000a0000000000500002001800020006000000"
    "00000000ffffffff01000000010000000800030011000000080005000300000024000100010000000000000001000000"
    "0000000000000000000000000000000000000000";
// clang-format on
constexpr std::string_view kAll[] = {kEts,    kMqprio,     kPlace,  kAnyV4,  kDscpV4,
                                     kDscpV6, kWithSource, kEnding, kMarking};

constexpr std::uint32_t kPort = 3;

std::optional<PriorityFilter> filter_of(std::string_view hex) {
  const auto out = decode_priority_filter(bytes_of(hex));
  EXPECT_TRUE(out) << out.error().text();
  return out ? *out : std::nullopt;
}

EtsParameters three_bands() {
  return {.strict = 1, .quanta = {36000, 24000}, .bands = {2, 2, 2, 1, 2, 2, 0, 2, 2, 2, 2, 1, 2, 2, 0, 2}};
}

MqprioParameters three_classes() {
  MqprioParameters out;
  out.classes = {{0, 2}, {2, 1}, {3, 1}};
  out.map = {0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 1, 1, 1, 2, 2};
  return out;
}

TEST(QueueingMessages, QdiscsAreDecoded) {
  const auto ets = decode_qdisc(bytes_of(kEts));
  ASSERT_TRUE(ets && *ets);
  EXPECT_EQ((*ets)->handle, 0x4C5C0000U);
  EXPECT_EQ((*ets)->parent, TC_H_ROOT);
  EXPECT_EQ((*ets)->ets, three_bands());
  const auto mqprio = decode_qdisc(bytes_of(kMqprio));
  ASSERT_TRUE(mqprio && *mqprio);
  EXPECT_EQ((*mqprio)->handle, 0x4C530000U);
  EXPECT_EQ((*mqprio)->mqprio, three_classes());
}

TEST(QueueingMessages, AnMqprioWithoutQueuesHasNoClasses) {
  Buffer without = bytes_of(kMqprio);
  ASSERT_EQ(without.at(36), std::byte{3});  // num_tc, the first of the options
  without[36] = std::byte{0};
  const auto mqprio = decode_qdisc(without);
  ASSERT_TRUE(mqprio) << mqprio.error().text();
  ASSERT_TRUE(*mqprio);
  EXPECT_EQ((*mqprio)->mqprio, MqprioParameters{});
}

TEST(QueueingMessages, FiltersOfOurShapeAreDecoded) {
  EXPECT_EQ(filter_of(kAnyV4), (PriorityFilter{kPort, false, std::nullopt, 8, 1}));
  EXPECT_EQ(filter_of(kDscpV4), (PriorityFilter{kPort, false, 26, 0x11, 0x1B}));
  EXPECT_EQ(filter_of(kDscpV6), (PriorityFilter{kPort, true, 26, 0x11, 0x1B}));
}

TEST(QueueingMessages, FiltersOfAnotherShapeAreForeign) {
  for (const std::string_view one : {kPlace, kWithSource, kEnding, kMarking}) EXPECT_FALSE(filter_of(one));
}

// The decoder accepts a request because it has the same format as a message of the kernel.
TEST(QueueingMessages, RequestsMatchWhatTheKernelThenReports) {
  const auto payload = [](netlink::Request& request) {
    const netlink::Bytes whole = request.finish(1).subspan(NLMSG_HDRLEN);
    return Buffer(whole.begin(), whole.end());
  };
  netlink::Request ets = ets_request(kPort, 0x4C5C0000, TC_H_ROOT, three_bands());
  const auto told = decode_qdisc(payload(ets));
  ASSERT_TRUE(told && *told);
  EXPECT_EQ((*told)->ets, three_bands());
  // The options equal, byte for byte, those that tc(8) set in the kernel: between the kind and the counters.
  const Buffer kept = bytes_of(kEts);
  const Buffer sent = payload(ets);
  const auto options = [](const Buffer& all) { return Buffer(all.begin() + 28, all.begin() + 28 + 172); };
  Buffer ours = options(sent);
  ours[3] &= std::byte{0x7F};  // NLA_F_NESTED, which the kernel leaves out here
  EXPECT_EQ(ours, options(kept));

  netlink::Request mqprio = mqprio_request(kPort, 0x4C530000, three_classes());
  const Buffer classes = payload(mqprio);
  const Buffer there = bytes_of(kMqprio);
  EXPECT_TRUE(std::equal(classes.begin() + 36, classes.end(), there.begin() + 36));

  for (const std::string_view one : {kAnyV4, kDscpV4, kDscpV6}) {
    netlink::Request filter = priority_filter_request(*filter_of(one));
    const auto back = decode_priority_filter(payload(filter));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, filter_of(one));
  }
}

TEST(QueueingMessages, InconsistentMessagesAreAnError) {
  const auto changed = [](std::size_t at, unsigned byte) {
    Buffer out = bytes_of(kEts);
    out.at(at) = static_cast<std::byte>(byte);
    return out;
  };
  EXPECT_FALSE(decode_qdisc(changed(36, 4))) << "more bands than quanta";
  EXPECT_FALSE(decode_qdisc(changed(36, 2))) << "fewer";
  EXPECT_FALSE(decode_qdisc(changed(44, 2))) << "more strict ones";
  EXPECT_FALSE(decode_qdisc(changed(76, 3))) << "a priority in no band";
  Buffer mqprio = bytes_of(kMqprio);
  mqprio.at(36) = std::byte{17};
  EXPECT_FALSE(decode_qdisc(mqprio)) << "more classes than there can be";
  mqprio.at(36) = std::byte{2};
  EXPECT_FALSE(decode_qdisc(mqprio)) << "a priority in no class";
}

TEST(QueueingMessages, CutAndMutatedBytesGiveAnAnswerOrAnError) {
  for (const std::string_view one : kAll)
    fuzz(std::string(one), [](netlink::Bytes bytes) {
      (void)decode_qdisc(bytes);
      (void)decode_priority_filter(bytes);
    });
  const Buffer filter = bytes_of(kDscpV4);
  for (std::size_t size = 0; size < 200; ++size) {
    const auto cut = decode_priority_filter(netlink::Bytes(filter).first(size));
    EXPECT_FALSE(cut && *cut) << size;
  }
}

}  // namespace
}  // namespace lockstep
