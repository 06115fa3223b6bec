#include "specs/fabric/lossless.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <iterator>

namespace lockstep {
namespace {

constexpr std::uint64_t kGbps = 1'000'000'000;
constexpr std::uint64_t kMetre = 1000;  // millimetres
constexpr double kKib = 1024;

const Platform& known(std::string_view name) {
  const Result<const Platform*> found = find_platform(name);
  if (!found) throw std::runtime_error(found.error().text());
  return **found;
}

// The constants of the worked table of reference/operators-and-roce-values.md D3.
Platform worked(double small_packets) {
  Platform out = known("spectrum-3");  // cell 144
  out.small_packet_percent->value = small_packets;
  out.eight_lane_gbps.reset();
  return out;
}

double xoff_kib(const Platform& platform, std::uint64_t gbps, std::uint64_t metres, double port_mtu = 9100,
                double lossless_mtu = 1500) {
  const Result<Headroom> out = pfc_headroom(platform, {.speed = gbps * kGbps,
                                                       .cable_length = metres * kMetre,
                                                       .port_mtu = port_mtu,
                                                       .lossless_mtu = lossless_mtu});
  EXPECT_TRUE(out);
  return out ? static_cast<double>(out->xoff) / kKib : 0;
}

struct WorkedRow {
  std::uint64_t gbps;
  double kib[4];  // at 5, 40, 100 and 300 m
};
constexpr std::uint64_t kLengths[] = {5, 40, 100, 300};

void expect_rows(const Platform& platform, std::span<const WorkedRow> rows) {
  for (const WorkedRow& row : rows)
    for (std::size_t i = 0; i < std::size(kLengths); ++i)
      EXPECT_EQ(std::round(xoff_kib(platform, row.gbps, kLengths[i])), row.kib[i])
          << row.gbps << "G " << kLengths[i] << " m: " << xoff_kib(platform, row.gbps, kLengths[i]);
}

// Every one of the 20 worked numbers, as rounded there (whole KiB).
TEST(Lossless, AgreesWithTheWorkedNumbersAtTheWorstPacketSize) {
  constexpr WorkedRow kRows[] = {{25, {35, 37, 41, 55}},
                                 {50, {45, 49, 58, 86}},
                                 {100, {80, 90, 106, 162}},
                                 {200, {90, 109, 142, 253}},
                                 {400, {156, 195, 261, 483}}};
  expect_rows(worked(100), kRows);
}

TEST(Lossless, AgreesWithTheWorkedNumbersAtOccupancyOne) {
  constexpr WorkedRow kRows[] = {
      {100, {36, 41, 48, 73}}, {200, {41, 49, 64, 113}}, {400, {70, 87, 117, 216}}};
  expect_rows(worked(0), kRows);
}

// NVIDIA's static table for SN4700 (sonic-buildimage@086b03bd, Mellanox-SN4700-O8C48 pg_profile_lookup.ini),
// whose values are whole KiB: rounded up, the formula at 0 % small packets is exact for 10G to 50G and 100G
// over 5 m, and within 4 % everywhere else (1 to 2 KiB less at 200G and 400G; 300 m: the table has slower
// cables).
TEST(Lossless, AgreesWithTheVendorsTable) {
  struct Row {
    std::uint64_t gbps;
    std::uint64_t metres;
    double xoff;
  };
  constexpr Row kExact[] = {{10, 5, 16384},  {25, 5, 17408},  {40, 5, 19456},
                            {50, 5, 21504},  {100, 5, 37888}, {10, 40, 16384},
                            {25, 40, 18432}, {40, 40, 21504}, {50, 40, 23552}};
  constexpr Row kNear[] = {{100, 40, 43008}, {200, 5, 43008},   {400, 5, 73728},    {200, 40, 51200},
                           {400, 40, 91136}, {100, 300, 75776}, {200, 300, 118784}, {400, 300, 225280}};
  const Platform platform = worked(0);
  for (const Row& row : kExact)
    EXPECT_EQ(std::ceil(xoff_kib(platform, row.gbps, row.metres)) * kKib, row.xoff)
        << row.gbps << "G " << row.metres;
  for (const Row& row : kNear)
    EXPECT_NEAR(xoff_kib(platform, row.gbps, row.metres) * kKib, row.xoff, 0.04 * row.xoff)
        << row.gbps << "G " << row.metres;
}

TEST(Lossless, SaysEveryConstantThatItUsedWithItsSource) {
  const Result<Headroom> out = pfc_headroom(
      known("spectrum-4"),
      {.speed = 400 * kGbps, .cable_length = 40 * kMetre, .port_mtu = 9238, .lossless_mtu = 9238});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->constants.size(), 10U);
  for (const Constant& one : out->constants) EXPECT_FALSE(one.source.empty()) << one.name;
  EXPECT_EQ(out->size, out->xoff + out->xon);
}

TEST(Lossless, ReservesAFrameMoreOnPortsOfEightLanes) {
  HeadroomAsk ask{.speed = 800 * kGbps, .cable_length = 5 * kMetre, .port_mtu = 9100, .lossless_mtu = 1500};
  const Result<Headroom> eight = pfc_headroom(known("spectrum-4"), ask);
  ASSERT_TRUE(eight);
  EXPECT_EQ(eight->xon, 2U * 19456);
  EXPECT_EQ(eight->size, eight->xoff + eight->xon + 9100);
}

TEST(Lossless, TakesTheVendorsNextLongerCableWhereConstantsAreNotPublic) {
  HeadroomAsk ask{.speed = 400 * kGbps, .cable_length = 31 * kMetre, .port_mtu = 9238, .lossless_mtu = 9238};
  const Result<Headroom> out = pfc_headroom(known("tomahawk-5"), ask);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->from_table);
  EXPECT_EQ(out->xoff, 612140U);
  ask.cable_length = 501 * kMetre;
  const Result<Headroom> beyond = pfc_headroom(known("tomahawk-5"), ask);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, ErrorKind::unsupported);
}

TEST(Lossless, RefusesAPlatformWithoutConstants) {
  const Result<Headroom> out = pfc_headroom(known("connectx-7"), {.speed = 400 * kGbps});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::unsupported);
}

TEST(Lossless, HeadroomGrowsWithCableMtuAndSpeed) {
  constexpr std::uint64_t kSpeeds[] = {10, 25, 40, 50, 100, 200, 400, 800};
  EXPECT_TRUE(rc::check("monotone", [&] {
    const Platform& platform = known(*rc::gen::element<std::string>("spectrum-3", "spectrum-4"));
    const auto faster = *rc::gen::inRange<std::size_t>(0, std::size(kSpeeds));
    const auto slower = *rc::gen::inRange<std::size_t>(0, faster + 1);
    const auto mtu = *rc::gen::inRange<std::uint32_t>(1280, 9217);
    const auto length = *rc::gen::inRange<std::uint64_t>(0, 3'000'000);
    const HeadroomAsk small{.speed = kSpeeds[slower] * kGbps,
                            .cable_length = length,
                            .port_mtu = static_cast<double>(mtu),
                            .lossless_mtu = static_cast<double>(mtu)};
    HeadroomAsk large = small;
    large.speed = kSpeeds[faster] * kGbps;
    large.cable_length += *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
    large.port_mtu += *rc::gen::inRange<std::uint32_t>(0, 1000);
    large.lossless_mtu = large.port_mtu;
    const Result<Headroom> a = pfc_headroom(platform, small);
    const Result<Headroom> b = pfc_headroom(platform, large);
    RC_ASSERT(static_cast<bool>(a) && static_cast<bool>(b));
    RC_ASSERT(a->size <= b->size);
    RC_ASSERT(a->xoff >= static_cast<std::uint64_t>(small.lossless_mtu));
  }));
}

TEST(Lossless, PfcFiresWhereTheModelSays) {
  // One port into itself, alpha 1: half of the buffer (Q = alpha (B - Q)).
  EXPECT_EQ(pfc_point(1000, 1, 1, 1).queue, 500U);
  // Two into one, alone on the chip: each holds half of Q, Q / 2 = 1000 - Q.
  EXPECT_EQ(pfc_point(1000, 1, 2, 2).queue, 666U);
  // 128 ports, two into one everywhere: 64 queues, Q / 2 = 129 - 64 Q.
  EXPECT_EQ(pfc_point(129, 1, 128, 2).queue, 2U);
  EXPECT_LT(pfc_point(1000, 0.5, 4, 2).queue, pfc_point(1000, 1, 4, 2).queue);
}

TEST(Lossless, EcnAutoIsHuaweisRowAt100GAndScalesWithSpeed) {
  const EcnThresholds at100 = ecn_auto(100 * kGbps);
  EXPECT_EQ(at100.kmin, 200'000U);
  EXPECT_EQ(at100.kmax, 750'000U);
  EXPECT_EQ(at100.pmax, Ratio{100'000});
  const EcnThresholds at400 = ecn_auto(400 * kGbps);
  EXPECT_EQ(at400.kmin, 800'000U);
  EXPECT_EQ(at400.kmax, 3'000'000U);
  EXPECT_FALSE(at400.shrunk);
}

TEST(Lossless, EcnAutoStaysBelowThePointWherePfcFires) {
  EXPECT_TRUE(rc::check("before PFC", [] {
    const auto speed = *rc::gen::inRange<std::uint64_t>(1, 1600) * kGbps;
    const auto shared = *rc::gen::inRange<std::uint64_t>(100'000, 200'000'000);
    const auto ports = *rc::gen::inRange<std::uint32_t>(1, 513);
    const PfcPoint fires = pfc_point(shared, 1, ports);
    const EcnThresholds out = ecn_auto(speed, fires);
    RC_ASSERT(out.kmax <= fires.queue);
    RC_ASSERT(out.kmin <= out.kmax);
  }));
}

}  // namespace
}  // namespace lockstep
