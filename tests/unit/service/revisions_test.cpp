#include "reconciler/service/revisions.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using Steps = std::set<std::string>;
using std::chrono::minutes;

constexpr WallTime kFirst{std::chrono::hours(500'000)};

RevisionId of(const std::string& source, const std::string& by = "") {
  return {source, "sha256:" + source + by};
}

// With or without a restart before each event.
class GoalOfTheService : public testing::TestWithParam<bool> {
 protected:
  WallTime tick() {
    if (GetParam()) revisions_ = read_back(revisions_.to_json().dump());
    return now_ += minutes(1);
  }
  static Revisions read_back(const std::string& text) {
    auto read = Revisions::from_json(nlohmann::json::parse(text));
    if (!read) throw std::runtime_error(read.error().text());
    return *std::move(read);
  }
  void fetch(const std::string& source) { revisions_.valid(of(source), "1.0", tick()); }
  Steps plan(const RevisionId& id, const Steps& steps, const Steps& held = {}, bool whole = true) {
    return revisions_.planned(id, {steps, held, whole}, tick());
  }
  void run(const RevisionId& id, const Steps& steps = {"s"}, const Steps& held = {}) {
    ASSERT_EQ(revisions_.next(), id);
    plan(id, steps, held);
    revisions_.began(id, tick());
  }
  void keep(const RevisionId& id, const Steps& steps = {"s"}, const Steps& held = {}) {
    run(id, steps, held);
    revisions_.kept(tick());
  }
  void refuse(const RevisionId& id, const Steps& steps, const std::string& why = "bandwidth fell") {
    run(id, steps);
    revisions_.refused(steps, why, tick());
  }
  Result<Done> approve(const RevisionId& id, const Steps& steps) {
    return revisions_.approve({id, steps, {"ann (operator)", "window of tonight", tick()}});
  }
  Result<Done> reject(const RevisionId& id) {
    return revisions_.reject(id, {"ann (operator)", "too risky", tick()});
  }
  Revisions::Shown shown(const RevisionId& id) const {
    for (const Revisions::Shown& one : revisions_.shown())
      if (one.revision == id) return one;
    ADD_FAILURE() << id.source << " is not shown";
    return {};
  }
  RevisionState state(const std::string& source) const { return shown(of(source)).state; }
  static ErrorKind kind_of(const Result<Done>& result) {
    if (result) ADD_FAILURE() << "accepted";
    return result ? ErrorKind::transient : result.error().kind;
  }

  Revisions revisions_;
  WallTime now_ = kFirst;
};
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
  EXPECT_EQ(plan(of("b"), {"y"}), Steps{});
  fetch("c");
  EXPECT_EQ(plan(of("c"), {"x", "y"}), Steps{"x"});
}

TEST_P(GoalOfTheService, RemembersARefusedStepThatMerelyIsNotInAPlan) {
  fetch("0");
  fetch("a");
  refuse(of("a"), {"x"});
  EXPECT_EQ(plan(of("0"), {}), Steps{});  // of another revision than the newest
  fetch("b");
  EXPECT_EQ(plan(of("b"), {}, {}, false), Steps{});  // a device was not observed
  const RevisionId same{"readme", of("a").intents};
  revisions_.valid(same, "1.0", tick());
  EXPECT_EQ(plan(same, {}), Steps{});
  fetch("c");
  EXPECT_EQ(plan(of("c"), {"x"}), Steps{});
}

TEST_P(GoalOfTheService, IsARefusedRevisionThatSomebodyApproves) {
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

TEST_P(GoalOfTheService, EndsAnApprovalWhenAGateRefusesTheStep) {
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

TEST_P(GoalOfTheService, ForgetsARefusalOfAStepThatWasApprovedAndKept) {
  fetch("a");
  refuse(of("a"), {"x", "y"});
  ASSERT_TRUE(approve(of("a"), {"x"}));
  keep(of("a"), {"x", "y"});
  fetch("b");
  EXPECT_EQ(plan(of("b"), {"x", "y"}), Steps{"x"});
}

TEST_P(GoalOfTheService, WaitsWithStepsThatTheirPolicyHolds) {
  fetch("a");
  EXPECT_EQ(plan(of("a"), {"x", "y"}, {"x", "elsewhere"}), Steps{"y"});
  EXPECT_EQ(state("a"), RevisionState::pending);
  EXPECT_EQ(shown(of("a")).waits, Steps{"x"});
  EXPECT_EQ(plan(of("a"), {"x", "y"}, {"x", "y"}), Steps{});
  EXPECT_EQ(state("a"), RevisionState::waiting);
  EXPECT_EQ(shown(of("a")).why, "2 steps need approval");
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(plan(of("a"), {"y"}), Steps{"y"});
  EXPECT_EQ(revisions_.next(), of("a"));
}

TEST_P(GoalOfTheService, WaitsAgainWithAStepThatChangedSinceItWasApproved) {
  fetch("a");
  plan(of("a"), {"x", "y"}, {"x", "y"});
  ASSERT_TRUE(approve(of("a"), {"x", "y"}));
  EXPECT_EQ(revisions_.next(), of("a"));
  EXPECT_EQ(plan(of("a"), {"x", "y2"}, {"x", "y2"}), Steps{"x"});
  EXPECT_EQ(shown(of("a")).waits, Steps{"y2"});
}

TEST_P(GoalOfTheService, TakesAnApprovalForOneRevisionOnly) {
  fetch("a");
  plan(of("a"), {"x"}, {"x"});
  ASSERT_TRUE(approve(of("a"), {"x"}));
  fetch("b");
  EXPECT_EQ(plan(of("b"), {"x"}, {"x"}), Steps{});
}

TEST_P(GoalOfTheService, IgnoresApprovalsOfStepsThatWereNotShown) {
  fetch("a");
  plan(of("a"), {"x"}, {"x"});
  ASSERT_TRUE(approve(of("a"), {"x", "later"}));
  EXPECT_EQ(plan(of("a"), {"later"}, {"later"}), Steps{});
}

TEST_P(GoalOfTheService, IsGoneForAgainWithWhatWasApprovedDuringItsRun) {
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

TEST_P(GoalOfTheService, WaitsForApprovalOfWhatAnotherVersionCompiles) {
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

TEST_P(GoalOfTheService, WaitsWithTheStepsOfAnUpgradeThatItsFirstPlanDidNotHave) {
  fetch("a");
  const RevisionId otherwise = of("a", "-by-2");
  revisions_.valid(otherwise, "2.0", tick());
  EXPECT_EQ(plan(otherwise, {}, {}, false), Steps{});
  revisions_.began(otherwise, tick());
  revisions_.kept(tick());
  EXPECT_EQ(plan(otherwise, {"x"}), Steps{});
  EXPECT_EQ(shown(otherwise).state, RevisionState::waiting);
}

TEST_P(GoalOfTheService, DoesNotWaitForApprovalWhereTheVersionIsTheSame) {
  fetch("a");
  keep(of("a"));
  revisions_.valid(of("a", "-with-another-inventory"), "1.0", tick());
  EXPECT_EQ(plan(of("a", "-with-another-inventory"), {"x"}), Steps{"x"});
  revisions_.valid(of("a", "-with-another-inventory"), "2.0", tick());
  EXPECT_EQ(plan(of("a", "-with-another-inventory"), {"x"}), Steps{"x"});
  revisions_.valid(of("b"), "2.0", tick());
  EXPECT_EQ(plan(of("b"), {"x"}), Steps{"x"});
}

TEST_P(GoalOfTheService, StaysWhereTheFormerVersionComesBackBeforeApproval) {
  fetch("a");
  keep(of("a"));
  revisions_.valid(of("a", "-by-2"), "2.0", tick());
  fetch("a");
  EXPECT_FALSE(revisions_.next());
  EXPECT_EQ(state("a"), RevisionState::kept);
  EXPECT_EQ(plan(of("a"), {"drifted"}), Steps{"drifted"});
}

TEST_P(GoalOfTheService, WaitsForApprovalToGoBackToWhatTheFormerVersionCompiles) {
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

TEST_P(GoalOfTheService, DoesNotSupersedeTheRunningRevisionByOneThatWaits) {
  fetch("a");
  run(of("a"));
  revisions_.valid(of("a", "-by-2"), "2.0", tick());
  EXPECT_TRUE(revisions_.goes_on(tick()));
  revisions_.kept(tick());
  EXPECT_EQ(revisions_.next(), of("a", "-by-2"));
}

TEST_P(GoalOfTheService, RefusesApprovalsThatAreForNothing) {
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

TEST_P(GoalOfTheService, RefusesAnApprovalThatComesTooLate) {
  fetch("a");
  plan(of("a"), {"x"}, {"x"});
  fetch("b");
  const auto late = approve(of("a"), {"x"});
  EXPECT_EQ(kind_of(late), ErrorKind::conflict);
  EXPECT_EQ(late.error().what, "revision a: superseded by b, whose plan shows what needs approval now");
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  EXPECT_EQ(revisions_.next(), of("b"));
}

TEST_P(GoalOfTheService, IsPlannedAgainBeforeAnApprovalWhereItWasSuperseded) {
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

TEST_P(GoalOfTheService, IsTheFormerRevisionAfterARejection) {
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

TEST_P(GoalOfTheService, UndoesWhatAlreadyRanOfARejectedRevision) {
  fetch("a");
  keep(of("a"));
  fetch("b");
  keep(of("b"), {"x", "y"}, {"y"});
  EXPECT_EQ(revisions_.last_good(), of("b"));
  ASSERT_TRUE(reject(of("b")));
  EXPECT_EQ(revisions_.last_good(), of("a"));
  EXPECT_EQ(revisions_.next(), of("a"));
}

TEST_P(GoalOfTheService, RefusesToRejectWhatRunsOrDoesNotWait) {
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  fetch("a");
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  run(of("a"), {"x", "y"}, {"y"});
  EXPECT_EQ(kind_of(reject(of("a"))), ErrorKind::conflict);
  EXPECT_EQ(state("a"), RevisionState::running);
  revisions_.kept(tick());
  EXPECT_TRUE(reject(of("a")));
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

}  // namespace
}  // namespace lockstep
