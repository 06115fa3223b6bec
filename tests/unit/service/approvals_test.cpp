// What waits for an approval, and what an approval or a rejection does.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "revisions_lab.hpp"

namespace lockstep {
namespace {

using Steps = std::set<std::string>;

class GoalWithApprovals : public RevisionsLab {};
INSTANTIATE_TEST_SUITE_P(Revisions, GoalWithApprovals, testing::Bool(),
                         [](const auto& test) { return test.param ? "Restarted" : "Straight"; });

TEST_P(GoalWithApprovals, IsARefusedRevisionThatSomebodyApproves) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  refuse(of("b"), {"x", "y"});
  ASSERT_TRUE(approve(of("b"), {"x"}));
  EXPECT_EQ(shown(of("b")).why, "approved by ann (operator): window of tonight");
  EXPECT_EQ(shown(of("b")).waits, Steps{"y"});
  EXPECT_EQ(revisions_.next(), of("b"));
  EXPECT_EQ(plan(of("b"), {"x", "y", "z"}), (Steps{"x", "z"}));
}

TEST_P(GoalWithApprovals, EndsAnApprovalWhenAGateRefusesTheStep) {
  fetch("a");
  plan(of("a"), {"x", "y", "z"}, {"x", "y"});
  ASSERT_TRUE(approve(of("a"), {"x", "y"}));
  fetch("b");
  refuse(of("b"), {"x"});
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(plan(of("a"), {"x", "y", "z"}, {"x", "y"}), (Steps{"y", "z"}));
  ASSERT_TRUE(approve(of("a"), {"x"}));
  EXPECT_EQ(plan(of("a"), {"x"}), Steps{"x"});
  revisions_.began(of("a"), tick());
  revisions_.refused({"x"}, "latency rose", tick());
  EXPECT_EQ(plan(of("a"), {"x"}), Steps{});
  ASSERT_TRUE(approve(of("a"), {"x"}));
  EXPECT_EQ(plan(of("a"), {"x", "y"}), (Steps{"x", "y"}));
}

TEST_P(GoalWithApprovals, ForgetsARefusalOfAStepThatWasApprovedAndKept) {
  fetch("a");
  refuse(of("a"), {"x", "y"});
  ASSERT_TRUE(approve(of("a"), {"x"}));
  keep(of("a"), {"x", "y"});
  fetch("b");
  EXPECT_EQ(plan(of("b"), {"x", "y"}), Steps{"x"});
}

TEST_P(GoalWithApprovals, WaitsWithStepsThatTheirPolicyHolds) {
  fetch("a");
  EXPECT_EQ(plan(of("a"), {"x", "y"}, {"x", "elsewhere"}), Steps{"y"});
  EXPECT_EQ(state("a"), RevisionState::pending);
  EXPECT_EQ(shown(of("a")).waits, Steps{"x"});
  EXPECT_EQ(plan(of("a"), {"x", "y"}, {"x", "y"}), Steps{});
  EXPECT_EQ(state("a"), RevisionState::waiting);
  EXPECT_EQ(shown(of("a")).why, "2 steps need approval");
  const WallTime since = now_;
  EXPECT_EQ(shown(of("a")).since, since);
  EXPECT_EQ(plan(of("a"), {"x", "y", "z"}, {"x", "y", "z"}), Steps{});  // a resync
  EXPECT_EQ(shown(of("a")).why, "3 steps need approval");
  EXPECT_EQ(shown(of("a")).since, since);
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(plan(of("a"), {"y"}), Steps{"y"});
  EXPECT_EQ(revisions_.next(), of("a"));
}

TEST_P(GoalWithApprovals, WaitsAgainWithAStepThatChangedSinceItWasApproved) {
  fetch("a");
  plan(of("a"), {"x", "y"}, {"x", "y"});
  ASSERT_TRUE(approve(of("a"), {"x", "y"}));
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(plan(of("a"), {"x", "y2"}, {"x", "y2"}), Steps{"x"});
  EXPECT_EQ(shown(of("a")).waits, Steps{"y2"});
}

TEST_P(GoalWithApprovals, TakesAnApprovalForOneRevisionOnly) {
  fetch("a");
  plan(of("a"), {"x"}, {"x"});
  ASSERT_TRUE(approve(of("a"), {"x"}));
  fetch("b");
  EXPECT_EQ(plan(of("b"), {"x"}, {"x"}), Steps{});
}

TEST_P(GoalWithApprovals, IgnoresApprovalsOfStepsThatWereNotShown) {
  fetch("a");
  plan(of("a"), {"x"}, {"x"});
  ASSERT_TRUE(approve(of("a"), {"x", "later"}));
  EXPECT_EQ(plan(of("a"), {"later"}, {"later"}), Steps{});
}

TEST_P(GoalWithApprovals, IsGoneForAgainWithWhatWasApprovedDuringItsRun) {
  fetch("a");
  run(of("a"), {"x", "y", "z"}, {"y", "z"});
  ASSERT_TRUE(approve(of("a"), {"y"}));
  EXPECT_EQ(state("a"), RevisionState::running);
  revisions_.kept(tick());
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(plan(of("a"), {"y", "z"}, {"y", "z"}), Steps{"y"});
  revisions_.began(of("a"), tick());
  revisions_.kept(tick());
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(shown(of("a")).waits, Steps{"z"});
}

TEST_P(GoalWithApprovals, WaitsForApprovalOfWhatAnotherVersionCompiles) {
  fetch("a");
  keep(of("a"));
  const RevisionId otherwise = of("a", "-by-2");
  revisions_.valid(otherwise, "2.0", tick());
  EXPECT_EQ(plan(otherwise, {"x", "y"}), Steps{});
  EXPECT_EQ(shown(otherwise).state, RevisionState::waiting);
  EXPECT_EQ(shown(otherwise).why,
            "2 steps need approval: compiled to other intents by lockstep 2.0 than by 1.0");
  EXPECT_EQ(revisions_.last_good(), of("a"));
  EXPECT_FALSE(revisions_.next());
  ASSERT_TRUE(approve(otherwise, {"x", "y"}));
  keep(otherwise, {"x", "y"});
  EXPECT_EQ(revisions_.last_good(), otherwise);
  EXPECT_EQ(plan(otherwise, {"drifted"}), Steps{"drifted"});  // what was approved once as a whole
}

TEST_P(GoalWithApprovals, WaitsWithTheStepsOfAnUpgradeThatItsFirstPlanDidNotHave) {
  fetch("a");
  const RevisionId otherwise = of("a", "-by-2");
  revisions_.valid(otherwise, "2.0", tick());
  EXPECT_EQ(plan(otherwise, {}, {}, false), Steps{});
  revisions_.began(otherwise, tick());
  revisions_.kept(tick());
  EXPECT_EQ(plan(otherwise, {"x"}), Steps{});
  EXPECT_EQ(shown(otherwise).state, RevisionState::waiting);
}

TEST_P(GoalWithApprovals, WaitsForApprovalOfAnUpgradeAlsoWhereFilesWereLostInBetween) {
  fetch("a");
  revisions_.lost(of("a"), tick());
  EXPECT_TRUE(revisions_.shown().empty());
  const RevisionId otherwise = of("a", "-by-2");
  for (int times = 0; times < 3; ++times) {
    revisions_.valid(otherwise, "2.0", tick());
    EXPECT_EQ(plan(otherwise, {"x"}), Steps{});
    EXPECT_EQ(shown(otherwise).why,
              "1 step needs approval: compiled to other intents by lockstep 2.0 than by 1.0");
    revisions_.lost(otherwise, tick());
  }
  revisions_.valid(otherwise, "2.0", tick());
  plan(otherwise, {"x"});
  ASSERT_TRUE(approve(otherwise, {"x"}));
  keep(otherwise, {"x"});
  EXPECT_EQ(plan(otherwise, {"drifted"}), Steps{"drifted"});
}

TEST_P(GoalWithApprovals, DoesNotWaitForWhatWasLostAndIsCompiledAsBefore) {
  for (const char* const version : {"1.0", "2.0"}) {
    revisions_.valid(of("a"), version, tick());
    EXPECT_EQ(plan(of("a"), {"x"}), Steps{"x"});
    revisions_.lost(of("a"), tick());
  }
}

TEST_P(GoalWithApprovals, DoesNotWaitForApprovalWhereTheVersionIsTheSame) {
  fetch("a");
  keep(of("a"));
  revisions_.valid(of("a", "-with-another-inventory"), "1.0", tick());
  EXPECT_EQ(plan(of("a", "-with-another-inventory"), {"x"}), Steps{"x"});
  revisions_.valid(of("a", "-with-another-inventory"), "2.0", tick());
  EXPECT_EQ(plan(of("a", "-with-another-inventory"), {"x"}), Steps{"x"});
  revisions_.valid(of("b"), "2.0", tick());
  EXPECT_EQ(plan(of("b"), {"x"}), Steps{"x"});
}

TEST_P(GoalWithApprovals, StaysWhereTheFormerVersionComesBackBeforeApproval) {
  fetch("a");
  keep(of("a"));
  revisions_.valid(of("a", "-by-2"), "2.0", tick());
  fetch("a");
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(state("a"), RevisionState::kept);
  EXPECT_EQ(plan(of("a"), {"drifted"}), Steps{"drifted"});
}

TEST_P(GoalWithApprovals, WaitsForApprovalToGoBackToWhatTheFormerVersionCompiles) {
  fetch("a");
  keep(of("a"));
  const RevisionId otherwise = of("a", "-by-2");
  revisions_.valid(otherwise, "2.0", tick());
  plan(otherwise, {"x"});
  ASSERT_TRUE(approve(otherwise, {"x"}));
  keep(otherwise, {"x"});
  fetch("a");
  EXPECT_EQ(plan(of("a"), {"x-back"}), Steps{});
}

TEST_P(GoalWithApprovals, DoesNotSupersedeTheRunningRevisionByOneThatWaits) {
  fetch("a");
  run(of("a"));
  revisions_.valid(of("a", "-by-2"), "2.0", tick());
  EXPECT_TRUE(revisions_.goes_on(tick()));
  revisions_.kept(tick());
  EXPECT_EQ(revisions_.next(), of("a", "-by-2"));
}

TEST_P(GoalWithApprovals, RefusesApprovalsThatAreForNothing) {
  EXPECT_EQ(kind_of(approve(of("a"), {"x"})), ErrorKind::conflict);
  fetch("a");
  EXPECT_EQ(kind_of(approve(of("a"), {"x"})), ErrorKind::conflict);  // nothing waits
  plan(of("a"), {"x", "y"}, {"x"});
  EXPECT_EQ(kind_of(approve(of("a"), {"y"})), ErrorKind::conflict);
  EXPECT_EQ(kind_of(approve(of("a"), {})), ErrorKind::conflict);
  EXPECT_EQ(kind_of(approve(of("a", "-by-2"), {"x"})), ErrorKind::conflict);
  plan(of("a"), {"x2"}, {"x2"});
  EXPECT_EQ(kind_of(approve(of("a"), {"x"})), ErrorKind::conflict);
  ASSERT_TRUE(approve(of("a"), {"x2"}));
  EXPECT_EQ(kind_of(approve(of("a"), {"x2"})), ErrorKind::conflict);  // again
}

TEST_P(GoalWithApprovals, RefusesAnApprovalThatComesTooLate) {
  fetch("a");
  plan(of("a"), {"x"}, {"x"});
  fetch("b");
  const auto late = approve(of("a"), {"x"});
  EXPECT_EQ(kind_of(late), ErrorKind::conflict);
  EXPECT_EQ(late.error().what, "revision a: superseded by b, whose plan shows what needs approval now");
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  EXPECT_EQ(revisions_.next(), of("b"));
}

TEST_P(GoalWithApprovals, IsPlannedAgainBeforeAnApprovalWhereItWasSuperseded) {
  fetch("a");
  plan(of("a"), {"x"}, {"x"});
  fetch("b");
  EXPECT_TRUE(shown(of("a")).waits.empty());
  EXPECT_EQ(plan(of("a"), {"x", "z"}), Steps{});
  refuse(of("b"), {"y"});
  EXPECT_EQ(kind_of(approve(of("a"), {"x"})), ErrorKind::conflict);
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(plan(of("a"), {"x", "z"}, {"x", "z"}), Steps{});
  EXPECT_TRUE(approve(of("a"), {"x"}));
}

TEST_P(GoalWithApprovals, IsTheFormerRevisionAfterARejection) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  plan(of("b"), {"x"}, {"x"});
  ASSERT_TRUE(reject(of("b")));
  EXPECT_EQ(state("b"), RevisionState::rejected);
  EXPECT_EQ(shown(of("b")).why, "rejected by ann (operator): too risky");
  EXPECT_TRUE(shown(of("b")).waits.empty());
  EXPECT_FALSE(revisions_.next());  // nothing of b was begun
  EXPECT_EQ(kind_of(approve(of("b"), {"x"})), ErrorKind::conflict);
  EXPECT_EQ(kind_of(reject(of("b"))), ErrorKind::conflict);
  fetch("b");
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(plan(of("b"), {"z"}), Steps{});
}

TEST_P(GoalWithApprovals, UndoesWhatAlreadyRanOfARejectedRevision) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  keep(of("b"), {"x", "y"}, {"y"});
  EXPECT_EQ(revisions_.last_good(), of("b"));
  ASSERT_TRUE(reject(of("b")));
  EXPECT_EQ(revisions_.last_good(), of("a"));
  EXPECT_EQ(revisions_.next(), of("a"));
}

TEST_P(GoalWithApprovals, RefusesToRejectWhatRunsOrDoesNotWait) {
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  fetch("a");
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  run(of("a"), {"x", "y"}, {"y"});
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  EXPECT_EQ(state("a"), RevisionState::running);
  revisions_.kept(tick());
  EXPECT_TRUE(reject(of("a")));
}

}  // namespace
}  // namespace lockstep
