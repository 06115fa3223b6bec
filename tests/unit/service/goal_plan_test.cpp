#include "reconciler/service/goal_plan.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

Path path_of(const char* text) { return *Path::parse(text); }

Step step(std::uint32_t id, const std::string& device, std::vector<Hold> holds = {}) {
  Step out;
  out.id = id;
  out.device = device;
  out.driver = "sim";
  PlannedChange change;
  change.path = path_of("sysctl[vm.swappiness]");
  change.was = Value::text("60");
  change.want = Value::text("10");
  out.changes.push_back(std::move(change));
  out.holds = std::move(holds);
  return out;
}
Step stand_by(std::uint32_t id, const std::string& device) {
  Step out;
  out.id = id;
  out.device = device;
  out.remedy = "restart";
  out.holds = {{Hold::Kind::approval, "a remedy"}};
  return out;
}
Plan plan_of(std::vector<Step> steps) {
  Plan out;
  out.steps = std::move(steps);
  return out;
}
const Hold kAsks{Hold::Kind::approval, "its policy wants an approval"};
const Hold kWindow{Hold::Kind::window, "the window is closed"};
const Deletion kDeletes{.why = "2 of 4 profiles are gone", .devices = {"gpu4"}, .objects = {"HostProfile/a"}};

TEST(GoalPlan, WithoutHoldsAllOfItMayRun) {
  const GoalPlan plan(plan_of({step(1, "gpu1"), step(2, "gpu2")}), {}, true);
  EXPECT_EQ(plan.planned().steps.size(), 2U);
  EXPECT_TRUE(plan.planned().held.empty());
  EXPECT_TRUE(plan.planned().whole);
  EXPECT_EQ(plan.can_begin(plan.planned().steps), 2U);
}

// As the runner leaves them alone (Runner::leave_without_forerunner).
TEST(GoalPlan, AWaveBeforeWhichNothingBeginsDoesNotBegin) {
  Step later = step(2, "gpu2");
  later.wave = 2;
  Step first = step(1, "gpu1", {kAsks});
  first.wave = 1;
  const GoalPlan held(plan_of({first, later}), {}, true);
  EXPECT_EQ(held.can_begin({held.digests()[1]}), 0U);
  EXPECT_EQ(held.can_begin({held.digests()[0], held.digests()[1]}), 2U);
  Step beside = step(3, "gpu3");
  beside.wave = 1;
  later.id = 3;
  beside.id = 2;
  const GoalPlan in_part(plan_of({first, beside, later}), {}, true);
  EXPECT_EQ(in_part.can_begin({in_part.digests()[1], in_part.digests()[2]}), 2U);
}

TEST(GoalPlan, NorDoTheWavesBehindAWaveThatDoesNotBegin) {
  std::vector<Step> steps{step(1, "gpu1", {kAsks}), step(2, "gpu2"), step(3, "gpu3"), step(4, "gpu4")};
  for (Step& one : steps) one.wave = one.id;
  const GoalPlan plan(plan_of(steps), {}, true);
  const std::vector<std::string>& all = plan.digests();
  EXPECT_EQ(plan.can_begin({all[1], all[2], all[3]}), 0U);
  EXPECT_EQ(plan.can_begin({all.begin(), all.end()}), 4U);
}

TEST(GoalPlan, ADigestIsOfWhatTheStepDoesAndNotOfItsPlace) {
  const GoalPlan one(plan_of({step(1, "gpu1"), step(2, "gpu2")}), {}, true);
  const GoalPlan other(plan_of({step(1, "gpu2")}), {}, false);
  EXPECT_EQ(one.digests()[1], other.digests()[0]);
  EXPECT_NE(one.digests()[0], one.digests()[1]);
}

TEST(GoalPlan, ADeletionToConfirmHoldsEveryStepOfIt) {
  const GoalPlan plan(plan_of({step(1, "gpu1"), step(2, "gpu2")}), kDeletes, true);
  const PlannedSteps planned = plan.planned();
  EXPECT_EQ(planned.held.size(), 3U);
  EXPECT_TRUE(planned.held.contains(plan.deletion()));
  EXPECT_EQ(plan.why_held(planned.held, 2), kDeletes.why);
  EXPECT_EQ(plan.why_held({plan.digests().front()}, 2), kDeletes.why) << "also once the deletion is approved";
  std::set<std::string> all_but = planned.steps;
  all_but.erase(plan.deletion());
  EXPECT_FALSE(plan.deletion_confirmed(all_but));
  EXPECT_EQ(plan.can_begin(all_but), 0U);
  EXPECT_EQ(plan.can_begin(planned.steps), 2U);
}

TEST(GoalPlan, ADeletionOfOtherObjectsIsAnotherThingToApprove) {
  Deletion other = kDeletes;
  other.objects = {"HostProfile/b"};
  const GoalPlan one(plan_of({step(1, "gpu1")}), kDeletes, true);
  const GoalPlan two(plan_of({step(1, "gpu1")}), other, true);
  EXPECT_NE(one.deletion(), two.deletion());
  EXPECT_EQ(one.digests(), two.digests());
}

TEST(GoalPlan, WithoutStepsNothingIsDeletedAndNothingWaits) {
  const GoalPlan plan(plan_of({}), kDeletes, true);
  EXPECT_EQ(plan.deletion(), "");
  EXPECT_EQ(plan.why_confirm(), "");
  EXPECT_TRUE(plan.planned().held.empty());
  EXPECT_TRUE(plan.deletion_confirmed({}));
}

TEST(GoalPlan, ARemedyThatStandsByWaitsOnlyBesideAStepThatWaits) {
  const GoalPlan alone(plan_of({step(1, "gpu1"), stand_by(2, "gpu1")}), {}, true);
  EXPECT_TRUE(alone.planned().held.empty());
  const GoalPlan beside(plan_of({step(1, "gpu1", {kAsks}), stand_by(2, "gpu1")}), {}, true);
  EXPECT_EQ(beside.planned().held, (std::set<std::string>(beside.digests().begin(), beside.digests().end())));
  EXPECT_EQ(beside.without_stand_bys(beside.planned().held), (std::set<std::string>{beside.digests()[0]}));
  EXPECT_EQ(beside.can_begin(beside.planned().held), 1U) << "the remedy is no step that begins";
}

TEST(GoalPlan, AStepThatMayNotRunIsHeldInWhatRuns) {
  const GoalPlan plan(plan_of({step(1, "gpu1"), step(2, "gpu2")}), {}, true);
  const Plan runs = plan.to_run({plan.digests()[0]});
  EXPECT_TRUE(runs.steps[0].holds.empty());
  ASSERT_EQ(runs.steps[1].holds.size(), 1U);
  EXPECT_EQ(runs.steps[1].holds[0].kind, Hold::Kind::approval);
  EXPECT_EQ(plan.can_begin({plan.digests()[0]}), 1U);
}

TEST(GoalPlan, AnApprovalLiftsNoWindow) {
  const GoalPlan plan(plan_of({step(1, "gpu1", {kWindow}), step(2, "gpu2", {kWindow, kAsks})}), {}, true);
  const std::set<std::string> all(plan.digests().begin(), plan.digests().end());
  EXPECT_EQ(plan.can_begin(all), 0U);
  EXPECT_EQ(plan.wait_for_windows(all), (std::set<std::string>{"gpu1", "gpu2"}));
  EXPECT_EQ(plan.wait_for_windows({plan.digests()[0]}), (std::set<std::string>{"gpu1"}))
      << "the other one waits for somebody first";
}

TEST(GoalPlan, AStepAfterOneThatIsHeldDoesNotBegin) {
  std::vector<Step> steps{step(1, "gpu1", {kAsks}), step(2, "gpu2")};
  steps[1].after = {1};
  const GoalPlan plan(plan_of(std::move(steps)), {}, true);
  EXPECT_EQ(plan.can_begin({plan.digests()[1]}), 0U);
  EXPECT_EQ(plan.can_begin({plan.digests()[0], plan.digests()[1]}), 2U);
}

}  // namespace
}  // namespace lockstep
