// How a run judges pairs that it measured before the change and after it.
#include <algorithm>

#include "pairs_lab.hpp"

namespace lockstep {
namespace {

// A blackhole that existed before an unrelated change must not cause its rollback.
TEST_F(GateOfPairs, BrokenBeforeIsKeptAsNotCaused) {
  want_new_mtu({"gpu1"});
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_FALSE(report.owes);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_TRUE(report.gate->why.starts_with("not caused")) << report.gate->why;
}

TEST_F(GateOfPairs, RegressionIsRolledBackAndFoundGuilty) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.guilt(), Guilt::guilty);
  EXPECT_EQ(report.exit_code(), 2);
  std::vector<GateQuestion::When> order;
  for (const GateQuestion& one : pairs.asked) order.push_back(one.when);
  using enum GateQuestion::When;
  EXPECT_EQ(order, (std::vector{before, after, confirm, confirm, again}));
}

// One of many connections that is late after the rollback must not turn the guilt of a change that broke
// everything into not proven.
TEST_F(GateOfPairs, FailureAfterTheRollbackIsMeasuredAgain) {
  want_new_mtu({"gpu1", "gpu2"});
  pairs.before["gpu2"] = pairs.again["gpu2"] = SloState::broken;
  pairs.after["gpu1"] = pairs.after["gpu2"] = SloState::broken;
  pairs.again["gpu1"] = SloState::broken;
  pairs.confirmed_again["gpu2"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.guilt(), Guilt::guilty);
  EXPECT_EQ(pairs.asked.back().when, GateQuestion::When::confirm);
  EXPECT_EQ(pairs.asked.back().only, std::set<std::string>{"gpu1"});
}

TEST_F(GateOfPairs, FailureThatOutlivesTheRollbackIsOpenAndAnError) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = pairs.again["gpu1"] = pairs.confirmed_again["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.guilt(), Guilt::open);
  EXPECT_EQ(report.exit_code(), 1);
}

TEST_F(GateOfPairs, EachWaveIsJudgedBeforeTheNext) {
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2", "gpu3"})
    cluster.want(host, "interface[rail0]/offload[tso]", yes());
  Plan plan = cluster.plan();
  ASSERT_EQ(plan.waves(), 2U);
  for (Step& step : plan.steps) step.live = false;
  pairs.after["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.count(StepState::done), 1U) << "the second wave never ran";
  ASSERT_GT(pairs.asked.size(), 1U);
  EXPECT_TRUE(pairs.asked[1].pending.empty()) << "no path is hidden by what disturbs nothing";
}

TEST_F(GateOfPairs, UnknownPairHoldsLaterWavesAndIsNeverExitCodeZero) {
  in_waves(1);
  want_new_mtu({"gpu1", "gpu2"});
  pairs.after["gpu1"] = SloState::unknown;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_EQ(report.count(StepState::held), 1U);
  EXPECT_TRUE(report.owes);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_EQ(mtu("gpu2"), number(9000));
  EXPECT_EQ(pairs.asked.size(), 3U) << "before, after, and once more";
  pairs.after.clear();
  EXPECT_EQ(next_run().verdict, ApplyVerdict::kept);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

// A pair that was broken before must not make the unknown pair count as judged.
TEST_F(GateOfPairs, UnknownPairIsPendingBesideAPairThatWasBrokenBefore) {
  in_waves(2);
  want_new_mtu({"gpu1", "gpu2", "gpu3"});
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  pairs.after["gpu2"] = SloState::unknown;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(report.exit_code(), 2) << "an SLO is broken, which outranks what could not be determined";
  EXPECT_EQ(report.count(StepState::held), 1U);
  EXPECT_TRUE(report.owes);
}

TEST_F(GateOfPairs, StrictRollsBackOnUnknownWithoutExoneration) {
  cluster.options.strict = true;
  want_new_mtu({"gpu1", "gpu2"});
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  pairs.after["gpu2"] = SloState::unknown;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.guilt(), Guilt::not_proven);
}

// A benchmark that does not answer leaves nothing to judge, which must not count as settled.
TEST_F(Gate, StrictRollsBackWhenNothingCouldBeMeasured) {
  cluster.options.strict = true;
  measurer.fault = Error{ErrorKind::transient, "no verdict in time"};
  cluster.want("gpu1", kMtu, number(4000));
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_NE(report.exit_code(), 0);
  EXPECT_EQ(mtu("gpu1"), number(9000));

  cluster.options.strict = false;
  cluster.want("gpu1", kMtu, number(9000));
  cluster.want("gpu2", kMtu, number(4000));
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  cluster.options.strict = true;
  EXPECT_NE(next_run().verdict, ApplyVerdict::kept);
  EXPECT_EQ(mtu("gpu2"), number(9000)) << "an earlier change that nobody could measure either";
}

TEST_F(GateOfPairs, FailureAfterTheRollbackIsNotAttributedToTheChange) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = pairs.again["gpu1"] = pairs.confirmed_again["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  ASSERT_EQ(report.undone.size(), 1U);
  ASSERT_TRUE(report.undone[0].again);
  EXPECT_EQ(report.undone[0].again->verdict, GateVerdict::fail);
  EXPECT_EQ(report.undone[0].again->why.find("by the change"), std::string::npos)
      << report.undone[0].again->why;
}

// Of two suites, the one that failed decides the reaction.
TEST_F(GateOfPairs, FailingSuiteDecidesTheReaction) {
  want_new_mtu({"gpu1", "gpu2"});
  pairs.after["gpu1"] = SloState::broken;
  pairs.tell = [](const GateQuestion&, GateFigure& one) {
    one.on_fail = one.subject == "gpu1" ? OnFail::alert : OnFail::rollback;
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_EQ(mtu("gpu1"), number(4000));

  cluster.ledger = MemoryLedger{};
  pairs.after["gpu2"] = SloState::broken;
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kMtu, number(3000));
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::undone);
}

// The unknown pair is measured again even where another pair looked broken first.
TEST_F(GateOfPairs, UnknownPairIsMeasuredAgainAfterABrokenOne) {
  want_new_mtu({"gpu1", "gpu2"});
  pairs.after = {{"gpu1", SloState::broken}, {"gpu2", SloState::unknown}};
  pairs.tell = [](const GateQuestion& question, GateFigure& one) {
    if (question.when == GateQuestion::When::confirm) one.state = SloState::holds, one.figure = 1.0;
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_TRUE(cluster.ledger.owed().empty());
  ASSERT_EQ(pairs.asked.size(), 4U);
  EXPECT_EQ(pairs.asked[2].only, std::set<std::string>{"gpu1"});
  EXPECT_EQ(pairs.asked[3].only, std::set<std::string>{"gpu2"});
}

// An earlier change must not become pending again as a whole and be blamed for what a later wave breaks.
TEST_F(GateOfPairs, EarlierChangeJudgedByAWaveStaysSettled) {
  want_new_mtu({"gpu3"});
  {
    std::stop_source stop;
    pairs.tell = [&stop](const GateQuestion& question, const auto&) {
      if (question.when == GateQuestion::When::after) stop.request_stop();
    };
    cluster.apply_plan(cluster.plan(), {}, stop.get_token());
    pairs.tell = [](const auto&, auto&) {};
  }
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  const std::uint64_t earlier = cluster.ledger.owed()[0].change;
  cluster.options.owed = cluster.ledger.owed();
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, "interface[rail0]/offload[tso]", yes());
  Plan plan = cluster.plan();
  ASSERT_EQ(plan.waves(), 2U);
  for (Step& step : plan.steps) step.live = false;
  std::stop_source stop;
  Progress progress;
  progress.wave = [&stop](std::uint32_t wave, std::uint32_t) {
    if (wave == 2) stop.request_stop();
  };
  EXPECT_EQ(cluster.apply_plan(plan, progress, stop.get_token()).verdict, ApplyVerdict::stopped);
  for (const OwedChange& one : cluster.ledger.owed()) EXPECT_NE(one.change, earlier);
}

// Nothing of a device in maintenance is measured, which must not count as judged.
TEST_F(GateOfPairs, ChangeInMaintenanceIsNotValidatedUntilItEnds) {
  want_new_mtu({"gpu1"});
  cluster.maintain("gpu1", "until 2027-01-01: optics");
  for (int run = 0; run < 2; ++run) {
    SCOPED_TRACE(run);
    const ApplyReport report = next_run();
    EXPECT_EQ(report.verdict, ApplyVerdict::kept);
    EXPECT_TRUE(report.owes);
    ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  }
  cluster.maintain("gpu1", "");
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  EXPECT_EQ(next_run().verdict, ApplyVerdict::undone);
  EXPECT_EQ(mtu("gpu1"), number(9000));
}

// Otherwise a change outside its window would load the fabric and then not start.
TEST_F(GateOfPairs, MeasuresNothingWhenNoStepMayStart) {
  want_new_mtu({"gpu1", "gpu2"});
  Plan plan = cluster.plan();
  for (Step& step : plan.steps) step.holds.push_back({Hold::Kind::management, "the last path to it"});
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::partly);
  EXPECT_TRUE(pairs.asked.empty());
}

// A failed first gate must not be masked by a later one that passes.
TEST_F(GateOfPairs, WorstLastVerdictOfAllPairsDecides) {
  cluster.options.on_fail = OnFail::alert;
  in_waves(1);
  want_new_mtu({"gpu1", "gpu2"});
  pairs.after["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(mtu("gpu2"), number(4000)) << "it only alerts";
  EXPECT_EQ(report.gate->verdict, GateVerdict::fail);
  EXPECT_EQ(report.exit_code(), 2);
}

// The earlier run's change, already in place, is rolled back. The change of this run, which broke nothing, is
// not.
TEST_F(GateOfPairs, PendingBrokenChangeIsRolledBackThoughBrokenBeforeThisRun) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  ASSERT_EQ(cluster.ledger.owed().at(0).subjects, std::set<std::string>{"gpu1"});
  pairs.before["gpu1"] = pairs.after["gpu1"] = SloState::broken;
  want_new_mtu({"gpu2"});
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(mtu("gpu1"), number(9000));
  EXPECT_EQ(mtu("gpu2"), number(4000));
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

// Only the unknown pair is pending. A later failure of another pair is unrelated to that change.
TEST_F(GateOfPairs, JudgedPairIsNotRolledBackForALaterFailure) {
  want_new_mtu({"gpu1", "gpu2"});
  pairs.after["gpu2"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  pairs.after = {{"gpu1", SloState::broken}};
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_TRUE(report.undone.empty());
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(GateOfPairs, UnknownPairsStayPendingOneByOne) {
  want_new_mtu({"gpu1", "gpu2", "gpu3"});
  pairs.after["gpu1"] = pairs.after["gpu2"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  pairs.after = {{"gpu2", SloState::unknown}};
  EXPECT_TRUE(next_run().owes);
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  EXPECT_EQ(cluster.ledger.owed()[0].subjects, std::set<std::string>{"gpu2"});
}

// The newest change broke its own pair. The older one, with another pair pending, is not rolled back with it.
TEST_F(GateOfPairs, FailureOfTheNewestChangeKeepsTheOlderOne) {
  want_new_mtu({"gpu1"});
  pairs.after["gpu1"] = SloState::unknown;
  ASSERT_EQ(cluster.converge().verdict, ApplyVerdict::not_validated);
  pairs.after = {{"gpu2", SloState::broken}};
  want_new_mtu({"gpu2"});
  const ApplyReport report = next_run();
  ASSERT_EQ(report.undone.size(), 1U);
  EXPECT_EQ(report.undone[0].change, report.change_id);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_EQ(mtu("gpu2"), number(9000));
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

class RefusedByAGate : public GateOfPairs {
 protected:
  RefusedByAGate() {
    want_new_mtu({"gpu1"});
    pairs.after["gpu1"] = SloState::broken;
  }
  void was_broken_before() { pairs.again["gpu1"] = pairs.confirmed_again["gpu1"] = SloState::broken; }
};

TEST_F(RefusedByAGate, IsHeldUntilGateIsApproved) {
  ASSERT_EQ(cluster.converge().guilt(), Guilt::guilty);
  cluster.options.approved = {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::drain};
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 1U);
  ASSERT_EQ(plan.steps[0].holds.size(), 1U);
  EXPECT_EQ(plan.steps[0].holds[0].kind, Hold::Kind::gate);
  EXPECT_TRUE(plan.steps[0].holds[0].reason.starts_with("change 1 did this and was rolled back (guilty: "))
      << plan.steps[0].holds[0].reason;
  EXPECT_EQ(cluster.apply_plan(plan).count(StepState::held), 1U);
  EXPECT_EQ(mtu("gpu1"), number(9000));

  cluster.options.approved.add(Hold::Kind::gate);
  pairs.after.clear();
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_TRUE(cluster.ledger.refused_writes.empty()) << "it was kept";
}

// The held write must not slip in with a step for other drift.
TEST_F(RefusedByAGate, IsHeldSeparatelyFromOtherDrift) {
  cluster.want("gpu1", "interface[rail0]/offload[tso]", yes());
  cluster.devices["gpu1"]->set(entry("interface[rail0]/offload[tso]"), yes());
  ASSERT_EQ(cluster.converge().guilt(), Guilt::guilty);
  pairs.after.clear();
  cluster.devices["gpu1"]->set(entry("interface[rail0]/offload[tso]"), no());
  cluster.options.choice.person = false;
  cluster.options.measurer = nullptr;  // as a watch does when it heals
  const Plan plan = cluster.plan();
  EXPECT_EQ(plan.steps.size(), 2U);
  cluster.apply_plan(plan);
  EXPECT_EQ(mtu("gpu1"), number(9000));
  EXPECT_EQ(cluster.devices["gpu1"]->truth().value(entry("interface[rail0]/offload[tso]")), yes());
}

// Neither an edit of another line may release the change, nor an edit and its revert make the hold forgotten.
TEST_F(RefusedByAGate, IsHeldAcrossOtherSpecEdits) {
  ASSERT_EQ(cluster.converge().guilt(), Guilt::guilty);
  cluster.want("gpu2", kMtu, number(8000));
  cluster.want("gpu1", "interface[rail0]/offload[tso]", no());
  const auto is_held = [&] {
    std::map<std::string, bool> held;
    for (const Step& step : cluster.plan().steps)
      for (const PlannedChange& change : step.changes)
        if (change.path == entry(kMtu)) held[step.device] = !step.holds.empty();
    return held;
  };
  EXPECT_EQ(is_held(), (std::map<std::string, bool>{{"gpu1", true}, {"gpu2", false}}));
  cluster.want("gpu1", kMtu, number(5000));
  EXPECT_FALSE(is_held().at("gpu1")) << "another value is another change";
  cluster.want("gpu1", kMtu, number(4000));
  EXPECT_TRUE(is_held().at("gpu1"));
}

// The canary's verdict applies to the change. The next run must not give it to all other devices at once.
TEST_F(GateOfPairs, GuiltyCanaryHoldsTheChangeOnAllDevices) {
  in_waves(1);
  const char* const offload = "interface[rail0]/offload[tso]";
  for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.want(host, offload, yes());
  Plan plan = cluster.plan();
  for (Step& step : plan.steps) step.live = false;
  pairs.after["gpu1"] = SloState::broken;
  ASSERT_EQ(cluster.apply_plan(plan).guilt(), Guilt::guilty);
  const Plan next = cluster.plan();
  ASSERT_EQ(next.steps.size(), 3U);
  for (const Step& step : next.steps) {
    ASSERT_EQ(step.holds.size(), 1U) << step.device;
    EXPECT_EQ(step.holds[0].kind, Hold::Kind::gate);
  }
  cluster.want("gpu3", "interface[rail0]/offload[gro]", yes());
  EXPECT_EQ(cluster.apply_plan(cluster.plan()).count(StepState::done), 1U) << "what else is wanted goes on";
}

// A device that is held or in maintenance shows nothing about the change.
TEST_F(GateOfPairs, CanaryIsNotADeviceInMaintenance) {
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2", "gpu3"})
    cluster.want(host, "interface[rail0]/offload[tso]", yes());
  const auto wave_of = [&](const std::string& device) {
    for (const Step& step : cluster.plan().steps)
      if (step.device == device) return step.wave;
    return 0U;
  };
  EXPECT_EQ(wave_of("gpu1"), 1U);
  EXPECT_EQ(wave_of("gpu2"), 2U);
  cluster.maintain("gpu1", "until 2026-12-01: optics");
  EXPECT_EQ(wave_of("gpu1"), 2U);
  EXPECT_EQ(wave_of("gpu2"), 1U);
  EXPECT_EQ(wave_of("gpu3"), 2U);
}

// With the whole first wave held, the second has no canary.
TEST_F(GateOfPairs, NoWaveStartsAfterAFullyHeldWave) {
  in_waves(1);
  const char* const offload = "interface[rail0]/offload[tso]";
  for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.want(host, offload, yes());
  Plan plan = cluster.plan();
  ASSERT_EQ(plan.waves(), 2U);
  ASSERT_EQ(plan.steps[0].device, "gpu1");
  plan.steps[0].holds.push_back({Hold::Kind::approval, "the policy wants approval"});
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.count(StepState::held), 1U);
  EXPECT_EQ(report.count(StepState::skipped), 2U);
  EXPECT_EQ(report.verdict, ApplyVerdict::asks);
  EXPECT_EQ(report.steps[1].why, "wave 1 goes first, and step 1 (gpu1) was held: the policy wants approval");
  EXPECT_FALSE(cluster.devices["gpu2"]->truth().value(entry(offload)) == yes());
}

// An exonerated change is offered once more in an interactive run. An automatic run does not retry it.
TEST_F(RefusedByAGate, ExoneratedChangeIsOfferedOnceMoreInteractively) {
  pairs.before["gpu1"] = SloState::unknown;  // and no figure: the state before is unknown
  was_broken_before();
  ASSERT_EQ(cluster.converge().guilt(), Guilt::exonerated);
  cluster.options.choice.person = false;
  EXPECT_FALSE(cluster.plan().steps.at(0).holds.empty());
  cluster.options.choice.person = true;
  EXPECT_TRUE(cluster.plan().steps.at(0).holds.empty());
  EXPECT_FALSE(cluster.plan().steps.at(0).notes.empty());
  pairs.asked.clear();
  ASSERT_EQ(cluster.converge().guilt(), Guilt::exonerated);
  EXPECT_FALSE(cluster.plan().steps.at(0).holds.empty()) << "once";
}

TEST_F(RefusedByAGate, IsHeldWhenGuiltIsOpen) {
  was_broken_before();
  ASSERT_EQ(cluster.converge().guilt(), Guilt::open);
  EXPECT_EQ(cluster.plan().steps.at(0).holds.at(0).kind, Hold::Kind::gate);
}

// A GPU that is missing before a change of an MTU must not delay the change by the whole settling time or
// alter its verdict.
TEST_F(GateOfPairs, EffectOpenBeforeIsReportedWithoutWaiting) {
  cluster.want("gpu1", "gpu/count", number(8));
  cluster.devices["gpu1"]->set(entry("gpu/count"), number(7));
  cluster.want("leaf0", "interface[swp3]/peer", Value::text("gpu3:rail0"));
  want_new_mtu({"gpu1"});
  const Plan plan = cluster.plan();
  const Time begun = cluster.executor.now();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 2) << "it is open all the same";
  EXPECT_TRUE(report.effects.empty());
  ASSERT_EQ(report.open_before.size(), 2U) << "another port's neighbour is none of this cable's";
  EXPECT_LT(cluster.executor.now() - begun, cluster.options.settle_time);
}

// The run waits for an effect that the change may cause. It is open if it does not come.
TEST_F(GateOfPairs, WaitsForAnEffectThatTheChangeMayCause) {
  cluster.want("leaf0", "interface[swp1]/carrier", yes());
  cluster.want("leaf0", "bgp/neighbor[swp2]/session", Value::text("Established"));
  want_new_mtu({"gpu1"});
  const Time begun = cluster.executor.now();
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
  EXPECT_EQ(report.effects.size(), 2U);
  EXPECT_TRUE(report.open_before.empty());
  EXPECT_GE(cluster.executor.now() - begun, cluster.options.settle_time);
}

// The agent at one end of a cable is restarted. The other end hears it some time later.
TEST_F(GateOfPairs, WaitsForTheEffectOfARemedyAtTheFarEnd) {
  class Restart final : public Remedy {
   public:
    explicit Restart(SimulatedDevice& device) : device_(device) {}
    std::optional<Offer> offer(const Change& effect) const override {
      if (effect.path.text() != "lldp-agent") return std::nullopt;
      return Offer{"restart-lldp", effect.path.text(), Disruption::none, 1, std::chrono::seconds(60)};
    }
    Result<Done> cure(const ChangeSet&, const Call&) override {
      device_.set(entry("lldp-agent"), Value::text("answers"));
      return Done{};
    }

   private:
    SimulatedDevice& device_;
  };
  Restart restart(*cluster.devices["gpu1"]);
  cluster.attached(*cluster.fleet().find("gpu1")).remedy = &restart;
  cluster.want("gpu1", "lldp-agent", Value::text("answers"));
  cluster.devices["gpu1"]->set(entry("lldp-agent"), Value::text("silent"));
  cluster.want("leaf0", "interface[swp1]/peer", Value::text("gpu1:rail0"));
  cluster.want("leaf0", "interface[swp3]/peer", Value::text("gpu3:rail0"));
  const Time begun = cluster.executor.now();
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open) << "it was not heard in time";
  ASSERT_EQ(report.effects.size(), 1U);
  EXPECT_EQ(report.effects[0].change.path.text(), "interface[swp1]/peer");
  EXPECT_EQ(report.open_before.size(), 1U) << "nobody restarted gpu3's";
  EXPECT_GE(cluster.executor.now() - begun, cluster.options.settle_time);
}

}  // namespace
}  // namespace lockstep
