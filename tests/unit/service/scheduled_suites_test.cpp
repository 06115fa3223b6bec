// What the service measures by the clock (`onSchedule`), over simulated devices, with FakeTraffic instead of
// the probes.
#include "reconciler/store/store.hpp"
#include "service_lab.hpp"
#include "tests/unit/session/fake_traffic.hpp"

namespace lockstep {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = ServiceEvent::Kind;

class ScheduledSuites : public ServiceLab {
 protected:
  ScheduledSuites() {
    traffic = [this](const auto& plan, const auto& ends) -> Result<std::vector<bench::Measurement>> {
      began.push_back(executor.now());
      pairs.clear();
      for (const auto& round : plan.rounds)
        for (const bench::Pair& pair : round)
          pairs.insert(ends[pair.from].endpoint.device + " " + ends[pair.to].endpoint.device);
      if (while_measuring) while_measuring();
      auto out = fake.measure(plan, ends);
      if (out)
        for (bench::Measurement& one : *out)
          if (slow.contains(one.from)) one.seen.samples.assign(3, 39e9);
      return out;
    };
  }

  static std::string suite(const std::string& schedule) {
    return std::string(kSuite) + "  onSchedule: " + schedule + "\n";
  }
  void commit_scheduled(const std::string& id, int probing, const std::string& schedule = "{every: 1h}") {
    commit(id, probing, {{"slo.yaml", suite(schedule)}});
  }
  ScheduleStatus shown() const {
    const auto status = service->status();
    if (status->schedules.size() != 1) throw std::runtime_error("one schedule is expected");
    return status->schedules.front();
  }
  std::size_t told(Kind kind) const { return count(kind); }

  FakeTraffic fake{1};
  std::vector<Time> began;
  std::set<std::string> pairs;  // of the last plan: "gpu1 gpu2"
  std::set<std::string> slow;   // endpoints whose bandwidth breaks the SLO
  std::function<void()> while_measuring;
};

TEST_F(ScheduledSuites, ASuiteIsMeasuredEachInterval) {
  commit_scheduled("aaaa1", 0);
  run_for(minutes(59));
  EXPECT_TRUE(began.empty()) << "the gate's measurer stands in for the gate's traffic alone";
  EXPECT_FALSE(shown().last);
  run_for(hours(10));
  EXPECT_GE(began.size(), 9U);
  EXPECT_LE(began.size(), 10U);
  // The hour is between begins; each reads the devices before its traffic, in no time or at most in this.
  const SimulatedDelays reads;
  const auto reads_most = reads.request_max + reads.reply_max;
  for (std::size_t i = 1; i < began.size(); ++i) EXPECT_GE(began[i] - began[i - 1], hours(1) - reads_most);
  EXPECT_EQ(pairs, (std::set<std::string>{"gpu1 gpu2", "gpu2 gpu1"}));
  EXPECT_EQ(told(Kind::measured), began.size());
  ASSERT_TRUE(shown().last);
  EXPECT_EQ(shown().last->verdict, bench::Verdict::pass);
  // The store says so too.
  const auto store = open_store(state(), {.cluster = service->status()->state_name});
  ASSERT_TRUE(store) << store.error().text();
  const auto runs = (*store)->runs().newest(100);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->size(), began.size());
  EXPECT_EQ(runs->front().number, shown().last->run);
  EXPECT_EQ(runs->front().command, "lockstep serve");
  EXPECT_EQ(runs->front().verdict, "pass");
}

TEST_F(ScheduledSuites, ABrokenSloIsToldOnlyIfItIsBrokenTwice) {
  slow = {"gpu1:rail0"};
  while_measuring = [this] {
    if (began.size() == 2) slow.clear();  // the second measurement
  };
  commit_scheduled("aaaa1", 0);
  run_for(minutes(90));
  EXPECT_EQ(began.size(), 2U);
  EXPECT_EQ(told(Kind::slo_broken), 0U);
  EXPECT_EQ(told(Kind::measured), 1U);
  slow = {"gpu1:rail0"};
  run_for(minutes(70));
  EXPECT_EQ(told(Kind::slo_broken), 1U);
  ASSERT_TRUE(shown().last);
  EXPECT_EQ(shown().last->verdict, bench::Verdict::fail);
  EXPECT_NE(shown().last->message.find("gpu1:rail0"), std::string::npos) << shown().last->message;
  EXPECT_EQ(good(), "aaaa1") << "no change is undone for it";
}

TEST_F(ScheduledSuites, ARestartKeepsTheInterval) {
  commit_scheduled("aaaa1", 0);
  run_for(minutes(50));
  for (int i = 0; i < 3; ++i) {
    kill();
    start_service();
    run_for(minutes(2));
  }
  EXPECT_TRUE(began.empty());
  run_for(minutes(15));
  EXPECT_EQ(began.size(), 1U);
  kill();
  start_service();
  run_for(minutes(40));
  EXPECT_EQ(began.size(), 1U);
  EXPECT_EQ(shown().last->verdict, bench::Verdict::pass);
}

TEST_F(ScheduledSuites, AClockThatJumpsDuringAMeasurementRepeatsNothing) {
  commit_scheduled("aaaa1", 0);
  for (const hours jump : {hours(30), hours(-30)}) {
    while_measuring = [&, jump] { executor.wall_epoch += jump; };
    const std::size_t before = began.size();
    for (int i = 0; i < 70 && began.size() == before; ++i) run_for(minutes(1));
    while_measuring = {};
    run_for(minutes(57));
    EXPECT_EQ(began.size(), before + 1) << jump.count();
    run_for(minutes(10));
    EXPECT_EQ(began.size(), before + 2) << jump.count();
  }
}

TEST_F(ScheduledSuites, NothingIsMeasuredWhileItIsSuspended) {
  commit_scheduled("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  run_for(hours(5));
  EXPECT_TRUE(began.empty());
  ASSERT_TRUE(service->resume(ann));
  run_for(minutes(10));
  EXPECT_EQ(began.size(), 1U);
}

TEST_F(ScheduledSuites, HostsThatRunJobsAreLeftOutUnlessItIsAlways) {
  drivers[DriverName::sim].jobs = [](const std::string& device, const Call&) -> std::string {
    return device == "gpu1" ? "Slurm job 42" : "";
  };
  commit_scheduled("aaaa1", 0);
  run_for(hours(4));
  EXPECT_TRUE(began.empty()) << "gpu2 has nobody to measure with";
  EXPECT_EQ(told(Kind::not_measured), 1U) << "told once";
  EXPECT_EQ(shown().why_not, "gpu1 runs jobs and was not measured");
  commit_scheduled("bbbb1", 0, "{every: 1h, when: always}");
  run_for(hours(2));
  EXPECT_FALSE(began.empty());
  EXPECT_EQ(shown().why_not, "");
}

TEST_F(ScheduledSuites, WhereADeviceIsCordonedNothingIsMeasured) {
  commit_scheduled("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->cordon("gpu2", ann));
  run_for(hours(3));
  EXPECT_TRUE(began.empty());
  EXPECT_NE(shown().why_not, "");
}

// A broken SLO is measured twice.
TEST_F(ScheduledSuites, AMeasurementEndsWhereADeviceIsCordoned) {
  slow = {"gpu1:rail0"};
  while_measuring = [this] {
    if (began.size() > 1) return;
    EXPECT_TRUE(service->cordon("gpu2", ann));
  };
  commit_scheduled("aaaa1", 0);
  run_for(minutes(90));
  EXPECT_EQ(began.size(), 1U);
  EXPECT_EQ(told(Kind::slo_broken), 0U);
  EXPECT_NE(shown().why_not, "");
}

TEST_F(ScheduledSuites, ARevisionThatWaitsForAnApprovalHindersNoMeasurement) {
  commit_scheduled("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1,
         {{"slo.yaml", suite("{every: 1h}")},
          {"policy.yaml",
           "apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: manual}\nspec: "
           "{selector: {}, "
           "approval: {none: manual, traffic: manual, reset: manual, reboot: manual}}\n"}});
  run_for(hours(3));
  ASSERT_EQ(state_of("bbbb1"), RevisionState::waiting);
  EXPECT_GE(began.size(), 2U);
}

// A change, a heal and a stop go first. What was measured beside them is no result.
TEST_F(ScheduledSuites, AChangeEndsTheMeasurementAndItIsTriedAgain) {
  commit_scheduled("aaaa1", 0);
  run_for(minutes(59));
  while_measuring = [this] {
    while_measuring = {};
    service->reconcile_now();
    source->commit("bbbb1", files(1, {{"slo.yaml", suite("{every: 1h}")}}));
  };
  run_for(minutes(3));
  expect_probing(1);
  EXPECT_EQ(good(), "bbbb1");
  run_for(minutes(30));
  EXPECT_GE(began.size(), 1U);
  EXPECT_LE(began.size(), 2U);
  EXPECT_EQ(shown().last->verdict, bench::Verdict::pass);
}

TEST_F(ScheduledSuites, ALowBudgetMeasuresNothingAndSaysSo) {
  commit_scheduled("aaaa1", 0, "{every: 1h, budget: 1s}");
  run_for(hours(3));
  EXPECT_TRUE(began.empty());
  EXPECT_NE(shown().why_not.find("the budget left no time for 2 pairs"), std::string::npos)
      << shown().why_not;
}

TEST_F(ScheduledSuites, SpecsWithoutAScheduleMeasureNothing) {
  commit_scheduled("aaaa1", 0);
  run_for(seconds(60));
  EXPECT_EQ(service->status()->schedules.size(), 1U);
  commit("bbbb1", 0);
  run_for(hours(3));
  EXPECT_TRUE(began.empty());
  EXPECT_TRUE(service->status()->schedules.empty());
}

}  // namespace
}  // namespace lockstep
