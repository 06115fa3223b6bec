#include "reconciler/report/apply_report.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

struct Case {
  const char* remedy;
  StepState state;
};

std::string done(const std::vector<Case>& cases) {
  Plan plan;
  ApplyReport report;
  for (const Case& one : cases) {
    plan.steps.emplace_back().remedy = one.remedy;
    report.steps.emplace_back().state = one.state;
  }
  return done_text(plan, report);
}

TEST(ApplyText, CountsRemediesApart) {
  EXPECT_EQ(done({{"", StepState::done}, {"", StepState::held}}), "1 of 2 steps done");
  EXPECT_EQ(done({{"", StepState::held}, {"clear", StepState::done}, {"clear", StepState::skipped}}),
            "0 of 1 step done, 1 of 2 remedies done");
  EXPECT_EQ(done({{"clear", StepState::done}}), "1 of 1 remedy done");
  EXPECT_EQ(done({{"", StepState::done}, {"clear", StepState::not_needed}}), "1 of 1 step done");
}

TEST(ApplyText, StepThatDidNotRunHasNoTime) {
  Step step;
  step.device = "gpu1";
  step.driver = "linux";
  StepResult result;
  result.state = StepState::done;
  EXPECT_NE(step_line(step, result, Terminal{}).find("0 ms"), std::string::npos);
  result.state = StepState::held;
  result.why = "it needs approval";
  EXPECT_EQ(step_line(step, result, Terminal{}), "  × gpu1 linux  0 changes  held: it needs approval");
}

}  // namespace
}  // namespace lockstep
