// Overrides are proved like the values that they replace: tested with a published guide and one override.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

class OverrideChecks : public ::testing::Test {
 protected:
  // The diagnostics for an override of leaf0, as "CODE severity message".
  std::string said(const std::string& entry, const std::string& value,
                   const std::string& object = "profile") {
    std::ostringstream guide;
    guide << std::ifstream(std::filesystem::path(LOCKSTEP_SOURCE_DIR) /
                           "tests/cases/guides/cisco-nexus/cluster.yaml")
                 .rdbuf();
    std::string text = guide.str();
    const std::string override = "\n  overrides: [{names: leaf0, set: {\"" + entry + "\": " + value +
                                 "}, reason: trial, until: 2099-01-01}]";
    const std::string after = object == "profile" ? "\n  congestionControl: dcqcn" : "\n  roceProfile: guide";
    text.insert(text.find(after) + after.size(), override);
    const Loaded loaded = load_text("cluster.yaml", text);
    EXPECT_TRUE(loaded.diagnostics.empty()) << loaded.diagnostics.front().message;
    std::string out;
    for (const Diagnostic& one : compile(loaded.catalog).diagnostics) {
      out += one.code + (one.severity == Severity::warning ? " warning " : " error ") + one.message + "\n";
      const auto before = text.begin() + static_cast<std::ptrdiff_t>(text.find(override));
      EXPECT_EQ(one.at.line, 2 + std::count(text.begin(), before, '\n')) << "where the override stands";
    }
    return out;
  }
};

TEST_F(OverrideChecks, SharesAreAtMostTheWholeLink) {
  EXPECT_EQ(said("interface[Ethernet64]/class[3]/share", "50%"), "");
  EXPECT_EQ(said("interface[Ethernet64]/class[3]/share", "50.1%"),
            "LS114 error with this override the bandwidth shares of leaf0:Ethernet64 sum to 100.1%\n");
}

// A setting that no class has, such as the share of a strict class.
TEST_F(OverrideChecks, SettingsAddedByAnOverrideAreProved) {
  EXPECT_EQ(said("interface[Ethernet64]/class[7]/share", "80%"),
            "LS114 error with this override the bandwidth shares of leaf0:Ethernet64 sum to 180%\n");
}

TEST_F(OverrideChecks, EcnComesBeforePfc) {
  EXPECT_EQ(said("interface[Ethernet64]/class[3]/ecn-min", "149KB"), "");
  const std::string late = said("interface[Ethernet64]/class[3]/ecn-min", "900MB");
  EXPECT_EQ(
      late.find("LS103 error interface[Ethernet64]/class[3]/ecn-min of leaf0 is 900MB by this override, "
                "and PFC fires even in the best case"),
      0U)
      << late;
  EXPECT_EQ(said("interface[Ethernet64]/class[3]/ecn-max", "900MB").find("LS103 warning"), 0U);
}

TEST_F(OverrideChecks, HeadroomIsNoLessThanItsCableNeeds) {
  EXPECT_EQ(said("interface[Ethernet64]/buffer[3]/size", "9MB"), "");
  EXPECT_EQ(said("interface[Ethernet64]/buffer[3]/size", "1B").find("LS102 error"), 0U);
  EXPECT_EQ(said("interface[Ethernet64]/buffer[3]/xoff", "1B").find("LS102 error"), 0U);
}

TEST_F(OverrideChecks, MtuAboveThatOfTheHeadroomIsReported) {
  EXPECT_EQ(said("interface[Ethernet64]/mtu", "9100", "fabric"), "");
  EXPECT_EQ(said("interface[Ethernet64]/mtu", "9217", "fabric").find("LS102 warning"), 0U);
}

// A class without a bound claims that: a bound that was set manually is a difference.
TEST_F(OverrideChecks, BoundOnAnUnboundedClassIsADifference) {
  const Compiled compiled =
      compile(load({(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/cases/guides/cisco-nexus").string()})
                  .catalog);
  const DeviceIndex leaf = compiled.topology.find_device("leaf0");
  Observation seen;
  TreeBuilder have;
  for (const Entry& entry : compiled.intents[leaf].want.entries()) have.add(entry.path, entry.value);
  have.add(Path(row("interface[*]/class[*]/max-rate"), {"Ethernet64", "3"}), Value::integer(20'000'000));
  seen.have = have.build();
  const Difference difference = diff(compiled.intents[leaf], seen);
  ASSERT_EQ(difference.changes.size(), 1U);
  EXPECT_EQ(difference.changes[0].path.text(), "interface[Ethernet64]/class[3]/max-rate");
  EXPECT_EQ(difference.changes[0].want, Value{});
}

}  // namespace
}  // namespace lockstep
