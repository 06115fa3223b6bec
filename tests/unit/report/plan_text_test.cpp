#include "reconciler/report/plan_text.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

DeviceState noticed(const std::string& device, std::vector<std::string> notes) {
  DeviceState out;
  out.device = device;
  out.observation.notes = std::move(notes);
  return out;
}

Step held(const std::string& device, Disruption disruption, const Hold& hold) {
  Step step;
  step.device = device;
  step.driver = "sim";
  step.disruption = disruption;
  step.holds = {hold};
  return step;
}

// Equal steps fold into one row, unless their holds differ.
TEST(PlanText, ShowsTheApprovalThatEachHoldNeeds) {
  Plan plan;
  plan.steps = {held("gpu1", Disruption::traffic, {Hold::Kind::approval, "approval"}),
                held("gpu2", Disruption::traffic, {Hold::Kind::budget, "50% would be left"}),
                held("gpu3", Disruption::traffic, {Hold::Kind::window, "it is closed"})};
  const std::string text = plan_text(plan, Terminal{});
  for (const char* const line :
       {"  held: approval (--approve approval:traffic)  gpu1\n",
        "  held: 50% would be left (--approve budget)  gpu2\n", "  held: it is closed  gpu3\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST(PlanText, TellsWhetherADisruptionMeetsTraffic) {
  Plan plan;
  plan.steps = {held("gpu1", Disruption::traffic, {Hold::Kind::approval, "approval"})};
  EXPECT_NE(plan_text(plan, Terminal{}).find("disruption: traffic, none of it live\n"), std::string::npos);
  plan.steps[0].live = true;
  EXPECT_NE(plan_text(plan, Terminal{}).find("disruption: traffic  in service: gpu1\n"), std::string::npos);
}

// A wave whose remedy disturbs live traffic, and needs approval for it, is not called harmless.
TEST(PlanText, ARemedyThatMeetsTrafficCountsToo) {
  Plan plan;
  plan.steps = {held("gpu1", Disruption::traffic, {Hold::Kind::budget, "50% would be left"}),
                held("leaf0", Disruption::traffic, {Hold::Kind::approval, "approval"})};
  plan.steps[1].remedy = "resets a session";
  plan.steps[1].live = true;
  EXPECT_EQ(plan_text(plan, Terminal{}).find("none of it live"), std::string::npos);
}

TEST(PlanText, ListsWavesWithoutAGate) {
  Plan plan;
  for (const std::uint32_t wave : {1U, 2U, 3U}) {
    Step step;
    step.device = "gpu" + std::to_string(wave);
    step.driver = "sim";
    step.wave = wave;
    plan.steps.push_back(step);
  }
  plan.ungated = {1};
  const std::string text = plan_text(plan, Terminal{});
  EXPECT_NE(text.find("wave 1  not measured before the next one (gate: end)  1 step on gpu1"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nwave 2  1 step on gpu2"), std::string::npos) << text;
  EXPECT_NE(text.find("\nwave 3  1 step on gpu3"), std::string::npos) << text;
}

TEST(MaintenanceText, IsALineForEachReason) {
  EXPECT_EQ(maintenance_text({{"until 2026-12-01: optics", {"leaf1", "leaf2"}}}, Terminal{}),
            "in maintenance: leaf[1-2] until 2026-12-01: optics\n");
  EXPECT_EQ(maintenance_text({}, Terminal{}), "");
}

TEST(NotesText, FoldsEqualNotesOfDevices) {
  EXPECT_EQ(notes_text({noticed("gpu1", {"rail0: a DCBX peer announces PFC of priority 4, and is willing"}),
                        noticed("gpu2", {"rail0: a DCBX peer announces PFC of priority 4, and is willing"}),
                        noticed("gpu3", {})},
                       Terminal{}),
            "note: rail0: a DCBX peer announces PFC of priority 4, and is willing  gpu[1-2]\n");
}

}  // namespace
}  // namespace lockstep
