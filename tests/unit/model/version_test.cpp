#include "specs/model/version.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "specs/model/diff.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

TEST(Versions, AreInDebiansOrder) {
  // Each version is older than the next.
  constexpr std::string_view kOrdered[] = {
      "1.0~rc1", "1.0",       "1.0-1",          "1.0-1+deb12u1",  "1.0-2",      "1.0+git",
      "1.9",     "1.10",      "6.1.0-18-amd64", "6.1.0-21-amd64", "28.39.1002", "44.0-2",
      "52",      "550.54.14", "550.54.15",      "1:0.1"};
  for (std::size_t i = 0; i < std::size(kOrdered); ++i)
    for (std::size_t j = 0; j < std::size(kOrdered); ++j) {
      const int order = compare_versions(kOrdered[i], kOrdered[j]);
      EXPECT_TRUE(i < j    ? order < 0
                  : i == j ? order == 0
                           : order > 0)
          << kOrdered[i] << " and " << kOrdered[j];
    }
}

// Compares with dpkg, if it is installed.
TEST(Versions, DpkgAgrees) {
  if (std::system("dpkg --compare-versions 1 lt 2 2>/dev/null") != 0)
    LOCKSTEP_NOT_TESTED_BUT_ON_CI("versions as dpkg orders them: no dpkg here");
  constexpr std::string_view kTexts[] = {"1.0~~", "1.0~",   "1.0~a", "1.0",    "1.0a",    "1.0.",
                                         "1.0+",  "1.00-0", "1.0-a", "1.0-0a", "0:1.0-1", "1:1.0~",
                                         "10.0",  "1a9",    "1a10",  "1.0a~-1"};
  for (const std::string_view a : kTexts)
    for (const std::string_view b : kTexts) {
      const std::string command =
          "dpkg --compare-versions '" + std::string(a) + "' lt '" + std::string(b) + "' 2>/dev/null";
      EXPECT_EQ(compare_versions(a, b) < 0, std::system(command.c_str()) == 0) << a << " and " << b;
    }
}

TEST(Versions, AnyTextIsOrdered) {
  EXPECT_EQ(compare_versions("", ""), 0);
  EXPECT_LT(compare_versions("", "1"), 0);
  EXPECT_EQ(compare_versions("01.0", "1.00"), 0);
  EXPECT_NE(compare_versions("x:y", "x:z"), 0);
  EXPECT_NE(compare_versions("99999999999999999999:1", "1"), 0);
}

TEST(Versions, ConstraintsCompareInTheirDirection) {
  for (const auto& [constraint, older, same, newer] : {std::tuple{">=44", false, true, true},
                                                       {"==44", false, true, false},
                                                       {"44", false, true, false},
                                                       {"<=44", true, true, false},
                                                       {">44", false, false, true},
                                                       {"<44", true, false, false}}) {
    EXPECT_EQ(version_meets("43.9-1", constraint), older) << constraint;
    EXPECT_EQ(version_meets("44", constraint), same) << constraint;
    EXPECT_EQ(version_meets("44.0-2", constraint), newer) << constraint;
  }
}

TEST(Versions, VersionThatMeetsItsConstraintIsNotADifference) {
  const Path package(row("package[*]"), {"rdma-core"});
  Intent intent;
  intent.want.set(package, Value::text(">=44"));
  Observation observation;
  observation.have.set(package, Value::text("44.0-2"));
  EXPECT_TRUE(diff(intent, observation).in_sync());
  observation.have.set(package, Value::text("43.1-1"));
  EXPECT_EQ(diff(intent, observation).changes.size(), 1U);
  observation.have.set(package, Value::set({"44.0-2", "52"}));
  EXPECT_TRUE(diff(intent, observation).in_sync());
  observation.have.set(package, Value::set({"43.1-1", "52"}));
  EXPECT_EQ(diff(intent, observation).changes.size(), 1U) << "one of several does not meet it";
  observation.have.erase(package);
  EXPECT_EQ(diff(intent, observation).changes.size(), 1U);
  EXPECT_FALSE(satisfies(row("sysctl[*]"), Value::text(">=1"), Value::text("2")));
}

}  // namespace
}  // namespace lockstep
