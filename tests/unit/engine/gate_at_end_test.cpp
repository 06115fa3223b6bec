// RolloutPolicy.gate: end. The waves run without measurements, and everything that they wrote is judged once.
// The tests check the final state of the devices, and what was asked of the benchmarks and when.
#include <nlohmann/json.hpp>

#include "gate_lab.hpp"
#include "reconciler/engine/earlier_plan.hpp"
#include "reconciler/engine/windows.hpp"

namespace lockstep {
namespace {

// disturbs no traffic, so it excludes no path
constexpr const char* kOffload = "interface[rail0]/offload[tso]";

class GateAtEnd : public Gate {
 protected:
  // The gate fails while the broken host has the new value.
  GateAtEnd() {
    measurer.answer = [this] { return broken.contains_new(cluster) ? GateVerdict::fail : GateVerdict::pass; };
  }
  // gpu1 first, then all others.
  void want_in_two_waves(bool gate_at_end) {
    in_waves(1);
    cluster.policy->gate_at_end = gate_at_end;
    for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.want(host, kOffload, yes());
  }
  Value offload(const std::string& host) { return cluster.devices[host]->truth().value(entry(kOffload)); }
  std::size_t hosts_with_it() {
    std::size_t count = 0;
    for (const char* const host : {"gpu1", "gpu2", "gpu3"}) count += offload(host) == yes() ? 1 : 0;
    return count;
  }
  // Stopped as soon as wave `wave` starts.
  ApplyReport stopped_at_wave(std::uint32_t wave) {
    std::stop_source stop;
    Progress progress;
    progress.wave = [&](std::uint32_t at, std::uint32_t) {
      if (at == wave) stop.request_stop();
    };
    return cluster.apply_plan(cluster.plan(), progress, stop.get_token());
  }
  struct Broken {
    std::string host;  // forwards no traffic once it has the new value
    bool contains_new(Cluster& in) const {
      return !host.empty() && in.devices[host]->truth().value(entry(kOffload)) == yes();
    }
  } broken;
};

// Records when it was asked, and how many hosts had the new value by then.
class Counting final : public Measurer {
 public:
  explicit Counting(std::function<std::size_t()> hosts) : hosts_(std::move(hosts)) {}
  Result<GateMeasurement> measure(const GateQuestion& question, const Call&) override {
    asked.emplace_back(question.when, hosts_());
    return told_measurement(GateVerdict::pass);
  }
  std::vector<std::pair<GateQuestion::When, std::size_t>> asked;

 private:
  std::function<std::size_t()> hosts_;
};

TEST_F(GateAtEnd, MeasuresBeforeTheFirstAndAfterTheLastWrite) {
  using Asked = std::vector<std::pair<GateQuestion::When, std::size_t>>;
  for (const bool at_end : {true, false}) {
    want_in_two_waves(at_end);
    for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.devices[host]->set(entry(kOffload), no());
    Counting counting([this] { return hosts_with_it(); });
    cluster.options.measurer = &counting;
    EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
    EXPECT_EQ(counting.asked, at_end
                                  ? (Asked{{GateQuestion::When::before, 0}, {GateQuestion::When::after, 3}})
                                  : (Asked{{GateQuestion::When::before, 0},
                                           {GateQuestion::When::after, 1},
                                           {GateQuestion::When::after, 3}}));
    EXPECT_TRUE(cluster.ledger.owed().empty());
  }
}

TEST_F(GateAtEnd, MeasuresEverythingThatWasWritten) {
  want_in_two_waves(true);
  ASSERT_EQ(cluster.plan().waves(), 2U);
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  ASSERT_EQ(measurer.asked.size(), 1U);
  for (std::uint32_t cable = 0; cable < 3; ++cable) EXPECT_TRUE(measurer.asked[0].touches_cable(cable));
  EXPECT_TRUE(measurer.left_out[0].empty());
}

TEST_F(GateAtEnd, BadCanaryIsRolledBackWithLaterWaves) {
  want_in_two_waves(true);
  broken.host = "gpu1";
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.guilt(), Guilt::guilty);
  EXPECT_EQ(report.count(StepState::done), 3U) << "nobody looked at the canary before the others followed";
  for (const char* const host : {"gpu1", "gpu2", "gpu3"}) EXPECT_GT(cluster.devices[host]->writes(), 0U);
  EXPECT_EQ(truth(), before);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(GateAtEnd, WithoutItABadCanaryStopsLaterWaves) {
  want_in_two_waves(false);
  broken.host = "gpu1";
  const std::uint64_t written = cluster.devices["gpu2"]->writes();
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.count(StepState::done), 1U);
  EXPECT_EQ(cluster.devices["gpu2"]->writes(), written);
  EXPECT_EQ(truth(), before);
}

TEST_F(GateAtEnd, FailedWaveStopsTheRunAndWrittenStepsAreJudged) {
  for (const bool bad : {false, true}) {
    want_in_two_waves(true);
    cluster.policy->waves = {{false, 2}, {true, 1.0}};
    cluster.devices["gpu1"]->set(entry(kOffload), no());
    cluster.devices["gpu2"]->refuses = {row("interface[*]/offload[*]")};
    broken.host = bad ? "gpu1" : "";
    measurer.asked.clear();
    const std::uint64_t third = cluster.devices["gpu3"]->writes();
    const ApplyReport report = cluster.converge();
    EXPECT_EQ(report.verdict, bad ? ApplyVerdict::undone : ApplyVerdict::partly);
    EXPECT_EQ(cluster.devices["gpu3"]->writes(), third);
    ASSERT_FALSE(measurer.asked.empty());
    EXPECT_TRUE(measurer.asked[0].touches_cable(0));
    EXPECT_EQ(offload("gpu1"), bad ? no() : yes());
    EXPECT_TRUE(cluster.ledger.owed().empty()) << "judged, or taken back";
  }
}

TEST_F(GateAtEnd, StopBetweenWavesLeavesTheVerdictToTheNextRun) {
  want_in_two_waves(true);
  broken.host = "gpu1";
  const ApplyReport stopped = stopped_at_wave(2);
  EXPECT_EQ(stopped.verdict, ApplyVerdict::stopped);
  EXPECT_TRUE(stopped.owes);
  EXPECT_TRUE(measurer.asked.empty());
  EXPECT_EQ(hosts_with_it(), 1U);
  ASSERT_EQ(cluster.ledger.owed().size(), 1U);
  const ApplyReport next = next_run();  // continues where the first run was stopped
  EXPECT_EQ(next.verdict, ApplyVerdict::undone);
  ASSERT_EQ(next.undone.size(), 2U);
  EXPECT_EQ(next.undone[1].change, stopped.change_id);
  EXPECT_EQ(next.undone[1].guilt, Guilt::guilty);
  EXPECT_EQ(truth(), before);
  EXPECT_TRUE(cluster.ledger.owed().empty());
}

TEST_F(GateAtEnd, UnknownVerdictIsKeptPendingAndNotExitCodeZero) {
  want_in_two_waves(true);
  measurer.answer = [] { return GateVerdict::unknown; };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_EQ(hosts_with_it(), 3U);
  EXPECT_EQ(cluster.ledger.owed().size(), 1U);
}

// A held step in the last wave does not remove the gate.
TEST_F(GateAtEnd, RunsEvenWhenTheLastWaveIsHeld) {
  want_in_two_waves(true);
  broken.host = "gpu1";
  Plan plan = cluster.plan();
  for (Step& step : plan.steps)
    if (step.wave == 2) step.holds.push_back({Hold::Kind::approval, "approval"});
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::undone);
  EXPECT_EQ(truth(), before);
}

// gpu1, gpu2 and gpu3 are in one wave each. One policy wants a gate after the second wave.
TEST_F(GateAtEnd, OneDeviceWithAGatePerWaveGetsIt) {
  cluster.policy = Policy{};
  cluster.policy->waves = {{false, 1}, {false, 2}, {true, 1.0}};
  cluster.policy->gate_at_end = true;
  for (const char* const host : {"gpu1", "gpu2", "gpu3"}) cluster.want(host, kOffload, yes());
  cluster.want("leaf0", "interface[swp2]/offload[tso]", yes());
  cluster.policy_of["leaf0"].waves = {{false, 0}, {true, 1.0}};
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.waves(), 3U);
  EXPECT_EQ(plan.ungated, (std::vector<std::uint32_t>{1}));
  broken.host = "gpu2";
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(measurer.asked.size(), 2U) << "after the second, and after the undo";
  EXPECT_TRUE(measurer.asked[0].touches_cable(0)) << "what the first wrote is measured with it";
  EXPECT_EQ(offload("gpu3"), Value{});
  EXPECT_EQ(truth(), before);
}

TEST_F(GateAtEnd, PlanAndItsJsonListUngatedWaves) {
  want_in_two_waves(true);
  const Plan plan = cluster.plan();
  EXPECT_EQ(plan.ungated, (std::vector<std::uint32_t>{1}));
  EXPECT_FALSE(plan.is_gated(1));
  EXPECT_TRUE(plan.is_gated(2));
  const nlohmann::json document = to_json(plan);
  EXPECT_EQ(document["ungatedWaves"], nlohmann::json::array({1}));
  EXPECT_EQ(plan_from_json(document)->ungated, plan.ungated);
  for (const nlohmann::json& wrong :
       {nlohmann::json(7), nlohmann::json{0}, nlohmann::json{2}, nlohmann::json{1, 1}, nlohmann::json{"1"},
        nlohmann::json{-1}, nlohmann::json{1.5}}) {
    nlohmann::json forged = document;
    forged["ungatedWaves"] = wrong;
    EXPECT_FALSE(plan_from_json(forged)) << wrong;
  }
  cluster.policy->gate_at_end = false;
  EXPECT_TRUE(cluster.plan().ungated.empty());
  EXPECT_FALSE(to_json(cluster.plan()).contains("ungatedWaves"));
}

// Approval of a measured canary does not approve an unmeasured one. The opposite direction is safe.
TEST_F(GateAtEnd, IsNotApprovedByAnEarlierPlanWithAGate) {
  want_in_two_waves(false);
  const Plan gated = cluster.plan();
  cluster.policy->gate_at_end = true;
  const Plan at_end = cluster.plan();
  const ApprovedPart part = approved_part(gated, at_end, {});
  EXPECT_TRUE(part.plan.steps.empty() || part.plan.steps.front().wave == 2);
  ASSERT_TRUE(part.refused.contains(1));
  EXPECT_EQ(part.refused.at(1), "what its wave writes is not measured before the next one now");
  EXPECT_TRUE(approved_part(at_end, gated, {}).refused.empty());
  EXPECT_TRUE(approved_part(at_end, gated, {}).plan.ungated.empty()) << "what runs has the gates of now";
  EXPECT_EQ(approved_part(at_end, at_end, {}).plan.ungated, at_end.ungated);
}

TEST_F(GateAtEnd, WorstCaseExcludesTheSkippedGates) {
  want_in_two_waves(true);
  cluster.options.policy_for = cluster.policies();
  const auto needed = [this] { return worst_case(cluster.plan(), cluster.fleet(), cluster.options, true); };
  const std::chrono::milliseconds at_end = needed();
  cluster.policy->gate_at_end = false;
  EXPECT_EQ(needed() - at_end, 4 * cluster.options.measure_timeout)
      << "one after a wave, two to confirm, one for what can't be told";
}

}  // namespace
}  // namespace lockstep
