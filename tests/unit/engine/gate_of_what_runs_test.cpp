// What a gate excludes for pending steps and still judges when those never run, changes that are no longer
// present, and paths that no benchmark crosses.
#include <algorithm>

#include "pairs_lab.hpp"

namespace lockstep {
namespace {

constexpr const char* kOffload = "interface[rail0]/offload[tso]";
constexpr const char* kPaths = "bgp/max-paths";

class GateOfWhatRuns : public GateOfPairs {
 protected:
  // A switch-wide setting, which disturbs all traffic, and one at each host, which disturbs none.
  void want_both() {
    cluster.want("leaf0", kPaths, number(8));
    for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.want(host, kOffload, yes());
  }
  Value offload(const std::string& host) { return cluster.devices[host]->truth().value(entry(kOffload)); }
  // gpu1, then gpu2 and gpu3, then the switch.
  void switch_comes_last() {
    in_waves(1);
    cluster.policy_of["leaf0"].waves = {{false, 0}, {false, 0}, {true, 1.0}};
  }
  bool has_note(const ApplyReport& report, const std::string& text) {
    return std::ranges::any_of(report.notes,
                               [&](const std::string& one) { return one.find(text) != one.npos; });
  }
};

// A sysctl that breaks every host must not go unjudged because the switch waits for approval.
TEST_F(GateOfWhatRuns, HeldStepExcludesNoPath) {
  want_both();
  cluster.policy = Policy{};
  cluster.policy->needs_approval[Disruption::traffic] = true;
  pairs.after = {{"gpu1", SloState::broken}, {"gpu2", SloState::broken}, {"gpu3", SloState::broken}};
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

TEST_F(GateOfWhatRuns, HeldStepOfALaterWaveExcludesNoPath) {
  want_both();
  switch_comes_last();
  cluster.policy_of["leaf0"].needs_approval[Disruption::traffic] = true;
  pairs.after["gpu1"] = SloState::broken;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::undone);
  EXPECT_EQ(cluster.devices["gpu2"]->truth().value(entry(kOffload)), Value{}) << "one host is the canary";
  EXPECT_EQ(truth(), before);
}

// Both ends of a cable stay unchanged: no path is half changed, and the rest is judged.
TEST_F(GateOfWhatRuns, SkippedFarEndOfAHeldStepExcludesNoPath) {
  cluster.want("gpu1", kMtu, number(4000));
  cluster.want("leaf0", "interface[swp1]/mtu", number(4000));
  cluster.devices["leaf0"]->set(entry("interface[swp1]/mtu"), number(9000));
  before = truth();
  cluster.want("gpu2", kOffload, yes());
  Plan plan = cluster.plan();
  for (Step& step : plan.steps)
    if (step.device == "gpu1") step.holds.push_back({Hold::Kind::approval, "approval"});
  pairs.after["gpu2"] = SloState::broken;
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
  ASSERT_GT(pairs.asked.size(), 1U);
  EXPECT_TRUE(pairs.asked[1].pending.empty());
}

// None of the switch's change is written when the canary is measured, so the comparison is valid.
TEST_F(GateOfWhatRuns, LaterSwitchWaveDoesNotExcludeTheHostCanary) {
  want_both();
  switch_comes_last();
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.waves(), 3U);
  pairs.after["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.count(StepState::done), 1U);
  EXPECT_EQ(truth(), before);
}

TEST_F(GateOfWhatRuns, PathCompletedByALaterWaveIsMeasuredWithThatWave) {
  in_waves(1);
  want_new_mtu({"gpu1", "gpu2"});
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  ASSERT_EQ(pairs.asked.size(), 3U);
  EXPECT_TRUE(pairs.asked[1].pending.touches_cable(1));
  EXPECT_EQ(pairs.asked[1].pending_until, 2U);
  EXPECT_TRUE(pairs.asked[2].pending.empty());
  EXPECT_EQ(pairs.asked[2].pending_until, 0U);
}

// Only the part of a step that belongs to a half-done change excludes paths.
TEST_F(GateOfWhatRuns, UnrelatedChangesOfAPendingStepExcludeNothing) {
  in_waves(1);
  want_new_mtu({"gpu1", "gpu2"});
  cluster.want("gpu2", "sysctl[net.ipv4.tcp_sack]", Value::text("1"));
  const Plan plan = cluster.plan();
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  ASSERT_GT(pairs.asked.size(), 1U);
  EXPECT_TRUE(pairs.asked[1].pending.touches_cable(1));
  EXPECT_FALSE(pairs.asked[1].pending.touches("gpu2")) << "with all its other cables";
}

// A path excluded for a step that then could not write is still measured.
TEST_F(GateOfWhatRuns, PathsExcludedForAFailedStepAreMeasuredAtTheEnd) {
  in_waves(1);
  want_new_mtu({"gpu1", "gpu2"});
  const Plan plan = cluster.plan();
  cluster.devices["gpu2"]->refuses = {row("interface[*]/mtu")};
  pairs.tell = [this](const GateQuestion& question, GateFigure&) {
    if (question.when == GateQuestion::When::after) cluster.devices["gpu2"]->unreachable = true;
  };
  cluster.apply_plan(plan);
  ASSERT_FALSE(pairs.asked.empty());
  EXPECT_TRUE(pairs.asked.back().pending.empty());
  EXPECT_TRUE(pairs.asked.back().affected.touches_cable(0)) << "what the first gate may have left out";
}

// Breaks a pair that no step wrote, as a remedy can.
class BreaksWhatNobodyWrote final : public Measurer {
 public:
  explicit BreaksWhatNobodyWrote(PairOfEachHost& pairs) : pairs_(pairs) {}
  Result<GateMeasurement> measure(const GateQuestion& question, const Call& call) override {
    TRY(GateMeasurement out, pairs_.measure(question, call));
    GateFigure one;
    one.subject = "gpu3";
    one.state = question.when == GateQuestion::When::before ? SloState::holds : SloState::broken;
    one.figure = one.state == SloState::holds ? 1.0 : 0.5;
    out.figures.push_back(one);
    return out;
  }
  bool crosses(const std::string& subject, const BlastRadius& changed) const override {
    return pairs_.crosses(subject, changed);
  }

 private:
  PairOfEachHost& pairs_;
};

TEST_F(GateOfWhatRuns, PathsExcludedByAFailedGateStayPendingWithoutARollback) {
  BreaksWhatNobodyWrote another(pairs);
  cluster.options.measurer = &another;
  in_waves(1);
  want_new_mtu({"gpu1", "gpu2"});
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::quarantined);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_TRUE(report.owes) << "what was left out for the sake of gpu2 is measured by the next run";
  cluster.options.measurer = &pairs;
  EXPECT_EQ(next_run().verdict, ApplyVerdict::kept);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

// The value restored on gpu1 is lost again before gpu2 is rolled back.
TEST_F(GateOfWhatRuns, RebootDuringARollbackFailsItAndReportsTheLoss) {
  constexpr const char* kRule = "rule[100]";
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kRule, Value::text("as before"));
  cluster.converge();
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kRule, Value::text("bad"));
  pairs.after["gpu1"] = SloState::broken;
  Progress progress;
  std::string restarted;
  progress.step = [&](const Step& step, const StepResult& result) {
    const bool is_back =
        cluster.devices[step.device]->truth().value(entry(kRule)) == Value::text("as before");
    if (result.state != StepState::done || !is_back || !restarted.empty()) return;
    restarted = step.device;
    cluster.devices[step.device]->reboot();
  };
  const ApplyReport report = cluster.apply_plan(cluster.plan(), progress);
  ASSERT_FALSE(restarted.empty());
  EXPECT_EQ(report.verdict, ApplyVerdict::undo_failed);
  ASSERT_FALSE(report.undone.empty());
  EXPECT_FALSE(report.undone[0].whole);
  EXPECT_EQ(std::ranges::count(
                report.notes, restarted + ": what was put back of change 2 is not there any more: rule[100]; "
                                          "the device has started again"),
            1)
      << report.notes.front();
}

class NoLongerThere : public GateOfWhatRuns {
 protected:
  // A change with an unknown verdict, on these hosts.
  void owe(const std::vector<const char*>& hosts) {
    want_new_mtu(hosts);
    for (const char* const host : hosts) pairs.after[host] = SloState::unknown;
    EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
    EXPECT_EQ(cluster.ledger.owed().size(), 1U);
    pairs.asked.clear();
  }
  void put_back_by_hand(const std::string& host) {
    cluster.devices[host]->set(entry(kMtu), number(9000));
    cluster.want(host, kMtu, number(9000));
  }
};

// It must not be reported as kept, nor settled as passed.
TEST_F(NoLongerThere, ManuallyRevertedChangeIsNeitherKeptNorMeasured) {
  owe({"gpu1"});
  put_back_by_hand("gpu1");
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::nothing_to_do);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_FALSE(report.gate);
  EXPECT_FALSE(report.owes);
  EXPECT_TRUE(pairs.asked.empty());
  EXPECT_TRUE(cluster.ledger.owed().empty());
  EXPECT_TRUE(has_note(report, "change 1 is no longer there")) << report.notes.size();
}

TEST_F(NoLongerThere, ChangeRevertedByALaterOneIsNeitherKeptNorMeasured) {
  owe({"gpu1"});
  cluster.want("gpu1", kMtu, number(9000));
  cluster.options.measurer = nullptr;
  cluster.converge();
  cluster.options.measurer = &pairs;
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::nothing_to_do);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(NoLongerThere, PartlyRevertedChangeStaysPendingForTheRest) {
  owe({"gpu1", "gpu2"});
  put_back_by_hand("gpu1");
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  for (const GateQuestion& one : pairs.asked) EXPECT_FALSE(one.also.contains("gpu1"));
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  EXPECT_EQ(cluster.ledger.owed()[0].subjects, std::set<std::string>{"gpu2"});
  pairs.after = {{"gpu2", SloState::broken}};
  EXPECT_EQ(next_run().verdict, ApplyVerdict::undone);
  EXPECT_EQ(mtu("gpu2"), number(9000));
}

// As when the other end of a cable refuses the last of two writes.
TEST_F(NoLongerThere, IntermediateValueStillBelongsToTheChange) {
  constexpr const char* kPfc = "interface[rail0]/pfc";
  cluster.devices["gpu1"]->set(entry(kPfc), Value::set({"3"}));
  cluster.want("gpu1", kPfc, Value::set({"4"}));
  pairs.after["gpu1"] = SloState::unknown;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  cluster.devices["gpu1"]->set(entry(kPfc), Value::set({"3", "4"}));
  cluster.want("gpu1", kPfc, Value::set({"3", "4"}));
  pairs.after["gpu1"] = SloState::broken;
  EXPECT_EQ(next_run().verdict, ApplyVerdict::undone);
  EXPECT_EQ(cluster.devices["gpu1"]->truth().value(entry(kPfc)), Value::set({"3"}));
}

TEST_F(NoLongerThere, UnreadableChangeIsAssumedPresent) {
  owe({"gpu1"});
  put_back_by_hand("gpu1");
  cluster.options.owed = cluster.ledger.owed();
  const Plan plan = cluster.plan();
  cluster.devices["gpu1"]->unreachable = true;
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(cluster.ledger.owed().size(), 1U);
  EXPECT_FALSE(has_note(report, "no longer there"));
}

TEST_F(NoLongerThere, EarlierGateHoldIsKept) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = SloState::broken;
  ASSERT_EQ(cluster.converge().guilt(), Guilt::guilty);
  const auto held = cluster.ledger.refused_writes.size();
  cluster.options.approved = {Hold::Kind::gate};
  pairs.asked.clear();
  pairs.after["gpu1"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  cluster.options.approved = {};
  put_back_by_hand("gpu1");
  next_run();
  EXPECT_EQ(cluster.ledger.refused_writes.size(), held);
}

class WithoutBenchmark : public GateOfWhatRuns {
 protected:
  WithoutBenchmark() { pairs.without_benchmark = {"leaf0:up0 -> spine0:down0: no benchmark crosses it"}; }
};

// It must not be kept with exit code 0 and followed by the next wave.
TEST_F(WithoutBenchmark, UncoveredPathIsNotValidatedAndHoldsLaterWaves) {
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kOffload, yes());
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_EQ(report.count(StepState::held), 1U);
  EXPECT_EQ(offload("gpu2"), Value{});
  ASSERT_TRUE(report.gate);
  EXPECT_EQ(report.gate->verdict, GateVerdict::unknown);
  EXPECT_NE(report.gate->why.find("no benchmark crosses it"), std::string::npos) << report.gate->why;
}

TEST_F(WithoutBenchmark, UncoveredPathLeavesNothingPending) {
  cluster.want("gpu1", kOffload, yes());
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_FALSE(report.owes);
  EXPECT_TRUE(cluster.ledger.owed().empty());
  EXPECT_EQ(pairs.asked.size(), 2U) << "before and after, and not once more";
}

TEST_F(WithoutBenchmark, BrokenPairBesideAnUncoveredPathIsRolledBack) {
  cluster.want("gpu1", kOffload, yes());
  pairs.after["gpu1"] = SloState::broken;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

TEST_F(WithoutBenchmark, StrictRollsBack) {
  cluster.options.strict = true;
  cluster.want("gpu1", kOffload, yes());
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

TEST_F(GateOfWhatRuns, StrictRollbackMeasuresTheUnknownPairAgain) {
  cluster.options.strict = true;
  want_new_mtu({"gpu1", "gpu2"});
  pairs.after["gpu1"] = SloState::unknown;
  pairs.before["gpu2"] = pairs.after["gpu2"] = pairs.again["gpu2"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone) << report.gate->why;
  const auto again = std::ranges::find(pairs.asked, GateQuestion::When::again, &GateQuestion::when);
  ASSERT_NE(again, pairs.asked.end());
  EXPECT_EQ(again->also, std::set<std::string>{"gpu1"});
}

}  // namespace
}  // namespace lockstep
