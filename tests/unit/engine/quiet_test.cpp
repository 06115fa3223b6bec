// A removal waits until the entry is no longer in use.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gate_lab.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/engine/digest.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kClass = "interface[rail0]/class[4]";

// Knows the usage of a class and of the MTU, by functions of the test.
struct TestUsage final : Usage {
  bool knows(Path entry) const override {
    return known && (entry.row() == row("interface[*]/class[*]") || entry.row() == row("interface[*]/mtu"));
  }
  Result<Use> of(Path entry, const Call&) override {
    ++asked;
    return use(entry);
  }
  std::function<Result<Use>(Path)> use;
  bool known = true;
  int asked = 0;
};

// A host whose MTU shrinks or whose lossless class is removed. It sends RoCE.
class InUse : public testing::Test {
 protected:
  InUse() {
    device = &cluster.add("gpu0");
    cluster.attached(0).usage = &usage;
    cluster.wiring.index();
    for (const auto& [path, value] :
         {std::pair{"interface[rail0]/roce-tos", number(106)}, {kMtu, number(9000)}}) {
      device->set(entry(path), value);
      cluster.want("gpu0", path, value);
    }
    usage.use = [this](Path) -> Result<Usage::Use> {
      const bool open = cluster.executor.now() < closed_at;
      return Usage::Use{"queue pairs of rxe0", open ? 12U : 0U, std::nullopt};
    };
    device->seen = [this](const SimulatedCall& call) {
      if (call.kind == SimulatedCall::Kind::apply) written_at.push_back(cluster.executor.now());
    };
  }
  void shrink() { cluster.want("gpu0", kMtu, number(1500)); }
  // Class 4 is lossless and is removed.
  void lose_class() {
    for (const auto& [path, value] : {std::pair{std::string(kClass), there()},
                                      {std::string(kClass) + "/priority", Value::set({"4"})},
                                      {std::string(kClass) + "/dscp", Value::set({"26"})},
                                      {std::string("interface[rail0]/pfc"), Value::set({"4"})}})
      device->set(entry(path), value);
    cluster.want("gpu0", "interface[rail0]/pfc", Value::set({}));
    cluster.claim("gpu0", row("interface[*]/class[*]"), {"rail0"});
    usage.use = [this](Path) -> Result<Usage::Use> {
      const Time until = std::min(cluster.executor.now(), closed_at);
      return Usage::Use{"packets of class 4 of rail0", 0,
                        static_cast<std::uint64_t>((until - Time{}) / milliseconds(10))};
    };
  }
  Time now() { return cluster.executor.now(); }
  Value mtu() { return device->truth().value(entry(kMtu)); }

  Cluster cluster;
  TestUsage usage;
  SimulatedDevice* device = nullptr;
  Time closed_at{};
  std::vector<Time> written_at;
};

TEST_F(InUse, MtuDecreaseWaitsForOpenQueuePairs) {
  shrink();
  const Plan plan = cluster.plan();
  EXPECT_NE(plan_lines(plan).find("waits until no queue pair is open there: open ones keep their path MTU, "
                                  "of up to 4096 B, and the port takes up to 1024 B then"),
            std::string::npos)
      << plan_lines(plan);
  closed_at = now() + seconds(7);
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(mtu(), number(1500));
  ASSERT_EQ(written_at.size(), 1U);
  EXPECT_GE(written_at.front(), closed_at);
}

TEST_F(InUse, MtuThatStillFitsQueuePairsDoesNotWait) {
  closed_at = Time::max();
  cluster.want("gpu0", kMtu, number(4200));  // a path MTU of 4096 and its headers
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(usage.asked, 0);
}

TEST_F(InUse, MtuDecreaseWithUnknownUsageHasANote) {
  usage.known = false;
  shrink();
  const std::string lines = plan_lines(cluster.plan());
  EXPECT_NE(lines.find("cannot see whether a queue pair is open there: open ones keep their path "
                       "MTU, of up to 4096 B, and the port takes up to 1024 B then"),
            std::string::npos)
      << lines;
}

TEST_F(InUse, BusyEntryIsHeldWithTheReason) {
  shrink();
  closed_at = Time::max();
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::asks);
  EXPECT_EQ(report.steps.front().state, StepState::held);
  EXPECT_EQ(report.steps.front().why, "12 queue pairs of rxe0 are open");
  EXPECT_EQ(report.steps.front().words, (std::set<std::string>{"drain"}));
  EXPECT_TRUE(written_at.empty());
  EXPECT_EQ(mtu(), number(9000));
  // Approval covers what is still in use after the timeout. It does not skip the wait.
  cluster.options.approved = *parse_approved("drain");
  const Time begin = now();
  const ApplyReport approved = cluster.converge();
  EXPECT_EQ(approved.verdict, ApplyVerdict::kept);
  EXPECT_EQ(mtu(), number(1500));
  ASSERT_EQ(written_at.size(), 1U);
  EXPECT_GE(written_at.front(), begin + cluster.options.settle_time - seconds(2));
  EXPECT_EQ(approved.steps.front().notes,
            (std::vector<std::string>{"goes on all the same: 12 queue pairs of rxe0 are open"}));
}

TEST_F(InUse, OnTimeoutProceedContinuesWithANote) {
  shrink();
  closed_at = Time::max();
  cluster.policy.emplace();
  cluster.policy->on_timeout = Policy::Undrained::proceed;
  cluster.policy->drain_timeout = seconds(90);
  const Time begin = now();
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(mtu(), number(1500));
  ASSERT_EQ(written_at.size(), 1U);
  EXPECT_GE(written_at.front(), begin + seconds(88));
  ASSERT_EQ(report.steps.front().notes.size(), 1U);
  EXPECT_EQ(report.steps.front().notes.front(), "goes on all the same: 12 queue pairs of rxe0 are open");
}

TEST_F(InUse, OnTimeoutStopSkipsLaterWaves) {
  shrink();
  closed_at = Time::max();
  SimulatedDevice& other = cluster.add("gpu1");
  other.set(entry(kMtu), number(9000));
  cluster.want("gpu1", kMtu, number(1500));
  for (const char* const host : {"gpu0", "gpu1"}) {  // both carry traffic
    cluster.devices[host]->set(entry("interface[rail0]/address[10.0.0.1/31]"), there());
    cluster.want(host, "interface[rail0]/address[10.0.0.1/31]", there());
  }
  cluster.policy.emplace();
  cluster.policy->waves = {{false, 1}, {true, 1}};
  for (const auto& [on_timeout, want] :
       {std::pair{Policy::Undrained::stop, 9000}, {Policy::Undrained::skip, 9000}}) {
    cluster.policy->on_timeout = on_timeout;
    const Plan plan = cluster.plan();
    ASSERT_EQ(plan.waves(), 2U) << plan_lines(plan);
    ASSERT_EQ(plan.steps.front().device, "gpu0") << plan_lines(plan);
    const ApplyReport report = cluster.apply_plan(plan);
    EXPECT_EQ(report.verdict, ApplyVerdict::asks);
    EXPECT_EQ(report.steps.back().state, StepState::skipped);
    EXPECT_EQ(other.truth().value(entry(kMtu)), number(want));
  }
}

// Between two steps of a job no packets pass for a moment.
TEST_F(InUse, RemovedLosslessClassWaitsForTheQuietTime) {
  lose_class();
  const Plan plan = cluster.plan();
  EXPECT_NE(plan_lines(plan).find("waits until no packet is sent in class 4: queue pairs keep the ToS byte "
                                  "that they were opened with"),
            std::string::npos)
      << plan_lines(plan);
  closed_at = now() + seconds(3);
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(device->truth().value(entry(kClass)), Value{});
  ASSERT_FALSE(written_at.empty());
  EXPECT_GE(written_at.back(), closed_at + cluster.options.quiet_time - milliseconds(10));
  // The class never becomes quiet.
  lose_class();
  written_at.clear();
  closed_at = Time::max();
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::asks);
  const auto held = std::ranges::find(report.steps, StepState::held, &StepResult::state);
  ASSERT_NE(held, report.steps.end());
  EXPECT_EQ(held->why, "packets of class 4 of rail0 have passed within the last 5000ms");
  EXPECT_EQ(device->truth().value(entry(kClass)), there());
}

TEST_F(InUse, ClassWithoutCountersDoesNotWaitAndThePlanHasANote) {
  usage.known = false;
  lose_class();
  const Plan plan = cluster.plan();
  EXPECT_NE(plan_lines(plan).find("cannot see whether a packet is sent in class 4"), std::string::npos)
      << plan_lines(plan);
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(usage.asked, 0);
}

TEST_F(InUse, UsageThatCannotBeReadHoldsTheStep) {
  shrink();
  usage.use = [](Path) -> Result<Usage::Use> { return Error{ErrorKind::transient, "the socket is gone"}; };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.steps.front().state, StepState::held);
  EXPECT_EQ(report.steps.front().why, "cannot see what uses it: the socket is gone");
  EXPECT_EQ(mtu(), number(9000));
}

TEST_F(InUse, UnsupportedCountersContinueWithANote) {
  lose_class();
  usage.use = [](Path) -> Result<Usage::Use> {
    return Error{ErrorKind::unsupported, "its driver counts no packets by priority"};
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  std::vector<std::string> notes;
  for (const StepResult& one : report.steps) notes.insert(notes.end(), one.notes.begin(), one.notes.end());
  EXPECT_EQ(notes,
            (std::vector<std::string>{"goes on all the same: cannot see what uses interface[rail0]/class[4]: "
                                      "its driver counts no packets by priority"}));
}

// One step removes both.
TEST_F(InUse, UnknownUsageDoesNotLiftAnotherWait) {
  shrink();
  const std::string other = "interface[rail1]/mtu";
  for (const auto& [path, value] :
       {std::pair{std::string("interface[rail1]/roce-tos"), number(106)}, {other, number(9000)}}) {
    device->set(entry(path), value);
    cluster.want("gpu0", path, value);
  }
  cluster.want("gpu0", other, number(1500));
  usage.use = [](Path entry) -> Result<Usage::Use> {
    if (entry.key(0) == "rail1") return Error{ErrorKind::unsupported, "no RDMA device names it"};
    return Usage::Use{"queue pairs of rxe0", 3, std::nullopt};
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::asks);
  EXPECT_TRUE(written_at.empty());
  EXPECT_EQ(report.steps.front().why, "3 queue pairs of rxe0 are open");
}

// The drain timeout is shorter than the quiet time.
TEST_F(InUse, QuietTimeThatStartedInTimeIsCompleted) {
  lose_class();
  closed_at = now();
  cluster.policy.emplace();
  cluster.policy->drain_timeout = seconds(1);
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  lose_class();
  closed_at = now() + seconds(3);
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::asks);
}

// Also for a change that nobody stands by: a service's.
TEST_F(InUse, AChangeOfAServiceWaitsForTheFullDrain) {
  shrink();
  closed_at = Time::max();
  cluster.policy.emplace();
  cluster.policy->drain_timeout = std::chrono::hours(1);
  cluster.options.choice.person = false;
  const Time begin = now();
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::asks);
  EXPECT_GE(now(), begin + std::chrono::minutes(59));
}

// An automatic healing delays all other healing.
TEST_F(InUse, AutomaticHealingDoesNotWaitForTheFullDrain) {
  shrink();
  closed_at = Time::max();
  cluster.policy.emplace();
  cluster.policy->drain_timeout = std::chrono::hours(1);
  cluster.options.is_heal = true;
  const Time begin = now();
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::asks);
  EXPECT_LT(now(), begin + std::chrono::minutes(2));
}

TEST_F(InUse, PortWithoutRoceStillWaitsForItsQueuePairs) {
  cluster.intents["gpu0"]->want.erase(entry("interface[rail0]/roce-tos"));
  shrink();
  closed_at = Time::max();
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::asks);
  EXPECT_TRUE(written_at.empty());
}

TEST_F(InUse, StopEndsTheWait) {
  shrink();
  closed_at = Time::max();
  std::stop_source stop;
  cluster.executor.at(now() + seconds(2), [&stop] { stop.request_stop(); });
  const Time begin = now();
  const ApplyReport report = cluster.apply_plan(cluster.plan(), {}, stop.get_token());
  EXPECT_EQ(report.verdict, ApplyVerdict::stopped);
  EXPECT_LT(now(), begin + seconds(5));
  EXPECT_TRUE(written_at.empty());
}

TEST_F(InUse, UnrelatedChangesDoNotWait) {
  closed_at = Time::max();
  cluster.want("gpu0", kMtu, number(9216));
  cluster.want("gpu0", "sysctl[net.ipv4.conf.all.arp_ignore]", Value::text("1"));
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(usage.asked, 0);
  // They do not wait beside a change that does.
  cluster.want("gpu0", "sysctl[net.ipv4.conf.all.arp_ignore]", Value::text("0"));
  shrink();
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::asks);
  EXPECT_EQ(device->truth().value(entry("sysctl[net.ipv4.conf.all.arp_ignore]")), Value::text("0"));
}

// A rollback returns to a state that worked before, so it does not wait.
TEST_F(InUse, RollbackDoesNotWait) {
  cluster.want("gpu0", kMtu, number(9216));
  device->set(entry(kMtu), number(1500));
  ToldMeasurer measurer;
  measurer.answer = [&] { return measurer.asked.size() < 3 ? GateVerdict::fail : GateVerdict::pass; };
  cluster.options.measurer = &measurer;
  closed_at = Time::max();
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(mtu(), number(1500));
  EXPECT_EQ(usage.asked, 0);
}

TEST_F(InUse, PlanFileKeepsTheWaitConditions) {
  shrink();
  const Plan plan = cluster.plan();
  const auto again = plan_from_json(to_json(plan));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->steps, plan.steps);
  ASSERT_EQ(plan.steps.front().quiet.size(), 1U);
  Plan edited = plan;
  edited.steps.front().quiet.clear();
  EXPECT_NE(plan_digest(edited), plan.digest);
}

}  // namespace
}  // namespace lockstep
