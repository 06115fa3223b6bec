// RED parameters and their encoding, on any kernel; tests/vm tests what a kernel does with them.
#include "drivers/linux/ecn_red.hpp"

#include <gtest/gtest.h>
#include <linux/pkt_sched.h>

#include "drivers/linux/map.hpp"
#include "drivers/linux/traffic_control.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t kThresholdMax = (1U << 30) - 1;

TEST(EcnRed, DesiredValuesReadBack) {
  for (const std::uint64_t min : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{65536}, kThresholdMax})
    for (const std::uint64_t max : {min, std::max<std::uint64_t>(min, 1'000'000), kThresholdMax})
      for (std::uint64_t share = 0; share <= 1000; ++share) {
        const ClassEcn wanted{min, max, share};
        ASSERT_TRUE(check(wanted));
        EXPECT_EQ(ecn_of(red_for(wanted)), wanted) << min << " " << max << " " << share;
      }
}

TEST(EcnRed, TheQueueHoldsMoreThanTheUpperThreshold) {
  for (const std::uint64_t max : {std::uint64_t{0}, std::uint64_t{300'000}, kThresholdMax})
    EXPECT_GT(red_for({0, max, 10}).limit, max);
}

TEST(EcnRed, RefusesWhatTheKernelWouldRefuse) {
  for (const ClassEcn& wrong : {ClassEcn{2, 1, 10}, {0, kThresholdMax + 1, 10}, {0, 1, 1001}}) {
    const auto checked = check(wrong);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind, ErrorKind::invalid_spec);
  }
}

TEST(EcnRed, ARedWithOtherParametersIsNoMarker) {
  const RedParameters own = red_for({1000, 3000, 10});
  ASSERT_TRUE(ecn_of(own));
  std::vector<RedParameters> others(5, own);
  others[0].flags = 0;  // drops
  others[1].flags |= TC_RED_HARDDROP;
  others[2].weight_log = 9;
  others[3].limit = 4000;
  others[4].max_probability += 1 << 20;  // not a whole per mille
  for (const RedParameters& one : others) EXPECT_FALSE(ecn_of(one));
}

// A request, which has the same format as the kernel's dump.
std::vector<std::byte> message(const RedParameters& red) {
  netlink::Request request = red_request(7, 0x4C570000, 0x4C530013, red);
  const netlink::Bytes whole = request.finish(1).subspan(NLMSG_HDRLEN);
  return {whole.begin(), whole.end()};
}

TEST(EcnRed, ItsBytesAreDecoded) {
  const RedParameters red = red_for({1000, 3000, 10});
  const auto decoded = decode_qdisc(message(red));
  ASSERT_TRUE(decoded);
  ASSERT_TRUE(*decoded);
  EXPECT_EQ((*decoded)->kind, "red");
  EXPECT_EQ((*decoded)->handle, 0x4C570000U);
  EXPECT_EQ((*decoded)->parent, 0x4C530013U);
  EXPECT_EQ((*decoded)->red, red);
}

TEST(EcnRed, CutBytesGiveAnErrorOrNoMarker) {
  const std::vector<std::byte> whole = message(red_for({1000, 3000, 10}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto decoded = decode_qdisc(netlink::Bytes(whole).first(size));
    EXPECT_FALSE(decoded && *decoded && (*decoded)->red && ecn_of(*(*decoded)->red)) << size;
  }
}

TEST(EcnRed, PreviewShowsTcCommands) {
  const auto words = [&](const char* entry, Value want) {
    return linux_map::native({*Path::parse(entry), {}, want, 0}, Carrier::htb);
  };
  const std::string place = "tc qdisc replace dev rail0 parent 4c53:13 red ecn nodrop ";
  EXPECT_TRUE(
      words("interface[rail0]/class[3]/ecn-min", Value::integer(1000)).starts_with(place + "min 1000 "));
  EXPECT_TRUE(words("interface[rail0]/class[3]/ecn-probability", Value::integer(50))
                  .starts_with(place + "probability 0.050 "));
  EXPECT_TRUE(words("interface[rail0]/class[3]/ecn-probability", Value::integer(1000))
                  .starts_with(place + "probability 1.000 "));
  EXPECT_EQ(words("interface[rail0]/class[3]/ecn-max", {}), "tc qdisc del dev rail0 parent 4c53:13");
}

}  // namespace
}  // namespace lockstep
