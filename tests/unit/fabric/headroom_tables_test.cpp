// The computed headroom of each platform (tests/cases/headroom/computed.txt), and its comparison with the
// vendors' own tables (deviations.txt), which are outside the repository (shared/data/sonic-config).
// LOCKSTEP_UPDATE_CASES=1 rewrites both files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "specs/fabric/buffer_use.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t kMbps = 1'000'000;
constexpr std::uint64_t kMillimetres = 1000;  // of a metre
constexpr std::uint64_t kLeastMbps = 10'000;  // slower ports have no lossless classes
constexpr double kMtu = 9216;
constexpr double kFrame = 9216 + kFrameOverhead;

const std::filesystem::path kCases = std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/cases/headroom";
const std::filesystem::path kTables =
    std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "../shared/data/sonic-config/pg_profile_lookup";

// The platform of a table, by a part of the table's name; and why the computed headroom is larger.
struct TableOf {
  std::string_view part;
  std::string_view platform;
  std::string_view why_more;
};
constexpr std::string_view kNoSmallPackets = "the table counts with no small packets, the platform with all";
constexpr std::string_view kOldPeer =
    "the table has 3.8 KiB for the peer's response, not IEEE 802.3 31B's quanta";
constexpr std::string_view kLargest = "of several tables of one chip the largest row is taken";
constexpr std::string_view kItself = "";
constexpr TableOf kTableOf[] = {
    {"ACS-MSN2700", "spectrum-1", kOldPeer},
    {"SN2700", "spectrum-1", kNoSmallPackets},
    {"ACS-SN2201", "spectrum-1", kOldPeer},
    {"SN3800", "spectrum-2", "the table counts with half of the packets small"},
    {"ACS-SN4280", "spectrum-3", kOldPeer},
    {"SN4700", "spectrum-3", kNoSmallPackets},
    {"SN4280", "spectrum-3", kNoSmallPackets},
    {"ACS-SN5600", "spectrum-4", "the table's frames have 9,100 B and 1,024 B, here both have the MTU's"},
    {"SN56", "spectrum-4", kNoSmallPackets},
    {"SN5640", "spectrum-5", kNoSmallPackets},
    {"SN6600", "spectrum-6", kItself},
    {"SN6810", "spectrum-6", kItself},
    {"7060CX-32S", "tomahawk", kItself},
    {"Z9100", "tomahawk", kItself},
    {"th2_7260", "tomahawk-2", kLargest},
    {"Z9264f", "tomahawk-2", kItself},
    {"Z9332f", "tomahawk-3", kItself},
    {"7060X6", "tomahawk-5", kLargest},
    {"Z9664f", "tomahawk-4", kLargest},
    {"IXR7220-H4", "tomahawk-4", kLargest},
    {"profiles_th4", "tomahawk-4", kLargest},
    {"W6940-128QC", "tomahawk-5", kLargest},
    {"NH-4010", "tomahawk-5", kLargest},
    {"D6332", "trident-3", kLargest},
    {"S5224f", "trident-3", kLargest},
    {"S5448f", "trident-4", kItself},
    {"IXR7220-D4", "trident-4", kLargest},
    {"7800R3", "jericho-2", kItself},
    {"NH-5010", "q3d", kItself},
    {"newport", "tofino-2", kItself},
    {"aurora-715", "teralynx-7", kLargest},
    {"sse_t7132s", "teralynx-7", kItself},
    {"AS7116", "nephos", kItself},
};

const TableOf* table_of(const std::string& file) {
  for (const TableOf& one : kTableOf)
    if (file.find(one.part) != file.npos) return &one;
  return nullptr;
}

Result<Headroom> computed(const Platform& platform, std::uint64_t mbps, std::uint64_t metres) {
  HeadroomAsk ask{.speed = mbps * kMbps, .cable_length = metres * kMillimetres};
  ask.port_mtu = ask.lossless_mtu = kFrame;
  ask.ip_mtu = kMtu;
  return pfc_headroom(platform, ask);
}

// A row: speed in Mbit/s, cable, then in bytes size, xon, xoff, threshold, and sometimes xon_offset.
struct VendorsRow {
  std::uint64_t mbps = 0;
  std::uint64_t metres = 0;
  std::uint64_t size = 0;
  std::uint64_t xon = 0;
  std::uint64_t xoff = 0;
};

std::vector<VendorsRow> rows_of(const std::filesystem::path& file) {
  std::vector<VendorsRow> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    VendorsRow row;
    std::string cable;
    if (words >> row.mbps >> cable >> row.size >> row.xon >> row.xoff) {
      row.metres = std::stoull(cable);
      out.push_back(row);
    }
  }
  return out;
}

void compare(const std::string& text, const char* file) {
  const std::filesystem::path path = kCases / file;
  if (std::getenv("LOCKSTEP_UPDATE_CASES") != nullptr) std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << "if this is as it should be: LOCKSTEP_UPDATE_CASES=1 " << path;
}

// At an MTU of 9,216 B. A change of any constant changes the numbers.
TEST(HeadroomTables, ComputedHeadroomMatchesItsGolden) {
  constexpr std::uint64_t kSpeeds[] = {10'000, 25'000, 40'000, 50'000, 100'000, 200'000, 400'000, 800'000};
  std::string out = "platform, Gbit/s, m: xoff, xon, size, of it reserved; B\n";
  ASSERT_TRUE(all_platforms());
  for (const Platform& platform : *all_platforms())
    for (const std::uint64_t mbps : kSpeeds)
      for (const std::uint64_t metres : {5, 40, 100, 300})
        if (const Result<Headroom> one = computed(platform, mbps, metres))
          out += fmt::format("{} {} {}: {} {} {} {}\n", platform.name, mbps / 1000, metres, one->xoff,
                             one->xon, one->size, one->reserved);
  compare(out, "computed.txt");
}

// Never less than a vendor's row; records by how much it is larger, and why.
TEST(HeadroomTables, NoHeadroomIsBelowTheVendors) {
  if (!std::filesystem::is_directory(kTables))
    LOCKSTEP_NOT_TESTED("the vendors' tables are not beside the project: " + kTables.string());
  std::map<std::string, std::filesystem::path> files;
  for (const auto& one : std::filesystem::directory_iterator(kTables))
    files[one.path().filename()] = one.path();
  ASSERT_FALSE(files.empty());
  std::string out = "what is computed, above xon + xoff of the vendor's row, in per cent\n";
  for (const auto& [name, path] : files) {
    const TableOf* const of = table_of(name);
    ASSERT_NE(of, nullptr) << "of which platform is " << name << "?";
    const Result<const Platform*> platform = find_platform(of->platform);
    ASSERT_TRUE(platform) << of->platform;
    out += fmt::format("\n{} ({})\n", name.substr(0, name.find("_pg_profile")), of->platform);
    bool any_more = false;
    for (const VendorsRow& row : rows_of(path)) {
      if (row.mbps < kLeastMbps) continue;
      const std::string at = fmt::format("{}G {}m", static_cast<double>(row.mbps) / 1000, row.metres);
      const Result<Headroom> one = computed(**platform, row.mbps, row.metres);
      ASSERT_TRUE(one) << name << " " << at << ": " << one.error().text();
      const std::uint64_t theirs = row.xon + row.xoff;
      EXPECT_GE(one->size, theirs) << name << " " << at;
      EXPECT_GE(one->size, row.size) << name << " " << at;
      EXPECT_GE(one->xoff, row.xoff) << name << " " << at;
      const auto more =
          static_cast<long>(100.0 * static_cast<double>(one->size) / static_cast<double>(theirs) - 100);
      any_more = any_more || more > 10;
      out += fmt::format("  {} +{}\n", at, more);
    }
    if (any_more) {
      EXPECT_FALSE(of->why_more.empty()) << name << ": why is what is computed more than 10 % above it?";
      out += fmt::format("  {}\n", of->why_more);
    }
  }
  compare(out, "deviations.txt");
}

}  // namespace
}  // namespace lockstep
