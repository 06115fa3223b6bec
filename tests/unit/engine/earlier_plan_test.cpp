// What remains of an earlier plan: how groups are renumbered, and how long a reason gets.
#include "reconciler/engine/earlier_plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cluster.hpp"
#include "reconciler/engine/digest.hpp"

namespace lockstep {
namespace {

Plan plan_of(std::uint32_t steps) {
  Plan plan;
  for (std::uint32_t id = 1; id <= steps; ++id) {
    Step step;
    step.id = id;
    step.device = "gpu" + std::to_string(id);
    step.driver = "sim";
    step.changes.push_back({entry("interface[rail0]/mtu"), number(1500), number(9000), 0, false});
    plan.steps.push_back(step);
  }
  return plan;
}

// The ends of a link are verified once all of them are done. That still holds for those that remain.
TEST(EarlierPlan, GroupIsRenumberedWhenItsFirstStepIsRemoved) {
  Plan plan = plan_of(4);
  for (const std::size_t end : {1U, 2U, 3U}) plan.steps[end].together = 2;
  const Plan left = without(plan, {{2, "refused"}});
  ASSERT_EQ(left.steps.size(), 3U);
  EXPECT_EQ(left.steps[0].together, 0U);
  EXPECT_EQ(left.steps[1].together, 2U) << "by its first step that is left";
  EXPECT_EQ(left.steps[2].together, 2U);
}

// Steps 2 and 3 are the ends of a cable, in both plans or in the earlier one alone.
TEST(EarlierPlan, RefusingOneCableEndRefusesTheOtherAndLaterSteps) {
  for (const bool tied_now : {true, false})
    for (const std::uint32_t group : {1U, 2U}) {
      Plan earlier = plan_of(4);
      earlier.steps[1].together = earlier.steps[2].together = group;
      earlier.steps[3].after = {3};
      Plan now = earlier;
      if (!tied_now) now.steps[1].together = now.steps[2].together = 0;
      const ApprovedPart part = approved_part(earlier, now, {{2, "gpu2 has changed"}});
      EXPECT_EQ(part.refused.size(), 3U);
      EXPECT_TRUE(part.refused.contains(3)) << "the other end";
      EXPECT_TRUE(part.refused.contains(4)) << "it comes after that";
      EXPECT_EQ(part.other_ends, (std::map<std::uint32_t, std::string>{{3, "gpu2"}}));
      ASSERT_EQ(part.plan.steps.size(), 1U);
      EXPECT_EQ(part.plan.steps[0].device, "gpu1");
    }
}

// The author of a plan file chooses the length of a chain: 60,000 steps, a file of 10 MB, produced 40 GB of
// reasons.
TEST(EarlierPlan, RefusedChainRepeatsTheFirstReasonOnce) {
  constexpr std::uint32_t kSteps = 2000;
  Plan plan = plan_of(kSteps);
  for (Step& step : plan.steps)
    if (step.id > 1) step.after = {step.id - 1};
  const ApprovedPart part = approved_part(plan, plan, {{1, "gpu1 has changed"}});
  ASSERT_EQ(part.refused.size(), kSteps);
  EXPECT_EQ(part.refused.at(2), "comes after step 1: gpu1 has changed");
  EXPECT_EQ(part.refused.at(kSteps), "comes after step 1999: gpu1 has changed");
}

TEST(EarlierPlan, StaleChainRepeatsTheFirstReasonOnce) {
  Cluster cluster;
  for (const char* const name : {"gpu1", "gpu2"}) {
    cluster.add(name);
    cluster.want(name, "interface[rail0]/mtu", number(9000));
  }
  Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U);
  Step third = plan.steps[1];
  third.id = 3;
  plan.steps[1].after = {1};
  third.after = {2};
  plan.steps.push_back(third);
  cluster.devices[plan.steps[0].device]->set(entry("interface[rail0]/mtu"), number(1400));
  const auto moved = moved_ground(plan, cluster.fleet(), cluster.observe());
  ASSERT_EQ(moved.size(), 3U);
  EXPECT_EQ(moved.at(3), "comes after step 2: " + moved.at(1));
}

TEST(EarlierPlan, DeviceListedTwiceIsRefused) {
  Plan plan = plan_of(1);
  plan.devices.push_back({"gpu1", "sha256:0", "", {}});
  plan.digest = plan_digest(plan);
  ASSERT_TRUE(plan_from_json(to_json(plan)));
  plan.devices.push_back({"gpu1", "sha256:1", "", {}});
  plan.digest = plan_digest(plan);
  const Result<Plan> twice = plan_from_json(to_json(plan));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().text(), "the plan file is broken: device gpu1 is listed twice");
}

TEST(EarlierPlan, ManyOriginsSurviveJson) {
  constexpr std::uint32_t kOrigins = 50'000;
  Plan plan = plan_of(1);
  const PlannedChange change = plan.steps[0].changes[0];
  plan.steps[0].changes.clear();
  for (std::uint32_t i = 0; i < 2 * kOrigins; ++i) {
    plan.steps[0].changes.push_back(change);
    plan.steps[0].changes.back().origin = 1 + i % kOrigins;
  }
  for (std::uint32_t i = 0; i < kOrigins; ++i)
    plan.origins.push_back({"fabric.yaml", i + 1, 1, "Fabric/a", "mtu"});
  plan.digest = plan_digest(plan);
  const Result<Plan> back = plan_from_json(to_json(plan));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->origins, plan.origins);
  EXPECT_EQ(back->steps, plan.steps);
}

TEST(EarlierPlan, RemovingAStepRenumbersTheRestAndKeepsTheOrder) {
  Plan plan;
  for (const char* const device : {"gpu1", "gpu2", "gpu3"}) {
    Step& step = plan.steps.emplace_back();
    step.id = static_cast<std::uint32_t>(plan.steps.size());
    step.device = device;
  }
  plan.barriers = {{.after = {1}}, {.after = {1, 2}}};
  plan.steps[2].after = {1, 2};
  plan.steps[2].after_barriers = {1, 2};
  const Plan rest = without(plan, {{1, "gone"}});
  ASSERT_EQ(rest.steps.size(), 2U);
  EXPECT_EQ(rest.steps[1].id, 2U);
  EXPECT_EQ(rest.steps[1].after, std::vector<std::uint32_t>{1});
  ASSERT_EQ(rest.barriers.size(), 1U) << "one has nothing before it any more";
  EXPECT_EQ(rest.barriers[0].after, std::vector<std::uint32_t>{1});
  EXPECT_EQ(rest.steps[1].after_barriers, std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace lockstep
