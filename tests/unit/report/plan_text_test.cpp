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

// Steps that do the same are one, but for what holds them.
TEST(PlanText, NamesForEachHoldTheWordThatLiftsItOrNone) {
  Plan plan;
  plan.steps = {held("gpu1", Disruption::traffic, {Hold::Kind::approval, "a person's word"}),
                held("gpu2", Disruption::traffic, {Hold::Kind::budget, "50% would be left"}),
                held("gpu3", Disruption::traffic, {Hold::Kind::window, "it is closed"})};
  const std::string text = plan_text(plan, Terminal{});
  for (const char* const line :
       {"      held: a person's word (--approve approval:traffic)\n",
        "      held: 50% would be left (--approve budget)\n", "      held: it is closed\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST(PlanText, NamesTheWavesThatNoGateFollows) {
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
  EXPECT_NE(text.find("wave 1  not measured before the next one (gate: end)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("wave 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("wave 3\n"), std::string::npos) << text;
}

TEST(MaintenanceText, IsALineForEachReason) {
  EXPECT_EQ(maintenance_text({{"until 2026-12-01: optics", {"leaf1", "leaf2"}}}, Terminal{}),
            "in maintenance: leaf[1-2] until 2026-12-01: optics\n");
  EXPECT_EQ(maintenance_text({}, Terminal{}), "");
}

TEST(NotesText, TellsANoteOnceWithTheDevicesThatHaveIt) {
  EXPECT_EQ(notes_text({noticed("gpu1", {"rail0: a DCBX peer announces PFC of priority 4, and is willing"}),
                        noticed("gpu2", {"rail0: a DCBX peer announces PFC of priority 4, and is willing"}),
                        noticed("gpu3", {})},
                       Terminal{}),
            "noticed: rail0: a DCBX peer announces PFC of priority 4, and is willing  gpu[1-2]\n");
}

}  // namespace
}  // namespace lockstep
