// How the engine handles calls that end with an exception or can't be started, on real threads.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <stdexcept>

#include "cluster.hpp"
#include "drivers/runtime/real_executor.hpp"
#include "reconciler/engine/watch.hpp"
#include "tests/told_gate.hpp"
#include "tests/unit/linux/no_descriptors.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;

const Path kMtu = entry("interface[rail0]/mtu");

class BrokenCalls : public testing::Test {
 protected:
  BrokenCalls() : gpu1(cluster.add("gpu1")) {
    cluster.want("gpu1", kMtu.text(), number(9000));
    gpu1.set(kMtu, number(1500));
    cluster.options.back_off = milliseconds(10);
    cluster.options.poll_min = milliseconds(5);
    cluster.options.settle_time = milliseconds(100);
  }
  std::vector<DeviceState> observe() {
    ObserveRound round(cluster.fleet(), executor);
    return pump(executor, round);
  }
  ApplyReport apply_plan(const Plan& plan) {
    Application application(cluster.fleet(), executor, cluster.ledger, plan, cluster.options);
    return pump(executor, application);
  }
  Cluster cluster;
  SimulatedDevice& gpu1;
  RealExecutor executor;
};

TEST_F(BrokenCalls, ExceptionInAReadIsAnErrorOfItsDevice) {
  cluster.add("gpu2").seen = [](const SimulatedCall&) { throw std::runtime_error("the reply has no end"); };
  const auto states = observe();
  EXPECT_TRUE(states[0].reachable);
  EXPECT_FALSE(states[1].reachable);
  EXPECT_EQ(states[1].why_incomplete(), "gpu2: the call ended with an exception: the reply has no end");
}

TEST_F(BrokenCalls, ReadWithoutADescriptorIsATransientError) {
  std::optional<NoDescriptors> none;
  none.emplace();
  const auto states = observe();
  none.reset();
  ASSERT_EQ(states[0].errors.size(), 1U);
  EXPECT_EQ(states[0].errors[0].kind, ErrorKind::transient);
  EXPECT_EQ(states[0].errors[0].text(), "gpu1: the call was not started: eventfd: Too many open files");
}

TEST_F(BrokenCalls, ExceptionInAWriteIsFollowedByAnObservation) {
  const Plan plan = cluster.plan();
  gpu1.seen = [](const SimulatedCall& call) {  // at the end of the call: the value is written
    if (call.kind == SimulatedCall::Kind::apply) throw std::runtime_error("the reply has no end");
  };
  EXPECT_EQ(apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(gpu1.writes(), 1U);
}

TEST_F(BrokenCalls, WriteThatAlwaysThrowsFailsItsStepWithTheReason) {
  gpu1.refuses = {kMtu.row()};
  const Plan plan = cluster.plan();
  gpu1.seen = [](const SimulatedCall& call) {
    if (call.kind == SimulatedCall::Kind::apply) throw std::runtime_error("the reply has no end");
  };
  const ApplyReport report = apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_NE(report.steps[0].why.find("gpu1: the call ended with an exception: the reply has no end"),
            std::string::npos)
      << report.steps[0].why;
}

TEST_F(BrokenCalls, WriteWithoutADescriptorIsRetriedWithANewTicket) {
  const Plan plan = cluster.plan();
  std::optional<NoDescriptors> none;
  std::atomic<bool> gone = false;
  // From the step's own observation, which covers only its rows, until the write was tried: its ticket
  // exists.
  gpu1.seen = [&](const SimulatedCall& call) {
    if (call.scope != nullptr && !call.scope->rows.empty() && !gone.exchange(true)) none.emplace();
  };
  std::size_t tickets = 0;
  std::function<void()> give_back = [&] {
    tickets = cluster.ledger.tickets.size();
    if (tickets == 0) return void(executor.at(executor.now() + milliseconds(20), give_back));
    // The write is tried on a worker, which a busy machine may delay.
    executor.at(executor.now() + milliseconds(500), [&none] { none.reset(); });
  };
  executor.at(executor.now() + milliseconds(20), give_back);
  const ApplyReport report = apply_plan(plan);
  none.reset();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << report.steps[0].why;
  EXPECT_EQ(tickets, 1U);
  EXPECT_EQ(cluster.ledger.tickets.size(), 2U);
  EXPECT_EQ(gpu1.writes(), 1U);
}

class ThrowingMeasurer final : public ToldGate {
 public:
  Result<GateVerdict> tell(const GateQuestion&) override { throw std::runtime_error("no histogram"); }
};

TEST_F(BrokenCalls, ExceptionInTheGateMakesItsVerdictUnknownWithTheReason) {
  ThrowingMeasurer measurer;
  cluster.options.measurer = &measurer;
  const Plan plan = cluster.plan();
  const ApplyReport report = apply_plan(plan);
  ASSERT_TRUE(report.gate);
  EXPECT_EQ(report.gate->verdict, GateVerdict::unknown);
  EXPECT_EQ(report.gate->why, "the call ended with an exception: no histogram");
}

class ThrowingRemedy final : public Remedy {
 public:
  std::optional<Offer> offer(const Change& effect) const override {
    if (effect.path != entry("bgp/neighbor[swp1]/session")) return std::nullopt;
    return Offer{"restart-bgpd", "Starts bgpd again.", Disruption::none, 1, std::chrono::hours(1)};
  }
  Result<Done> cure(const ChangeSet&, const Call&) override { throw std::runtime_error("no such unit"); }
};

TEST_F(BrokenCalls, ExceptionInARemedyFailsItsStep) {
  ThrowingRemedy remedy;
  cluster.fleet();
  cluster.attached(0).remedy = &remedy;
  cluster.want("gpu1", "bgp/neighbor[swp1]", there());
  cluster.want("gpu1", "bgp/neighbor[swp1]/session", Value::text("Established"));
  const ApplyReport report = apply_plan(cluster.plan());
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
  ASSERT_EQ(report.count(StepState::failed), 1U);
  EXPECT_EQ(report.steps.back().why, "the call ended with an exception: no such unit");
}

class FileWatcher final : public Watcher {
 public:
  explicit FileWatcher(int file) : file_(file) {}
  int descriptor() const override { return file_; }
  Result<Woken> drain() override { return Woken{.all = true, .devices = {}}; }

 private:
  int file_;
};

TEST_F(BrokenCalls, DescriptorThatCannotBePolledEndsTheWatchWithAnError) {
  const int file = open(LOCKSTEP_SOURCE_DIR "/README.md", O_RDONLY | O_CLOEXEC);
  cluster.attached(0).watch = [file]() -> Result<std::shared_ptr<Watcher>> {
    return std::shared_ptr<Watcher>(std::make_shared<FileWatcher>(file));
  };
  std::stop_source stop;
  executor.at(executor.now() + std::chrono::seconds(10), [&] { stop.request_stop(); });
  Watch watch(cluster.fleet(), executor, cluster.origins, cluster.sources, {}, [](const WatchEvent&) {});
  const auto ended = pump(executor, watch, stop.get_token());
  close(file);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(ended.error().text().starts_with("gpu1: can't watch descriptor ")) << ended.error().text();
}

TEST(TransientErrors, AreRetriedWithShortPauses) {
  Cluster cluster;
  SimulatedDevice& gpu1 = cluster.add("gpu1");
  cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
  const Plan plan = cluster.plan();
  gpu1.faults.transient = 1;
  cluster.executor.at(cluster.executor.now() + std::chrono::milliseconds(300),
                      [&gpu1] { gpu1.faults.transient = 0; });
  const ApplyReport report = cluster.apply_plan(plan);
  ASSERT_EQ(report.steps.size(), 1U);
  EXPECT_EQ(report.steps[0].state, StepState::done);
  EXPECT_LT(report.steps[0].took, std::chrono::seconds(5));
}

// Reads may lag, and several reads in immediate succession add no information.
TEST(FoundAsWanted, IsReportedOnlyAfterSpacedReads) {
  Cluster cluster(1, SimulatedDelays{.request_max = {}, .reply_max = {}});
  SimulatedDevice& gpu1 = cluster.add("gpu1");
  cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
  const Plan plan = cluster.plan();
  gpu1.set(entry("interface[rail0]/mtu"), number(9000));
  const ApplyReport report = cluster.apply_plan(plan);
  ASSERT_EQ(report.steps.size(), 1U);
  EXPECT_EQ(report.steps[0].state, StepState::nothing_to_do);
  EXPECT_GE(report.steps[0].took, cluster.options.poll_min);
}

}  // namespace
}  // namespace lockstep
