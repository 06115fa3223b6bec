// Which revision is gone for.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "revisions_lab.hpp"

namespace lockstep {
namespace {

using Steps = std::set<std::string>;

class GoalOfTheService : public RevisionsLab {};
INSTANTIATE_TEST_SUITE_P(Revisions, GoalOfTheService, testing::Bool(),
                         [](const auto& test) { return test.param ? "Restarted" : "Straight"; });

TEST_P(GoalOfTheService, IsNothingBeforeTheFirstRevision) {
  EXPECT_FALSE(revisions_.next());
  EXPECT_FALSE(revisions_.last_good());
  EXPECT_FALSE(revisions_.running());
  EXPECT_FALSE(revisions_.bad());
  EXPECT_TRUE(revisions_.shown().empty());
}

TEST_P(GoalOfTheService, IsTheValidRevisionUntilItIsKept) {
  fetch("a");
  EXPECT_EQ(state("a"), RevisionState::pending);
  run(of("a"));
  EXPECT_EQ(revisions_.running()->revision, of("a"));
  EXPECT_FALSE(revisions_.next());
  revisions_.kept(tick());
  EXPECT_EQ(state("a"), RevisionState::kept);
  EXPECT_EQ(shown(of("a")).since, now_);
  EXPECT_EQ(revisions_.last_good(), of("a"));
  EXPECT_FALSE(revisions_.next());
  EXPECT_FALSE(revisions_.running());
  fetch("a");  // polled again
  EXPECT_FALSE(revisions_.next());
}

TEST_P(GoalOfTheService, IsNeverAnInvalidRevision) {
  fetch("a");
  keep(of("a"));
  revisions_.invalid("b", "fabric.yaml:9:3: unknown field 'mtuu'", tick());
  const WallTime first = now_;
  revisions_.invalid("b", "fabric.yaml:9:3: unknown field 'mtuu'", tick());
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(revisions_.last_good(), of("a"));
  EXPECT_EQ(state("a"), RevisionState::kept);
  ASSERT_TRUE(revisions_.bad());
  EXPECT_EQ(revisions_.bad()->source, "b");
  EXPECT_EQ(revisions_.bad()->why, "fabric.yaml:9:3: unknown field 'mtuu'");
  EXPECT_EQ(revisions_.bad()->since, first);
  revisions_.invalid("c", "x", tick());
  EXPECT_EQ(revisions_.bad()->since, now_);
  fetch("a");
  EXPECT_FALSE(revisions_.bad());
}

TEST_P(GoalOfTheService, IsTheNewestRevision) {
  fetch("a");
  fetch("b");
  EXPECT_EQ(revisions_.next(), of("b"));
  EXPECT_EQ(state("a"), RevisionState::superseded);
  EXPECT_EQ(revisions_.shown()[0].revision, of("b"));
  EXPECT_EQ(revisions_.shown()[1].revision, of("a"));
}

TEST_P(GoalOfTheService, FollowsABranchThatGoesBack) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  keep(of("b"));
  fetch("a");
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(revisions_.shown()[0].revision, of("a"));
  EXPECT_EQ(revisions_.last_good(), of("b"));
  keep(of("a"));
  EXPECT_EQ(revisions_.last_good(), of("a"));
  EXPECT_FALSE(revisions_.next());
}

TEST_P(GoalOfTheService, SupersedesTheRunningRevisionAtTheNextDecisionOfItsGate) {
  fetch("a");
  run(of("a"));
  EXPECT_TRUE(revisions_.goes_on(tick()));
  fetch("b");
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(state("a"), RevisionState::running);
  EXPECT_FALSE(revisions_.goes_on(tick()));
  EXPECT_EQ(state("a"), RevisionState::superseded);
  EXPECT_EQ(shown(of("a")).since, now_);
  EXPECT_EQ(shown(of("a")).why, "superseded by b");
  EXPECT_FALSE(revisions_.running());
  EXPECT_EQ(revisions_.next(), of("b"));
}

TEST_P(GoalOfTheService, LetsARevisionFinishAfterTwoSupersessionsInARow) {
  fetch("a");
  for (const std::string newer : {"b", "c"}) {
    run(*revisions_.next());
    fetch(newer);
    EXPECT_FALSE(revisions_.goes_on(tick()));
  }
  run(of("c"));
  fetch("d");
  for (int wave = 0; wave < 5; ++wave) EXPECT_TRUE(revisions_.goes_on(tick()));
  revisions_.kept(tick());
  EXPECT_EQ(revisions_.last_good(), of("c"));
  run(of("d"));
  fetch("e");
  EXPECT_FALSE(revisions_.goes_on(tick()));  // the row has ended
}

TEST_P(GoalOfTheService, LetsTheNextFinishWhereTheOneThatWasLetFinishFails) {
  fetch("a");
  for (const std::string newer : {"b", "c"}) {
    run(*revisions_.next());
    fetch(newer);
    EXPECT_FALSE(revisions_.goes_on(tick()));
  }
  run(of("c"));
  revisions_.failed("gpu7 is unreachable", tick());
  fetch("d");
  run(of("d"));
  fetch("e");
  EXPECT_TRUE(revisions_.goes_on(tick()));
  revisions_.refused({"s"}, "bandwidth fell", tick());
  run(of("e"), {"t"});
  fetch("f");
  EXPECT_FALSE(revisions_.goes_on(tick()));
}

TEST_P(GoalOfTheService, IsGoneForAgainAfterAFailureThatMayPass) {
  fetch("a");
  run(of("a"));
  revisions_.failed("gpu7 is unreachable", tick());
  EXPECT_EQ(state("a"), RevisionState::pending);
  EXPECT_EQ(shown(of("a")).why, "gpu7 is unreachable");
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_FALSE(revisions_.last_good());
  run(of("a"));
  fetch("b");
  revisions_.failed("gpu7 is unreachable", tick());
  EXPECT_EQ(revisions_.next(), of("b"));
  EXPECT_EQ(state("a"), RevisionState::superseded);
}

TEST_P(GoalOfTheService, IsTheFormerRevisionAfterAGateRefused) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  refuse(of("b"), {"x"});
  EXPECT_EQ(state("b"), RevisionState::refused);
  EXPECT_EQ(shown(of("b")).why, "bandwidth fell");
  EXPECT_EQ(revisions_.last_good(), of("a"));
  EXPECT_EQ(shown(of("a")).why, "newer revisions were refused or rejected");
  keep(of("a"), {});
  EXPECT_FALSE(revisions_.next());
  fetch("b");  // git still has it
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(state("b"), RevisionState::refused);
}

TEST_P(GoalOfTheService, MayBeASupersededRevisionAfterAGateRefused) {
  fetch("a");
  run(of("a"));
  fetch("b");
  EXPECT_FALSE(revisions_.goes_on(tick()));
  refuse(of("b"), {"x"});
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(state("a"), RevisionState::pending);
}

TEST_P(GoalOfTheService, WaitsWithARefusedStepOnly) {
  fetch("a");
  refuse(of("a"), {"x", "y"});
  fetch("b");
  EXPECT_EQ(plan(of("b"), {"x", "z"}), Steps{"z"});
  EXPECT_EQ(revisions_.next(), of("b"));
  revisions_.began(of("b"), tick());
  revisions_.kept(tick());
  EXPECT_EQ(state("b"), RevisionState::waiting);
  EXPECT_EQ(shown(of("b")).waits, Steps{"x"});
  EXPECT_EQ(shown(of("b")).why, "1 step needs approval: 1 was refused before: bandwidth fell");
  EXPECT_EQ(revisions_.last_good(), of("b"));
  EXPECT_FALSE(revisions_.next());
  fetch("c");
  EXPECT_EQ(plan(of("c"), {"x"}), Steps{});
  EXPECT_EQ(state("c"), RevisionState::waiting);
  EXPECT_FALSE(revisions_.next());
}

TEST_P(GoalOfTheService, ForgetsARefusedStepThatTheSpecsNoLongerWant) {
  fetch("a");
  refuse(of("a"), {"x", "y"});
  fetch("b");
  keep(of("b"), {"y", "z"});
  fetch("c");
  EXPECT_EQ(plan(of("c"), {"x", "y"}), Steps{"x"});
}

TEST_P(GoalOfTheService, RemembersARefusedStepThatMerelyIsNotInAPlan) {
  fetch("0");
  keep(of("0"));
  fetch("a");
  refuse(of("a"), {"x"});
  keep(of("0"), {});  // not the newest revision
  fetch("b");
  run(of("b"), {});
  revisions_.failed("gpu7 is unreachable", tick());  // not kept
  plan(of("b"), {}, {}, false);                      // a device was not observed
  revisions_.began(of("b"), tick());
  revisions_.kept(tick());
  const RevisionId same{"readme", of("a").intents};
  revisions_.valid(same, "1.0", tick());
  keep(same, {});  // the same intents
  fetch("c");
  EXPECT_EQ(plan(of("c"), {"x"}), Steps{});
}

TEST_P(GoalOfTheService, MakesTextsOfOthersPrintable) {
  revisions_.invalid("a", "\x1b[31mred\xff", tick());
  EXPECT_EQ(revisions_.bad()->why, "\\x1b[31mred\\xff");
  fetch("a");
  run(of("a"), {"x", "y"}, {"y"});
  revisions_.failed("lost\xff", tick());
  EXPECT_EQ(shown(of("a")).why, "lost\\xff");
  ASSERT_TRUE(revisions_.approve({of("a"), {"y"}, {"a\xff", "b\n", tick()}}));
  EXPECT_EQ(shown(of("a")).why, "approved by a\\xff: b\\x0a");
  EXPECT_NO_THROW(static_cast<void>(revisions_.to_json().dump()));
}

TEST_P(GoalOfTheService, AndTheLastGoodAreNeverForgotten) {
  fetch("good");
  keep(of("good"));
  fetch("refused");
  refuse(of("refused"), {"x"});
  keep(of("good"), {});
  for (std::size_t i = 0; i < 2 * Revisions::kShownMax; ++i) fetch(std::to_string(i));
  EXPECT_EQ(revisions_.shown().size(), Revisions::kShownMax);
  EXPECT_EQ(revisions_.last_good(), of("good"));
  EXPECT_EQ(state("refused"), RevisionState::refused);
  EXPECT_EQ(revisions_.next(), of("99"));
}

TEST_P(GoalOfTheService, KeepsTheRunningOneAmongManyRefused) {
  fetch("goal");
  for (std::size_t i = 0; i < 2 * Revisions::kShownMax; ++i) {
    fetch(std::to_string(i));
    refuse(of(std::to_string(i)), {"x" + std::to_string(i)});
  }
  EXPECT_EQ(revisions_.shown().size(), Revisions::kShownMax);
  run(of("goal"));
  fetch("new");
  EXPECT_EQ(revisions_.running()->revision, of("goal"));
  EXPECT_EQ(revisions_.shown().size(), Revisions::kShownMax);
}

// What a gate could not judge
// --------------------------------------------------------------------------------

TEST_P(GoalOfTheService, WaitsWithAllThatIsLeftWhereNothingCanJudgeWhatWasWritten) {
  fetch("a");
  run(of("a"), {"s", "t"});
  revisions_.not_validated("kept, not validated: no benchmark crosses leaf0", false, tick());
  EXPECT_EQ(plan(of("a"), {"t"}), Steps());
  EXPECT_EQ(state("a"), RevisionState::waiting);
  EXPECT_EQ(shown(of("a")).why_waits,
            "1 step needs approval: kept, not validated: no benchmark crosses leaf0");
  EXPECT_NE(shown(of("a")).unproven, "");
  ASSERT_TRUE(approve(of("a"), {"t"}));
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(plan(of("a"), {"t"}), Steps({"t"}));
  revisions_.began(of("a"), tick());
  revisions_.kept(tick());
  EXPECT_EQ(shown(of("a")).unproven, "");
  EXPECT_EQ(plan(of("a"), {"u"}), Steps({"u"})) << "later drift";
}

TEST_P(GoalOfTheService, IsGoneForWithoutAStepToMeasureWhatIsOwed) {
  fetch("a");
  run(of("a"), {"s", "t"});
  revisions_.not_validated("no CPU", true, tick());
  const PlannedSteps left{.steps = {"t"}, .held = {}, .whole = true, .to_judge = true};
  EXPECT_EQ(revisions_.planned(of("a"), left, tick()), Steps());
  EXPECT_EQ(revisions_.next(), of("a"));
  revisions_.began(of("a"), tick());
  EXPECT_TRUE(revisions_.validated(tick()));
  EXPECT_EQ(state("a"), RevisionState::pending);
  EXPECT_EQ(plan(of("a"), {"t"}), Steps({"t"}));
}

TEST_P(GoalOfTheService, GoesOnWhereAnotherRunHasJudgedWhatWasOwed) {
  fetch("a");
  run(of("a"), {"s", "t"});
  revisions_.not_validated("no CPU", true, tick());
  EXPECT_EQ(plan(of("a"), {"t"}), Steps({"t"}));
}

TEST_P(GoalOfTheService, StillWaitsForWhatNothingCanJudgeOnceTheRestIsJudged) {
  fetch("a");
  run(of("a"), {"s", "t", "u"});
  revisions_.not_validated("no CPU", true, tick());
  const PlannedSteps left{.steps = {"t", "u"}, .held = {}, .whole = true, .to_judge = true};
  revisions_.planned(of("a"), left, tick());
  ASSERT_TRUE(approve(of("a"), {"t"}));
  EXPECT_EQ(revisions_.planned(of("a"), left, tick()), Steps({"t"}));
  revisions_.began(of("a"), tick());
  revisions_.not_validated("no benchmark crosses leaf0", false, tick());
  revisions_.planned(of("a"), {.steps = {"u"}, .held = {}, .whole = true, .to_judge = true}, tick());
  ASSERT_EQ(revisions_.next(), of("a"));
  revisions_.began(of("a"), tick());
  EXPECT_TRUE(revisions_.validated(tick()));
  EXPECT_EQ(plan(of("a"), {"u"}), Steps());
  EXPECT_EQ(state("a"), RevisionState::waiting);
}

TEST_P(GoalOfTheService, ThatWasInterruptedWhileItWasUndoneNeedsApproval) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  run(of("b"), {"s"});
  revisions_.gate_failed("bandwidth fell");
  tick();
  revisions_.interrupted("the service ended before it did", tick());
  EXPECT_EQ(plan(of("b"), {"s"}), Steps());
  EXPECT_EQ(state("b"), RevisionState::waiting);
  EXPECT_EQ(shown(of("b")).why_waits, "1 step needs approval: its gate failed: bandwidth fell");
}

TEST_P(GoalOfTheService, ThatWasInterruptedBeforeAnyGateGoesOn) {
  fetch("a");
  run(of("a"), {"s"});
  tick();
  revisions_.interrupted("the service ended before it did", tick());
  EXPECT_EQ(plan(of("a"), {"s"}), Steps({"s"}));
}

TEST_P(GoalOfTheService, StaysWhereASingleHostOfItIsRefused) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  run(of("b"), {"gpu2", "gpu3"});
  revisions_.refused_in_part({"gpu3"}, "gpu3: no packet arrives");
  revisions_.kept(tick());
  EXPECT_EQ(state("b"), RevisionState::waiting);
  EXPECT_EQ(revisions_.last_good(), of("b"));
  EXPECT_EQ(plan(of("b"), {"gpu3"}), Steps());
  EXPECT_EQ(shown(of("b")).why_waits, "1 step needs approval: 1 was refused before: gpu3: no packet arrives");
}

TEST_P(GoalOfTheService, KnowsWhoApprovedWhichStep) {
  fetch("a");
  plan(of("a"), {"s", "t", "u"}, {"s", "t"});
  ASSERT_TRUE(approve(of("a"), {"s"}));
  ASSERT_TRUE(revisions_.approve({of("a"), {"t"}, {"bob (admin)", "", tick()}}));
  EXPECT_EQ(revisions_.approved_by(of("a"), {"s", "u"}), "ann (operator)");
  EXPECT_EQ(revisions_.approved_by(of("a"), {"s", "t"}), "ann (operator), bob (admin)");
  EXPECT_EQ(revisions_.approved_by(of("a"), {"u"}), "");
}

}  // namespace
}  // namespace lockstep
