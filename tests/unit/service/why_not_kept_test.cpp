#include "reconciler/service/why_not_kept.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// Of two steps, on gpu1 and leaf0.
struct WhyNotKept : testing::Test {
  WhyNotKept() {
    steps.resize(2);
    steps[0].device = "gpu1";
    steps[1].device = "leaf0";
    report.steps.resize(2);
    for (StepResult& one : report.steps) one.state = StepState::done;
    report.gate.emplace();
    report.gate->why = "all SLOs hold";
  }
  std::string why(ApplyVerdict verdict) {
    report.verdict = verdict;
    return why_not_kept(report, steps);
  }
  void ends(StepState state, const std::string& because) {
    report.steps[1].state = state;
    report.steps[1].why = because;
  }
  OpenEffect open(const std::string& unread) {
    OpenEffect out;
    out.device = "leaf0";
    out.change.path = *Path::parse("interface[up1]/carrier");
    out.unread = unread;
    return out;
  }

  ApplyReport report;
  std::vector<Step> steps;
};

TEST_F(WhyNotKept, NamesTheStepThatFailedThoughAllSlosHold) {
  report.effects.push_back(open(""));
  report.steps[0].state = StepState::skipped;
  report.steps[0].why = "step 2 failed";
  ends(StepState::failed, "no answer");
  EXPECT_EQ(why(ApplyVerdict::partly), "partly: leaf0: no answer");
  ends(StepState::undone, "refused");
  EXPECT_EQ(why(ApplyVerdict::partly), "partly: leaf0: refused");
}

TEST_F(WhyNotKept, NamesAnEffectThatDidNotAppearOrCouldNotBeRead) {
  report.effects.push_back(open(""));
  EXPECT_EQ(why(ApplyVerdict::effects_open), "effects open: leaf0: interface[up1]/carrier did not appear");
  report.effects[0] = open("FRR does not answer");
  EXPECT_EQ(why(ApplyVerdict::effects_open),
            "effects open: leaf0: interface[up1]/carrier could not be read: FRR does not answer");
}

TEST_F(WhyNotKept, NamesWhatHeldAStep) {
  ends(StepState::held, "the window opens at 22:00");
  EXPECT_EQ(why(ApplyVerdict::waits), "waits for a window: leaf0: the window opens at 22:00");
}

TEST_F(WhyNotKept, SaysTheGatesReasonWhereTheGateDecided) {
  report.effects.push_back(open(""));
  report.gate->why = "gpu1: 50 % of what it was before";
  EXPECT_EQ(why(ApplyVerdict::undone), "undone: gpu1: 50 % of what it was before");
  EXPECT_EQ(why(ApplyVerdict::not_validated), "kept, not validated: gpu1: 50 % of what it was before");
}

TEST_F(WhyNotKept, NeverCallsAGateThatPassedTheReason) {
  EXPECT_EQ(why(ApplyVerdict::stopped), "stopped");
  report.gate.reset();
  EXPECT_EQ(why(ApplyVerdict::undone), "undone");
}

}  // namespace
}  // namespace lockstep
