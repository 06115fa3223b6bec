#include "reconciler/engine/windows.hpp"

#include <date/tz.h>

#include "cluster.hpp"
#include "reconciler/engine/status.hpp"
#include "tests/told_gate.hpp"

namespace lockstep {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

WallTime utc(const std::string& text) {
  std::istringstream in(text);
  date::sys_time<minutes> at;
  in >> date::parse("%F %H:%M", at);
  EXPECT_FALSE(in.fail()) << text;
  return at;
}

std::string text(WallTime at) { return date::format("%a %F %H:%M", date::floor<minutes>(at)); }

std::string text(const Opening& one) { return text(one.opens) + " to " + text(one.closes); }

constexpr std::uint8_t kMonday = 1;
constexpr std::uint8_t kSunday = 64;

PolicyWindow window(int from, int to, std::uint8_t days = 0x7F, std::string timezone = "") {
  return {days, static_cast<std::uint16_t>(from * 60), static_cast<std::uint16_t>(to * 60),
          std::move(timezone)};
}

TEST(Openings, AreOnTheListedDays) {
  const auto all = openings({window(9, 17, kMonday)}, utc("2026-11-21 12:00"));  // a Saturday
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(text(all[0]), "Mon 2026-11-23 09:00 to Mon 2026-11-23 17:00");
}

TEST(Openings, StartWithTheOpenOneAndCoverAWeek) {
  const auto all = openings({window(9, 17)}, utc("2026-11-23 09:00"));
  ASSERT_GE(all.size(), 8U);
  EXPECT_EQ(text(all[0]), "Mon 2026-11-23 09:00 to Mon 2026-11-23 17:00");
  EXPECT_EQ(text(all[7]), "Mon 2026-11-30 09:00 to Mon 2026-11-30 17:00");
  EXPECT_EQ(text(openings({window(9, 17)}, utc("2026-11-23 17:00"))[0]),
            "Tue 2026-11-24 09:00 to Tue 2026-11-24 17:00");
}

TEST(Openings, AcrossMidnightBelongToTheDayOnWhichTheyOpen) {
  const auto all = openings({window(22, 4, kSunday)}, utc("2026-11-23 03:00"));
  EXPECT_EQ(text(all[0]), "Sun 2026-11-22 22:00 to Mon 2026-11-23 04:00");
  EXPECT_EQ(text(all[1]), "Sun 2026-11-29 22:00 to Mon 2026-11-30 04:00");
}

TEST(Openings, AdjacentOnesAreMerged) {
  const auto all = openings({window(9, 12, kMonday), window(12, 17, kMonday), window(11, 13, kMonday)},
                            utc("2026-11-23 12:30"));
  EXPECT_EQ(text(all[0]), "Mon 2026-11-23 09:00 to Mon 2026-11-23 17:00");
}

TEST(Openings, FollowTheirTimeZone) {
  // Central European summer time ends on 2026-10-25: 09:00 is 07:00 UTC before it and 08:00 UTC after it.
  const PolicyWindow berlin = window(9, 17, 0x7F, "Europe/Berlin");
  EXPECT_EQ(text(openings({berlin}, utc("2026-10-24 00:00"))[0]),
            "Sat 2026-10-24 07:00 to Sat 2026-10-24 15:00");
  EXPECT_EQ(text(openings({berlin}, utc("2026-10-26 00:00"))[0]),
            "Mon 2026-10-26 08:00 to Mon 2026-10-26 16:00");
}

TEST(Openings, HandleSkippedAndRepeatedLocalTimes) {
  // On 2026-03-29 Berlin's clocks go from 02:00 to 03:00 (01:00 UTC); on 2026-10-25 from 03:00 back to 02:00.
  const PolicyWindow skipped{0x7F, 150, 300, "Europe/Berlin"};  // 02:30 to 05:00
  EXPECT_EQ(text(openings({skipped}, utc("2026-03-29 00:00"))[0]),
            "Sun 2026-03-29 01:00 to Sun 2026-03-29 03:00");
  EXPECT_EQ(text(openings({skipped}, utc("2026-10-25 00:00"))[0]),
            "Sun 2026-10-25 00:30 to Sun 2026-10-25 04:00");
}

TEST(Openings, AreEmptyForAnUnknownTimeZone) {
  EXPECT_TRUE(openings({window(9, 17, 0x7F, "Mars/Olympus")}, utc("2026-11-23 09:00")).empty());
}

TEST(WhyWait, ReportsTheNextOpeningInTheTimeZoneOfTheWindow) {
  Policy policy;
  policy.name = "careful";
  EXPECT_EQ(why_wait(policy, utc("2026-11-21 12:00"), hours(9)), "");
  policy.windows = {window(9, 17, kMonday, "Europe/Berlin")};
  EXPECT_EQ(why_wait(policy, utc("2026-11-23 09:00"), hours(1)), "");
  EXPECT_EQ(why_wait(policy, utc("2026-11-21 12:00"), hours(1)),
            "waits for a window of RolloutPolicy/careful: the next opens Mon 2026-11-23 09:00 CET");
  EXPECT_EQ(
      why_wait(policy, utc("2026-11-23 15:30"), hours(1)),
      "waits for a window of RolloutPolicy/careful: this one closes Mon 2026-11-23 17:00 CET, and the worst "
      "case with its rollback takes 60 min; the next opens Mon 2026-11-30 09:00 CET");
  EXPECT_EQ(
      why_wait(policy, utc("2026-11-23 09:00"), hours(9)),
      "waits for a window of RolloutPolicy/careful: none is as long as the worst case with its rollback, "
      "9 h 0 min");
}

const char* const kMtu = "interface[rail0]/mtu";

// Two hosts with a desired MTU, under a policy with a window. The clock shows Monday noon.
class Windows : public ::testing::Test {
 protected:
  Windows() {
    for (const char* const host : {"gpu1", "gpu2"}) {
      cluster.add(host);
      cluster.want(host, kMtu, number(9000));
    }
    cluster.policy = Policy{};
    cluster.policy->name = "careful";
    cluster.policy->windows = {window(9, 17, kMonday)};
    clock("2026-11-23 12:00");
  }
  void clock(const std::string& at) {
    cluster.executor.wall_epoch = utc(at) - cluster.executor.now().time_since_epoch();
  }
  Value mtu(const std::string& host) { return cluster.devices[host]->truth().value(entry(kMtu)); }
  Plan shown() {
    return hold_for_windows(cluster.plan(), cluster.fleet(), options(), false, cluster.executor.wall_time());
  }
  ApplyOptions options() {
    ApplyOptions all = cluster.options;
    all.policy_for = cluster.policies();
    return all;
  }

  Cluster cluster;
};

TEST_F(Windows, ChangeStartsInside) {
  EXPECT_TRUE(shown().steps.front().holds.empty());
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
}

TEST_F(Windows, OutsideOneAChangeWaitsDespiteApproval) {
  clock("2026-11-23 17:00");
  cluster.options.approved = {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::drain,
                              Hold::Kind::window};
  ASSERT_EQ(shown().steps.front().holds.size(), 1U);
  EXPECT_EQ(shown().steps.front().holds[0].kind, Hold::Kind::window);
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::waits);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_EQ(report.steps[0].why,
            "waits for a window of RolloutPolicy/careful: the next opens Mon 2026-11-30 09:00 UTC");
  EXPECT_EQ(cluster.devices["gpu1"]->writes(), 0U);
}

TEST_F(Windows, ChangeStartsOnlyIfItsWorstCaseFits) {
  const milliseconds needed = worst_case(cluster.plan(), cluster.fleet(), options(), false);
  EXPECT_GT(needed, cluster.options.step_timeout + cluster.options.settle_time);
  const WallTime closes = utc("2026-11-23 17:00");
  cluster.executor.wall_epoch = closes - needed + milliseconds(1) - cluster.executor.now().time_since_epoch();
  EXPECT_EQ(cluster.apply_plan(cluster.plan()).verdict, ApplyVerdict::waits);
  const Plan plan = cluster.plan();
  cluster.executor.wall_epoch = closes - needed - cluster.executor.now().time_since_epoch();
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
}

TEST_F(Windows, WorstCaseOfAMeasuredChangeIncludesItsRollback) {
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.waves(), 1U);
  EXPECT_GT(worst_case(plan, cluster.fleet(), options(), true),
            2 * worst_case(plan, cluster.fleet(), options(), false) + 2 * cluster.options.measure_timeout);
}

class RefusingMeasurer final : public ToldGate {
 public:
  Result<GateVerdict> tell(const GateQuestion&) override { return GateVerdict::fail; }
};

// Unconfigured devices change in one wave. In the rollback they carry traffic and follow the waves of the
// policy.
TEST(WorstCase, IncludesTheWavesOfARollbackUnderTraffic) {
  Cluster cluster;
  for (int i = 0; i < 8; ++i) {
    const std::string spine = "spine" + std::to_string(i);
    cluster.add(spine, "spine");
    cluster.wiring.redundancy_group[spine] = "spines";
    cluster.want(spine, "interface[swp1]/address[10.0.0." + std::to_string(2 * i) + "/31]", there());
    cluster.want(spine, "interface[swp1]/mtu", number(9000));
  }
  cluster.policy = Policy{};
  cluster.policy->waves = {{false, 1}, {true, 0.5}, {true, 1.0}};
  RefusingMeasurer measurer;
  cluster.options.measurer = &measurer;
  cluster.options.policy_for = cluster.policies();
  const auto bound = [&cluster] {
    const Plan plan = cluster.plan();
    EXPECT_EQ(plan.waves(), 1U);
    return worst_case(plan, cluster.fleet(), cluster.options, true);
  };
  const milliseconds in_three = bound();
  const std::vector<Policy::Share> waves = std::exchange(cluster.policy->waves, {});
  EXPECT_GE(in_three - bound(), 2 * cluster.options.step_timeout);
  cluster.policy->waves = waves;
  const ApplyReport report = cluster.converge();
  ASSERT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.undone.at(0).plan.waves(), 3U);
}

// However the devices misbehave: calls that are lost, late or refused, at any time.
TEST(WorstCase, IsNeverExceeded) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Cluster cluster(seed);
    Random random(seed);
    for (const char* const host : {"gpu1", "gpu2"}) {
      cluster.add(host);
      cluster.want(host, kMtu, number(9000));
      cluster.want(host, "interface[rail0]/rate", number(1000));
    }
    cluster.options.apply_timeout = std::chrono::seconds(1);
    cluster.options.settle_time = std::chrono::seconds(1);
    cluster.options.step_timeout = std::chrono::seconds(20);
    RefusingMeasurer measurer;
    if (seed % 2 == 0) cluster.options.measurer = &measurer;
    const Plan plan = cluster.plan();
    SimulatedDelays& delays = cluster.executor.delays();
    delays.lost_request = seed % 3 == 0 ? 1.0 : random.unit();
    delays.lost_reply = random.unit();
    delays.slow = random.unit();
    for (auto& [name, device] : cluster.devices) {
      device->faults.transient = random.unit();
      device->faults.stale_read = random.unit() / 2;
      device->faults.conflict = random.unit() / 2;
    }
    const Time begun = cluster.executor.now();
    cluster.apply_plan(plan);
    EXPECT_LE(cluster.executor.now() - begun,
              worst_case(plan, cluster.fleet(), cluster.options, cluster.options.measurer != nullptr));
  }
}

TEST_F(Windows, PlanFileIsHeldByTheWindowsAtApplyTime) {
  clock("2026-11-23 17:00");
  const Plan made_outside = shown();
  clock("2026-11-30 09:00");
  EXPECT_EQ(cluster.apply_plan(made_outside).verdict, ApplyVerdict::kept);
}

TEST_F(Windows, OnlyDevicesWithAClosedWindowWait) {
  clock("2026-11-23 17:00");
  cluster.policy_of["gpu2"] = Policy{};
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::waits);
  EXPECT_FALSE(mtu("gpu1"));
  EXPECT_EQ(mtu("gpu2"), number(9000));
}

TEST_F(Windows, DependentsOfAWaitingStepWaitToo) {
  cluster.add("leaf0", "leaf");
  cluster.want("leaf0", "interface[swp1]/mtu", number(9216));  // switches first
  cluster.cable("gpu1", "rail0", "leaf0", "swp1");
  cluster.policy_of["leaf0"] = *cluster.policy;
  cluster.policy.reset();
  clock("2026-11-23 17:00");
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::waits);
  EXPECT_EQ(cluster.devices["gpu1"]->writes(), 0U);
}

TEST_F(Windows, WaitingDifferencesAreNotAppliedAndNotDrifted) {
  ReportChoice choice;
  choice.waits = [](const FleetDevice& device) { return device.name == "gpu1" ? "waits for a window" : ""; };
  const DriftReport report =
      drift_report(cluster.fleet(), cluster.observe(), cluster.origins, cluster.sources, choice);
  EXPECT_EQ(report.count(DriftState::not_applied), 1U);
  EXPECT_EQ(report.items[0].reason, "waits for a window");
  EXPECT_EQ(report.count(DriftState::drifted), 1U);
  EXPECT_EQ(report.waiting, 1U);
  EXPECT_EQ(report.in_sync, 0U);
  cluster.devices["gpu2"]->set(entry(kMtu), number(9000));
  const DriftReport waits =
      drift_report(cluster.fleet(), cluster.observe(), cluster.origins, cluster.sources, choice);
  EXPECT_EQ(waits.drifted, 0U);
  EXPECT_EQ(waits.exit_code(), 2);
}

// Fails when the window is already closed. The rollback still runs.
class LateMeasurer final : public ToldGate {
 public:
  explicit LateMeasurer(SimulatedExecutor& executor) : executor_(executor) {}
  Result<GateVerdict> tell(const GateQuestion&) override {
    executor_.wall_epoch += hours(24);
    return asked++ == 0 ? GateVerdict::fail : GateVerdict::pass;
  }
  int asked = 0;

 private:
  SimulatedExecutor& executor_;
};

TEST_F(Windows, RollbackIsNeverHeld) {
  LateMeasurer measurer(cluster.executor);
  cluster.options.measurer = &measurer;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::undone);
  EXPECT_FALSE(mtu("gpu1"));
}

}  // namespace
}  // namespace lockstep
