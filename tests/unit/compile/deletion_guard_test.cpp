#include "specs/compile/deletion_guard.hpp"

#include <gtest/gtest.h>

#include "specs/language/load.hpp"

namespace lockstep {
namespace {

std::vector<std::string> names(std::string_view prefix, int from, int to) {
  std::vector<std::string> out;
  for (int i = from; i < to; ++i) out.push_back(std::string(prefix) + std::to_string(i));
  return out;
}

constexpr Ratio kTenth{100'000};

TEST(DeletionGuard, AllowsTheFirstApply) {
  EXPECT_FALSE(judge_deletion({}, {names("gpu", 1, 5), {"Fabric/a"}}, kTenth).refused);
}

TEST(DeletionGuard, AllowsTheShareAndNoMore) {
  const Census before{names("gpu", 10, 50), {}};
  const DeletionVerdict four = judge_deletion(before, {names("gpu", 14, 50), {}}, kTenth);
  EXPECT_FALSE(four.refused);
  EXPECT_EQ(four.devices, names("gpu", 10, 14));
  EXPECT_TRUE(four.reason.empty());
  const DeletionVerdict five = judge_deletion(before, {names("gpu", 15, 50), {}}, kTenth);
  EXPECT_TRUE(five.refused);
  EXPECT_EQ(
      five.reason,
      "5 of 40 devices are gone from the specs (gpu[10-14]), more than the 10% that one change may delete");
}

TEST(DeletionGuard, AllowsASingleDeletion) {
  EXPECT_FALSE(judge_deletion({names("gpu", 1, 4), {}}, {names("gpu", 1, 3), {}}, Ratio{0}).refused);
  EXPECT_TRUE(judge_deletion({names("gpu", 1, 4), {}}, {names("gpu", 1, 2), {}}, Ratio{0}).refused);
}

TEST(DeletionGuard, ObjectsCountToo) {
  const Census before{{}, {"Cluster/c", "Fabric/a", "Fabric/b", "RoceProfile/r"}};
  const DeletionVerdict out = judge_deletion(before, {{}, {"Cluster/c", "Fabric/z"}}, kTenth);
  EXPECT_TRUE(out.refused);
  EXPECT_EQ(out.objects, (std::vector<std::string>{"Fabric/a", "Fabric/b", "RoceProfile/r"}));
  EXPECT_NE(out.reason.find("3 of 4 objects"), std::string::npos) << out.reason;
  EXPECT_NE(out.reason.find("Fabric/a, Fabric/b, RoceProfile/r"), std::string::npos) << out.reason;
}

TEST(DeletionGuard, CensusListsDevicesAndObjectsAndTheSmallestShareApplies) {
  const std::string head = "---\napiVersion: lockstep.dev/v1alpha1\nkind: ";
  const Loaded loaded = load_text(
      "x.yaml",
      head + "DeviceSet\nmetadata: {name: b}\nspec: {names: 'h[2-3]', role: host, drivers: [linux]}\n" +
          head + "DeviceSet\nmetadata: {name: a}\nspec: {names: h1, role: host, drivers: [linux]}\n" + head +
          "RolloutPolicy\nmetadata: {name: p}\nspec: {selector: {}, maxDelete: 20%}\n" + head +
          "RolloutPolicy\nmetadata: {name: q}\nspec: {selector: {}, maxDelete: 5%}\n");
  EXPECT_TRUE(loaded.diagnostics.empty());
  const Census census = census_of(loaded.catalog, expand(loaded.catalog).topology);
  EXPECT_EQ(census.devices, (std::vector<std::string>{"h1", "h2", "h3"}));
  EXPECT_EQ(census.objects,
            (std::vector<std::string>{"DeviceSet/a", "DeviceSet/b", "RolloutPolicy/p", "RolloutPolicy/q"}));
  EXPECT_EQ(max_delete_of(loaded.catalog), Ratio{50'000});
  EXPECT_EQ(max_delete_of(Catalog{}), kMaxDeleteDefault);
}

}  // namespace
}  // namespace lockstep
