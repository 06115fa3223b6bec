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

// All 20 worked numbers, rounded as in the source (whole KiB).
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

TEST(Lossless, ReportsEveryConstantWithItsSource) {
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
  EXPECT_EQ(out->rule, HeadroomRule::table);
  EXPECT_EQ(out->xoff, 612140U);
  ask.cable_length = 501 * kMetre;
  const Result<Headroom> beyond = pfc_headroom(known("tomahawk-5"), ask);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, ErrorKind::unsupported);
}

TEST(Lossless, NamesTheConstantsThatAreMissing) {
  Platform own = known("spectrum-3");
  own.small_packet_percent.reset();
  own.mac_phy_bytes.reset();
  const Result<Headroom> out = pfc_headroom(own, {.speed = 400 * kGbps});
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().what.find("macPhyBytes, smallPacketPercent"), std::string::npos) << out.error().what;
  EXPECT_EQ(out.error().what.find("cellBytes"), std::string::npos);
}

TEST(Lossless, RefusesAPlatformWithoutConstants) {
  const Result<Headroom> out = pfc_headroom(known("thor2"), {.speed = 400 * kGbps});
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

// The driver's own formula (Linux mlx5 port_buffer.c), calculated manually: 400G, 30 m, MTU 9000:
// (301 + 64) x 400,000 / 1000 + 24,480 = 170,480; the size adds one frame of 9,978 (the largest that the
// ports accept) and one cell of 128.
TEST(Lossless, ANicsHeadroomIsItsDriversOwn) {
  struct Row {
    std::uint64_t gbps;
    std::uint64_t metres;
    double mtu;
    std::uint64_t xoff;
    std::uint64_t size;
  };
  constexpr Row kRows[] = {{400, 30, 9000, 170480, 180586}, {100, 7, 1500, 35680, 45786},
                           {100, 100, 9000, 76180, 86286},  {200, 30, 1500, 77080, 87186},
                           {25, 7, 1500, 16720, 26826},     {800, 100, 9000, 438080, 448186}};
  for (const Row& row : kRows) {
    const Result<Headroom> out =
        pfc_headroom(known("connectx-7"),
                     {.speed = row.gbps * kGbps, .cable_length = row.metres * kMetre, .ip_mtu = row.mtu});
    ASSERT_TRUE(out);
    EXPECT_EQ(out->xoff, row.xoff) << row.gbps << "G " << row.metres << " m";
    EXPECT_EQ(out->size, row.size) << row.gbps << "G " << row.metres << " m";
    for (const Constant& one : out->constants) EXPECT_FALSE(one.source.empty()) << one.name;
  }
  const auto size = [](std::uint64_t millimetres) {
    return pfc_headroom(known("connectx-7"), {.speed = 400 * kGbps, .cable_length = millimetres})->size;
  };
  EXPECT_EQ(size(4'001), size(5'000)) << "whole metres, rounded up";
  EXPECT_LT(size(4'000), size(5'000));
}

// Whether port 0 would be paused if the queue of every lossless priority of every port held `queue` bytes,
// all received by port 0.
bool pauses_the_one(const PfcPoint& chip, std::uint64_t queue) {
  double held = 0;
  double by_one = 0;
  for (std::uint32_t priority = 0; priority < chip.priorities; ++priority)
    for (std::uint32_t port = 0; port < chip.ports; ++port) {
      held += static_cast<double>(queue);
      if (priority == 0) by_one += static_cast<double>(queue);
    }
  return by_one > chip.alpha * (static_cast<double>(chip.shared) - held);
}
// The same if each pair of ports feeds one port.
bool pauses_pairs(const PfcPoint& chip, std::uint64_t queue) {
  double held = 0;
  for (std::uint32_t port = 0; port + 1 < chip.ports; port += 2)
    held += static_cast<double>(queue) * chip.priorities;
  return static_cast<double>(queue) / 2 > chip.alpha * (static_cast<double>(chip.shared) - held);
}

TEST(Lossless, PfcPointMatchesASimulatedChip) {
  EXPECT_TRUE(rc::check("fires", [] {
    const PfcPoint chip{.alpha = std::exp2(*rc::gen::inRange(-8, 8)),
                        .ports = 2 * *rc::gen::inRange<std::uint32_t>(1, 257),
                        .priorities = *rc::gen::inRange<std::uint32_t>(1, 9),
                        .shared = *rc::gen::inRange<std::uint64_t>(10'000'000, 200'000'000)};
    RC_ASSERT(!pauses_the_one(chip, chip.bound()) && pauses_the_one(chip, chip.bound() + 1));
    RC_ASSERT(!pauses_pairs(chip, chip.even()) && pauses_pairs(chip, chip.even() + 1));
    PfcPoint alone = chip;
    alone.ports = 2;
    alone.priorities = 1;
    RC_ASSERT(!pauses_pairs(alone, chip.lone()) && pauses_pairs(alone, chip.lone() + 1));
    RC_ASSERT(chip.bound() <= chip.even() && chip.even() <= chip.lone());
  }));
}

// Zhu et al., SIGCOMM 2015, section 4: 12 MB, 32 ports, t_flight 22.4 KB, beta 8 of eight priorities: 21.75
// KB.
TEST(Lossless, BoundMatchesThePublishedOne) {
  constexpr std::uint64_t kBuffer = 12'000'000;
  constexpr std::uint64_t kInFlight = 8 * 32 * 22'400;
  const PfcPoint chip{.alpha = 8.0 / 8, .ports = 32, .priorities = 8, .shared = kBuffer - kInFlight};
  EXPECT_NEAR(static_cast<double>(chip.bound()), 21'750, 10);
}

TEST(Lossless, EcnAutoIsHuaweisRowAt100GAndScalesWithSpeed) {
  const EcnThresholds at100 = ecn_auto({.speed = 100 * kGbps, .ip_mtu = 9000});
  EXPECT_EQ(at100.kmin, 200'000U);
  EXPECT_EQ(at100.kmax, 750'000U);
  EXPECT_EQ(at100.pmax, Ratio{100'000});
  const EcnThresholds at400 = ecn_auto({.speed = 400 * kGbps, .ip_mtu = 9000});
  EXPECT_EQ(at400.kmin, 800'000U);
  EXPECT_EQ(at400.kmax, 3'000'000U);
  EXPECT_FALSE(at400.shrunk);
}

TEST(Lossless, EcnAutoIsWhatThePlatformsVendorPublishes) {
  const EcnThresholds th5 =
      ecn_auto({.speed = 400 * kGbps, .ip_mtu = 9000, .published = &*known("tomahawk-5").ecn_defaults});
  EXPECT_EQ(th5.kmin, 128U * 1024);
  EXPECT_EQ(th5.kmax, 256U * 1024);
  EXPECT_EQ(th5.pmax, Ratio{50'000});
  const EcnThresholds spectrum =
      ecn_auto({.speed = 400 * kGbps, .ip_mtu = 9000, .published = &*known("spectrum-4").ecn_defaults});
  EXPECT_EQ(spectrum.kmin, 150'000U);
  EXPECT_EQ(spectrum.kmax, 1'500'000U);
  EXPECT_EQ(spectrum.pmax, Ratio{1'000'000});
}

TEST(Lossless, EcnAutoComesBeforePfcAndFillsALink) {
  EXPECT_TRUE(rc::check("before PFC", [] {
    const auto speed = *rc::gen::inRange<std::uint64_t>(1, 1600) * kGbps;
    const PfcPoint fires{.ports = *rc::gen::inRange<std::uint32_t>(1, 513),
                         .priorities = *rc::gen::inRange<std::uint32_t>(1, 9),
                         .shared = *rc::gen::inRange<std::uint64_t>(100'000, 200'000'000)};
    const Platform& of = known("spectrum-4");
    const PublishedEcn* const published = *rc::gen::arbitrary<bool>() ? &*of.ecn_defaults : nullptr;
    const EcnThresholds out =
        ecn_auto({.speed = speed, .ip_mtu = 9000, .published = published, .fires = fires});
    const std::uint64_t least = ecn_floor(speed, 9000);
    RC_ASSERT(out.kmin <= std::max(fires.bound(), least));
    RC_ASSERT(out.kmax <= std::max(fires.even(), least));
    RC_ASSERT(out.kmin >= least && out.kmin <= out.kmax);
  }));
  // Where Kmin stops at its floor, Kmax is still as large as PFC lets it be.
  const PfcPoint early{.alpha = std::exp2(-8), .ports = 32, .priorities = 2, .shared = 143'000'000};
  const EcnThresholds floored = ecn_auto({.speed = 400 * kGbps,
                                          .ip_mtu = 9000,
                                          .published = &*known("tomahawk-5").ecn_defaults,
                                          .fires = early});
  EXPECT_LT(early.bound(), 50'000U);
  EXPECT_EQ(floored.kmin, 50'000U);
  EXPECT_EQ(floored.kmax, 256U * 1024);
  // DCQCN's 5 KB at 40G, in proportion; and two of RoCE's frames: 4,096 B and headers.
  EXPECT_EQ(ecn_floor(400 * kGbps, 9000), 50'000U);
  EXPECT_EQ(ecn_floor(10 * kGbps, 9000), 2U * (4096 + 96 + 22));
  EXPECT_EQ(ecn_floor(10 * kGbps, 1500), 2U * (1024 + 96 + 22));
}

}  // namespace
}  // namespace lockstep
