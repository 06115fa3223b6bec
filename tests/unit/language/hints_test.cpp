// Hints that say what to write instead.
#include <gtest/gtest.h>

#include "specs/language/load.hpp"

namespace lockstep {
namespace {

std::string hint_of(const std::string& spec) {
  const Loaded loaded = load_text("x.yaml", "apiVersion: lockstep.dev/v1alpha1\n" + spec);
  EXPECT_EQ(loaded.diagnostics.size(), 1U) << spec;
  return loaded.diagnostics.empty() ? "" : loaded.diagnostics[0].hint;
}

TEST(Hints, NumberWithAUnitIsWrittenOut) {
  const auto priority = [](const std::string& number) {
    return hint_of(
        "kind: DeviceSet\nmetadata: {name: a}\n"
        "spec: {names: a, role: leaf, drivers: [linux], priority: " +
        number + "}\n");
  };
  EXPECT_EQ(priority("9k"), "write 9000, without a unit");
  EXPECT_EQ(priority("9KB"), "write 9000, without a unit");
  EXPECT_EQ(priority("9000B"), "write 9000, without a unit");
  EXPECT_EQ(priority("9KiB"), "write it without a unit");
  EXPECT_EQ(priority("high"), "");
}

TEST(Hints, UnknownInterfaceIsFollowedByThoseThatExist) {
  const std::string hint = hint_of(
      "kind: DeviceSet\nmetadata: {name: hosts}\n"
      "spec: {names: 'gpu[1-2]', role: host, drivers: [linux], interfaces: [{name: 'rail[0-11]'}]}\n"
      "---\napiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: leaves}\n"
      "spec: {names: leaf0, role: leaf, drivers: [linux]}\n"
      "---\napiVersion: lockstep.dev/v1alpha1\nkind: Fabric\nmetadata: {name: one}\n"
      "spec: {role: backend, topology: rail-only, cabling: [{from: 'gpu[1-2]:rali0', to: 'leaf0:p[1-2]', "
      "by: rail}]}\n");
  EXPECT_EQ(hint, "it lists rail[0-11]; did you mean 'rail0'?");
}

}  // namespace
}  // namespace lockstep
