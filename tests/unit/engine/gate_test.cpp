// A change written under a gate is judged or rolled back, in this run or in a later one.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "gate_lab.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

struct Killed {};

TEST_F(Gate, StopWhileMeasuringIsReportedAndStaysPending) {
  cluster.want("gpu1", kMtu, number(4000));
  const ApplyReport report = stopped_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::stopped);
  EXPECT_TRUE(report.owes);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes.back().find("the next apply measures"), std::string::npos);
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
}

TEST_F(Gate, PendingChangeIsMeasuredByAnEmptyApplyAndKept) {
  cluster.want("gpu1", kMtu, number(4000));
  stopped_run();
  ASSERT_TRUE(cluster.plan().empty());
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 0);
  ASSERT_EQ(measurer.asked.size(), 2U);
  EXPECT_TRUE(measurer.asked[1].touches_cable(0));
  EXPECT_FALSE(measurer.asked[1].touches_cable(1));
  EXPECT_TRUE(cluster.ledger.owed().empty());
  EXPECT_EQ(mtu("gpu1"), number(4000));
}

TEST_F(Gate, FailedPendingChangeIsRolledBackToItsOriginalState) {
  cluster.want("gpu1", kMtu, number(4000));
  stopped_run();
  measurer.answer = [this] { return measurer.asked.size() < 3 ? GateVerdict::fail : GateVerdict::pass; };
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(Gate, ChangeOfAKilledRunIsPending) {
  cluster.want("gpu1", kMtu, number(4000));
  measurer.answer = []() -> GateVerdict { throw Killed{}; };
  EXPECT_THROW(cluster.converge(), Killed);
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  measurer.answer = [this] { return measurer.asked.size() < 3 ? GateVerdict::fail : GateVerdict::pass; };
  EXPECT_EQ(next_run().verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

class GateOfTwoChanges : public Gate {
 protected:
  // A pending change and one on top of it, which is broken for `measurements` measurements.
  ApplyReport broken_for(std::size_t measurements) {
    cluster.want("gpu1", kMtu, number(4000));
    stopped_run();
    cluster.want("gpu1", kMtu, number(4001));
    cluster.want("gpu2", kMtu, number(4000));
    const std::size_t last = measurer.asked.size() + measurements;
    measurer.answer = [this, last] {
      return measurer.asked.size() <= last ? GateVerdict::fail : GateVerdict::pass;
    };
    return next_run();
  }
};

TEST_F(GateOfTwoChanges, NewestIsRolledBackFirstAndTheOlderKeptIfThatSuffices) {
  const ApplyReport report = broken_for(1);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  ASSERT_EQ(report.undone.size(), 1U);
  EXPECT_EQ(report.undone[0].change, report.change_id);
  EXPECT_EQ(report.guilt(), Guilt::guilty);
  EXPECT_EQ(mtu("gpu1"), number(4000));
  EXPECT_EQ(mtu("gpu2"), number(9000));
  EXPECT_TRUE(cluster.ledger.owed().empty()) << "without the newer one it holds: judged";
}

TEST_F(GateOfTwoChanges, OlderIsRolledBackIfStillBroken) {
  const ApplyReport report = broken_for(2);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  ASSERT_EQ(report.undone.size(), 2U);
  EXPECT_LT(report.undone[1].change, report.undone[0].change);
  EXPECT_EQ(report.undone[1].guilt, Guilt::guilty);
  EXPECT_EQ(truth(), before);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(GateOfTwoChanges, FirstRollbackIsCheckedAgainAfterTheSecond) {
  cluster.want("gpu1", kMtu, number(4000));
  stopped_run();
  cluster.want("gpu1", kMtu, number(4001));
  cluster.want("gpu2", kMtu, number(4000));
  measurer.answer = [this, last = measurer.asked.size() + 2] {
    if (measurer.asked.size() == last) cluster.devices["gpu2"]->set(entry(kMtu), number(1234));
    return measurer.asked.size() <= last ? GateVerdict::fail : GateVerdict::pass;
  };
  const ApplyReport report = next_run();
  EXPECT_EQ(report.verdict, ApplyVerdict::undo_failed);
  ASSERT_EQ(report.undone.size(), 2U);
  EXPECT_FALSE(report.undone[0].whole) << "another hand has moved gpu2 since";
  EXPECT_TRUE(report.undone[1].whole);
}

TEST_F(Gate, ManualChangeSinceThenIsLeftAlone) {
  cluster.want("gpu1", kMtu, number(4000));
  stopped_run();
  cluster.want("gpu1", kMtu, number(1234));
  cluster.devices["gpu1"]->set(entry(kMtu), number(1234));
  measurer.answer = [] { return GateVerdict::fail; };
  next_run();
  EXPECT_EQ(mtu("gpu1"), number(1234));
}

TEST_F(Gate, RollbackOfAnUnreadableDeviceFailsAndStaysPending) {
  cluster.want("gpu1", kMtu, number(4000));
  measurer.answer = [this] {
    cluster.devices["gpu1"]->unreachable = true;
    return GateVerdict::fail;
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undo_failed);
  EXPECT_TRUE(report.owes);
  EXPECT_EQ(cluster.ledger.owed().size(), 1U);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_EQ(report.notes[0].find("gpu1: interface[rail0]/mtu is not put back to 9000: it could not be read"),
            0U)
      << report.notes[0];
}

TEST_F(Gate, RollbackOverAManualChangeFailsAndReportsIt) {
  cluster.want("gpu1", kMtu, number(4000));
  measurer.answer = [this] {
    cluster.devices["gpu1"]->set(entry(kMtu), number(1234));
    return GateVerdict::fail;
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undo_failed);
  EXPECT_EQ(mtu("gpu1"), number(1234));
  ASSERT_FALSE(report.notes.empty());
  EXPECT_EQ(report.notes[0],
            "gpu1: interface[rail0]/mtu is not put back to 9000: it is 1234, by another hand");
}

TEST_F(Gate, StopDoesNotInterruptARollback) {
  for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.want(host, kMtu, number(4000));
  measurer.answer = [] { return GateVerdict::fail; };
  std::stop_source stop;
  Progress progress;
  progress.phase = [&stop](std::string_view what) {
    if (what == "undo") stop.request_stop();
  };
  EXPECT_EQ(cluster.apply_plan(cluster.plan(), progress, stop.get_token()).verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

TEST_F(Gate, UnmeasuredChangeIsKeptPending) {
  cluster.want("gpu1", kMtu, number(4000));
  measurer.fault = Error{ErrorKind::conflict, "being measured by process 7"};
  const ApplyReport report = cluster.converge();
  EXPECT_TRUE(report.owes);
  EXPECT_EQ(report.gate->verdict, GateVerdict::unknown);
  EXPECT_EQ(cluster.ledger.owed().size(), 1U);
  measurer.fault.reset();
  EXPECT_FALSE(next_run().owes);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(Gate, RefusedPlanLeavesEarlierChangesPending) {
  cluster.want("gpu1", kMtu, number(4000));
  stopped_run();
  cluster.want("gpu2", kMtu, number(4000));
  cluster.options.owed = cluster.ledger.owed();
  Plan plan = cluster.plan();
  plan.refusals.emplace_back("it deletes too much");
  EXPECT_TRUE(cluster.apply_plan(plan).owes);
  EXPECT_EQ(cluster.ledger.owed().size(), 1U);
}

TEST_F(Gate, EffectUnreadableDuringVerificationIsOpen) {
  cluster.options.measurer = nullptr;
  cluster.want("gpu1", kMtu, number(4000));
  cluster.want("gpu1", "interface[rail0]/carrier", yes());
  Progress progress;
  progress.phase = [this](std::string_view what) {
    if (what == "verify") cluster.devices["gpu1"]->unreachable = true;
  };
  const ApplyReport report = cluster.apply_plan(cluster.plan(), progress);
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
  ASSERT_EQ(report.effects.size(), 1U);
  EXPECT_NE(report.effects[0].unread.find("no route to the device"), std::string::npos);
}

TEST_F(Gate, RunWithoutAGateLeavesNothingPending) {
  cluster.options.measurer = nullptr;
  cluster.want("gpu1", kMtu, number(4000));
  EXPECT_FALSE(cluster.converge().owes);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(Gate, EachWaveGateMeasuresOnlyItsOwnChanges) {
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kMtu, number(4000));
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  ASSERT_EQ(measurer.asked.size(), 2U);
  EXPECT_TRUE(measurer.asked[0].touches_cable(0));
  EXPECT_TRUE(measurer.left_out[0].touches_cable(1));
  EXPECT_FALSE(measurer.asked[1].touches_cable(0));
  EXPECT_TRUE(measurer.asked[1].touches_cable(1));
  EXPECT_TRUE(measurer.left_out[1].empty());
}

// No part of a rollback is interrupted, including the measurement after it.
TEST_F(Gate, StopDoesNotInterruptTheMeasurementAfterARollback) {
  for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.want(host, kMtu, number(4000));
  std::stop_source stop;
  int asked = 0;
  measurer.answer = [&] {
    if (++asked == 1) return GateVerdict::fail;
    stop.request_stop();
    return GateVerdict::pass;
  };
  const ApplyReport report = cluster.apply_plan(cluster.plan(), {}, stop.get_token());
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  ASSERT_EQ(report.undone.size(), 1U);
  ASSERT_TRUE(report.undone[0].again);
  EXPECT_EQ(report.undone[0].again->verdict, GateVerdict::pass) << report.undone[0].again->why;
  EXPECT_EQ(truth(), before);
}

// The report shows the gate that was stopped, not the one before it.
TEST_F(Gate, StopInTheSecondGateIsReportedAsItsVerdict) {
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kMtu, number(4000));
  std::stop_source stop;
  measurer.answer = [this, &stop] {
    if (measurer.asked.size() == 1) return GateVerdict::not_run;
    stop.request_stop();
    return GateVerdict::unknown;
  };
  const ApplyReport report = cluster.apply_plan(cluster.plan(), {}, stop.get_token());
  ASSERT_EQ(measurer.asked.size(), 2U);
  EXPECT_EQ(report.verdict, ApplyVerdict::stopped);
  EXPECT_EQ(report.gate->verdict, GateVerdict::unknown);
}

TEST_F(Gate, GateWithNothingToMeasureDoesNotFail) {
  cluster.options.strict = true;
  cluster.want("gpu1", kMtu, number(4000));
  measurer.answer = [] { return GateVerdict::not_run; };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(to_string(report.gate->verdict), "not run");
}

// The first gate excluded paths for a step that then had nothing to write. Nothing else would ever measure
// them.
TEST_F(Gate, PathsExcludedForAStepThatWroteNothingAreMeasuredAtTheEnd) {
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kMtu, number(4000));
  const Plan plan = cluster.plan();
  measurer.answer = [this] {
    cluster.devices["gpu2"]->set(entry(kMtu), number(4000));
    return GateVerdict::pass;
  };
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  ASSERT_EQ(measurer.asked.size(), 2U);
  EXPECT_TRUE(measurer.asked[1].touches_cable(0));
}

TEST_F(Gate, NoPathIsExcludedForAHeldStep) {
  in_waves(1);
  for (const char* const host : {"gpu1", "gpu2"}) cluster.want(host, kMtu, number(4000));
  Plan plan = cluster.plan();
  plan.steps.back().holds.push_back({Hold::Kind::management, "the last path to it"});
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_FALSE(report.owes);
  ASSERT_EQ(measurer.asked.size(), 1U);
  EXPECT_TRUE(measurer.asked[0].touches_cable(0));
  EXPECT_TRUE(measurer.left_out[0].empty());
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

// The same, with the store on disk and a process that is killed while it measures.
TEST_F(Gate, NextProcessJudgesTheChangeOfAKilledOne) {
  std::string directory = (std::filesystem::temp_directory_path() / "lockstep-gate-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  cluster.want("gpu1", kMtu, number(4000));
  const Plan plan = cluster.plan();
  const pid_t child = fork();
  if (child == 0) {
    const auto store = led(directory);
    measurer.answer = [] {
      kill(getpid(), SIGKILL);
      return GateVerdict::unknown;
    };
    Application application(cluster.fleet(), cluster.executor, store->history(), plan, cluster.options);
    pump(cluster.executor, application);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  cluster.devices["gpu1"]->set(entry(kMtu), number(4000));  // as the child left it
  {
    const auto store = led(directory);
    ASSERT_EQ(store->history().in_flight()->size(), 1U);
    cluster.options.owed = *store->history().owed();
    ASSERT_EQ(cluster.options.owed.size(), 1U);
    measurer.answer = [this] { return measurer.asked.size() < 2 ? GateVerdict::fail : GateVerdict::pass; };
    Application application(cluster.fleet(), cluster.executor, store->history(), cluster.plan(),
                            cluster.options);
    const ApplyReport report = pump(cluster.executor, application);
    EXPECT_EQ(report.verdict, ApplyVerdict::undone);
    EXPECT_TRUE(store->history().owed()->empty());
  }
  EXPECT_EQ(truth(), before);
  std::filesystem::remove_all(directory);
}

// Restores a lost next hop, and moves traffic to one path meanwhile.
class Reinstall final : public Remedy {
 public:
  explicit Reinstall(SimulatedDevice& device) : device_(device) {}
  std::optional<Offer> offer(const Change& effect) const override {
    if (effect.path != entry("fib[10.0.0.0/8]")) return std::nullopt;
    return Offer{"reinstall-multipath", "installs them again", disruption, 3, std::chrono::seconds(300)};
  }
  Result<Done> cure(const ChangeSet& effects, const Call&) override {
    ++cures;
    for (const Change& effect : effects)
      if (helps) device_.set(effect.path, effect.want);
    return Done{};
  }
  int cures = 0;
  Disruption disruption = Disruption::traffic;
  bool helps = true;

 private:
  SimulatedDevice& device_;
};

class GateOfARemedy : public Gate {
 protected:
  GateOfARemedy() : remedy(*cluster.devices["leaf0"]) {
    cluster.attached(0).remedy = &remedy;
    cluster.want("leaf0", "fib[10.0.0.0/8]", Value::set({"up0", "up1"}));
    cluster.devices["leaf0"]->set(entry("fib[10.0.0.0/8]"), Value::set({"up0"}));
  }
  Reinstall remedy;
};

TEST_F(GateOfARemedy, MeasuresPathsThroughTheDevice) {
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  ASSERT_EQ(measurer.asked.size(), 1U);
  EXPECT_TRUE(measurer.asked[0].touches("leaf0"));
  EXPECT_TRUE(measurer.asked[0].touches_cable(2));
}

TEST_F(GateOfARemedy, IsSkippedForNonDisruptiveOrFailedRemedies) {
  remedy.helps = false;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::effects_open);
  cluster.executor.wall_epoch += std::chrono::seconds(300);  // the remedy may be tried again
  remedy.helps = true;
  remedy.disruption = Disruption::none;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_TRUE(measurer.asked.empty());
}

TEST_F(GateOfARemedy, HasNothingToRollBackOnFailure) {
  measurer.answer = [] { return GateVerdict::fail; };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::quarantined);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_TRUE(report.undone.empty());
  EXPECT_FALSE(report.owes);
  ASSERT_FALSE(report.notes.empty());
}

TEST_F(GateOfARemedy, RemedyIsTriedAtMostAsOftenAsItsDriverAllows) {
  remedy.helps = false;
  cluster.options.choice.person = false;
  cluster.intents["leaf0"]->conduct = Conduct::converge;
  for (int run = 0; run < 5; ++run) cluster.converge();
  EXPECT_EQ(remedy.cures, 3);
  const ApplyReport spent = cluster.converge();
  EXPECT_EQ(spent.verdict, ApplyVerdict::effects_open);
  EXPECT_EQ(
      spent.steps.at(0).why,
      "leaf0: remedy 'reinstall-multipath' was tried 3 times within 300 s, as often as its driver allows");
  cluster.options.choice.person = true;
  cluster.converge();
  EXPECT_GT(remedy.cures, 3) << "a person may ask for more";
  cluster.options.choice.person = false;
  cluster.executor.wall_epoch += std::chrono::seconds(300);
  remedy.helps = true;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
}

// One ends as soon as it starts, and another waits for it.
TEST_F(GateOfARemedy, ExhaustedRemedyDoesNotBlockOthers) {
  cluster.options.choice.person = false;
  Reinstall spent(*cluster.devices["gpu1"]);
  cluster.attached(*cluster.fleet().find("gpu1")).remedy = &spent;
  cluster.want("gpu1", "fib[10.0.0.0/8]", Value::set({"rail0", "rail1"}));
  for (int times = 0; times < 3; ++times)
    cluster.ledger.cured.push_back({"gpu1 reinstall-multipath", cluster.executor.wall_time()});
  cluster.observe();
  Plan plan;
  for (std::uint32_t id = 1; id <= 2; ++id) {
    Step step;
    step.id = id;
    step.device = id == 1 ? "gpu1" : "leaf0";
    step.driver = "sim";
    step.remedy = "reinstall-multipath";
    step.changes = {{entry("fib[10.0.0.0/8]"), {}, Value::set({"up0", "up1"}), 0, false}};
    if (id == 2) step.after = {1};
    plan.steps.push_back(step);
  }
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps[0].state, StepState::failed) << report.steps[0].why;
  EXPECT_EQ(report.steps[1].state, StepState::done);
}

TEST_F(GateOfARemedy, RemedyIsTriedOnlyOnSelectedDevices) {
  cluster.options.choice.only = {"gpu1"};
  cluster.want("gpu1", kMtu, number(4000));
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::effects_open);
  EXPECT_EQ(remedy.cures, 0);
}

TEST_F(GateOfARemedy, RemedyWaitsForApprovalUnderThePolicy) {
  cluster.policy = Policy{};
  cluster.policy->needs_approval[Disruption::traffic] = true;
  cluster.want("gpu1", "interface[rail0]/offload[tso]", no());
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.open_before.size(), 1U);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_EQ(remedy.cures, 0);
  cluster.options.approved = {Hold::Kind::approval};
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(remedy.cures, 1);
}

// Beside a change the remedy is not planned. It runs when the effect stays open.
TEST_F(GateOfARemedy, RemedyIsJudgedWithTheChangeThatIsRolledBack) {
  cluster.want("gpu1", kMtu, number(4000));
  measurer.answer = [this] { return measurer.asked.size() < 2 ? GateVerdict::fail : GateVerdict::pass; };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_TRUE(measurer.asked[0].touches("leaf0"));
  EXPECT_TRUE(measurer.asked[0].touches_cable(0));
  EXPECT_EQ(mtu("gpu1"), number(9000));
  EXPECT_EQ(cluster.devices["leaf0"]->truth().value(entry("fib[10.0.0.0/8]")), Value::set({"up0", "up1"}));
}

// Otherwise there would be nothing to roll back.
TEST_F(Gate, StaleReadIsRepeatedBeforeARollback) {
  SimulatedDevice& gpu1 = *cluster.devices["gpu1"];
  cluster.want("gpu1", kMtu, number(4000));
  measurer.answer = [&] {
    const bool fails = measurer.asked.size() == 1;
    gpu1.faults.stale_read = fails ? 1 : 0;
    return fails ? GateVerdict::fail : GateVerdict::pass;
  };
  int stale = 0;
  gpu1.seen = [&](const SimulatedCall& call) {
    if (call.kind != SimulatedCall::Kind::observe || gpu1.faults.stale_read == 0) return;
    gpu1.faults.stale_read = 0;
    ++stale;
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(stale, 1);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

}  // namespace
}  // namespace lockstep
