#include "bench/ideal.hpp"

#include <gtest/gtest.h>

namespace lockstep::bench {
namespace {

TEST(Ideal, GoodputShareIncludesTheOverheadOfShaperOrWire) {
  EXPECT_NEAR(tcp_goodput_share(1500, shaped_framing), 1448.0 / 1514, 1e-12);
  EXPECT_NEAR(tcp_goodput_share(9000, shaped_framing), 8948.0 / 9014, 1e-12);
  // 941.5 Mb/s: the well-known goodput of TCP over 1 Gb/s Ethernet.
  EXPECT_NEAR(nominal_goodput(1'000'000'000, 1500, wire_framing), 941.5e6, 0.1e6);
  EXPECT_NEAR(tcp_goodput_share(1500, wire_framing, true), 1428.0 / 1538, 1e-12);
  EXPECT_EQ(tcp_goodput_share(40, wire_framing), 0);
  // 392 Gb/s on 400G (nccl#2409) and 370 at 1,024 bytes: validation-telemetry-cost.md, 2.2.
  EXPECT_NEAR(rocev2_goodput_share({4096, 4096, 0}, wire_framing) * 400, 392, 0.3);
  EXPECT_NEAR(rocev2_goodput_share({1024, 1024, 0}, wire_framing) * 400, 370, 0.5);
}

TEST(Ideal, ARoceMessageHasHeadersPerPacketAndExtendedOnesOnce) {
  EXPECT_NEAR(rocev2_goodput_share({65536, 4096, reth_bytes}, wire_framing),
              65536.0 / (65536 + 16 * (44 + 38) + 16), 1e-12);
  EXPECT_NEAR(rocev2_goodput_share({4097, 4096, 0}, wire_framing, true), 4097.0 / (4097 + 2 * (64 + 38)),
              1e-12);
  EXPECT_EQ(rocev2_goodput_share({65536, 0, reth_bytes}, wire_framing), 0);
}

TEST(Ideal, BusbwFactorsMatchNcclTests) {
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::broadcast, 8), 1);
}

// shared/reference/validation-telemetry-cost.md, 2.2: estimates of 20,000 trials.
TEST(Ideal, ExpectedMostLoadedUplinkAgreesWithTheTable) {
  EXPECT_NEAR(expected_most_loaded(8, 8), 2.59, 0.02);
  EXPECT_NEAR(expected_most_loaded(16, 16), 3.08, 0.02);
  EXPECT_NEAR(expected_most_loaded(32, 8), 7.05, 0.02);
  EXPECT_NEAR(expected_most_loaded(64, 8), 12.23, 0.03);
  EXPECT_NEAR(expected_most_loaded(128, 32), 8.64, 0.02);
}

TEST(Ideal, ExpectedMostLoadedUplinkIsExactWhereItCanBeCounted) {
  EXPECT_NEAR(expected_most_loaded(2, 2), 1.5, 1e-9);
  EXPECT_NEAR(expected_most_loaded(3, 2), 2.25, 1e-9);      // 2 of 8 outcomes have all three on one
  EXPECT_NEAR(expected_most_loaded(3, 3), 17.0 / 9, 1e-9);  // 6 of 27 have one each, 3 all on one
  EXPECT_NEAR(expected_most_loaded(1, 64), 1, 1e-9);
  EXPECT_NEAR(expected_most_loaded(5, 1), 5, 1e-9);
  EXPECT_EQ(expected_most_loaded(0, 4), 0);
}

// Two flows from one leaf, two uplinks of capacity 1: balanced, each flow has its own; hashed, half of the
// outcomes collide.
TEST(Ideal, TwoFlowsOnTwoUplinksLoseAQuarterByHash) {
  const std::vector<FlowPath> flows{{{0}, {{2, 3}}}, {{1}, {{2, 3}}}};
  const std::vector<double> capacities{1, 1, 1, 1};
  const IdealBounds bounds = slowest_flow(flows, capacities);
  EXPECT_DOUBLE_EQ(bounds.balanced, 1);
  EXPECT_DOUBLE_EQ(bounds.hash_expected, 0.75);
}

TEST(Ideal, ManyFlowsAreEstimatedAndRepeatable) {
  std::vector<FlowPath> flows(8, FlowPath{{}, {{0, 1, 2, 3, 4, 5, 6, 7}}});
  const std::vector<double> capacities(8, 1);
  const IdealBounds bounds = slowest_flow(flows, capacities);
  EXPECT_DOUBLE_EQ(bounds.balanced, 1);
  // E[1/max] of 8 on 8: by Jensen's inequality above 1/E[max] = 0.386, and below 1/2.
  EXPECT_GT(bounds.hash_expected, 1 / 2.59);
  EXPECT_LT(bounds.hash_expected, 0.5);
  EXPECT_EQ(slowest_flow(flows, capacities).hash_expected, bounds.hash_expected);
}

TEST(Ideal, AFlowWithoutAChoiceHasOneBound) {
  const std::vector<FlowPath> flows{{{0, 1}, {}}};
  const std::vector<double> capacities{10, 4};
  EXPECT_EQ(slowest_flow(flows, capacities), (IdealBounds{4, 4}));
}

}  // namespace
}  // namespace lockstep::bench
