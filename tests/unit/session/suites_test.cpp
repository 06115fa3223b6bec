#include "reconciler/session/suites.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "drivers/runtime/pump.hpp"
#include "drivers/runtime/real_executor.hpp"
#include "reconciler/engine/application.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

class TurnToMeasure : public testing::Test {
 protected:
  TurnToMeasure() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-turn-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~TurnToMeasure() override { std::filesystem::remove_all(directory_); }

  Result<FileLock> turn(const std::string& command, const Call& call) {
    return turn_to_measure(directory_, command, call,
                           [this](const Error& taken) { waited_for_.push_back(taken); });
  }
  static OpenedCluster pod_in_a_twin() {
    ClusterSource source;
    source.specs = {LOCKSTEP_SOURCE_DIR "/examples/rail-pod"};
    source.twin = true;
    Result<OpenedCluster> cluster = load_cluster(source);
    if (!cluster || !cluster->valid()) throw std::runtime_error("the example is not valid");
    return *std::move(cluster);
  }

  std::string directory_;
  std::vector<Error> waited_for_;
};

TEST_F(TurnToMeasure, IsNotTakenByAFinishedCall) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = turn("lockstep bench", {.stop = stop.get_token()});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  const auto late = turn("lockstep bench", {.deadline = Time::min(), .stop = {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::transient);
  EXPECT_TRUE(turn("lockstep bench", {}));
}

TEST_F(TurnToMeasure, ExpiredWaitReportsWhoMeasures) {
  const auto first = turn("lockstep apply", {});
  ASSERT_TRUE(first) << first.error().text();
  const auto second =
      turn("lockstep bench",
           {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20), .stop = {}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict) << second.error().text();
  ASSERT_EQ(waited_for_.size(), 1U);
  EXPECT_NE(waited_for_.front().text().find("(lockstep apply)"), std::string::npos)
      << waited_for_.front().text();
}

// A change that no pair crosses, like the first switch of a rollout while all others are pending.
TEST_F(TurnToMeasure, GateWithNothingToMeasureIsNotRun) {
  const OpenedCluster cluster = pod_in_a_twin();
  const auto store = stored(directory_);
  SuiteGate gate(cluster, measure_input(cluster, store->blobs()), directory_, {});
  const Result<GateMeasurement> result = gate.measure({}, {});
  ASSERT_TRUE(result) << result.error().text();
  const GateResult told = gate_result(*result, judge_gate(nullptr, *result));
  EXPECT_EQ(told.verdict, GateVerdict::not_run);
  EXPECT_TRUE(told.why.starts_with("nothing to measure")) << told.why;
}

// A gate that continues only when released, even after its deadline.
class HeldGate final : public Measurer {
 public:
  explicit HeldGate(SuiteGate& gate) : gate_(gate) {}
  Result<GateMeasurement> measure(const GateQuestion&, const Call&) override {
    while (!let_go.load(std::memory_order_relaxed)) std::this_thread::yield();
    Result<GateMeasurement> result = gate_.measure({}, {});
    over.store(true);
    return result;
  }
  // Relaxed: imposes no order, so that ThreadSanitizer detects what the two threads still share.
  std::atomic<bool> let_go{false};
  std::atomic<bool> over{false};

 private:
  SuiteGate& gate_;
};

TEST_F(TurnToMeasure, MeasurementBeyondItsDeadlineDoesNotUseTheStore) {
  const OpenedCluster cluster = pod_in_a_twin();
  auto store = led(directory_);
  History& history = store->history();
  const auto change = history.begin(Plan{}, "ann", "mtu");
  ASSERT_TRUE(change);
  ASSERT_TRUE(history.ticket(
      *change, {"t1", 1, "leaf0", "frr", {{*Path::parse("bgp/max-paths"), {}, Value::integer(64), 0}}}));
  ASSERT_TRUE(history.gate(*change, GateState::owed));
  SuiteGate gate(cluster, measure_input(cluster, store->blobs()), directory_, {});
  HeldGate held(gate);
  ApplyOptions options;
  options.measurer = &held;
  options.measure_timeout = std::chrono::milliseconds(20);
  options.owed = *history.owed();
  Result<Fleet> fleet = Fleet::make({}, {});
  ASSERT_TRUE(fleet);
  {
    RealExecutor executor;
    Application application(*fleet, executor, history, Plan{}, options);
    const ApplyReport report = pump(executor, application);
    EXPECT_TRUE(report.owes);
    EXPECT_EQ(history.owed()->size(), 1U);
    store.reset();
    held.let_go.store(true, std::memory_order_relaxed);
  }
  EXPECT_TRUE(held.over);
  EXPECT_EQ(gate.gates().size(), 1U);
}

// Results measured before the stop are kept, and the rest is reported as not run.
TEST_F(TurnToMeasure, StoppedMeasurementReportsPartialResults) {
  const OpenedCluster cluster = pod_in_a_twin();
  const auto store = stored(directory_);
  std::stop_source stop;
  stop.request_stop();
  const auto outcomes = measure(measure_input(cluster, store->blobs()), {}, {}, stop.get_token());
  ASSERT_TRUE(outcomes) << outcomes.error().text();
  EXPECT_TRUE(cut_short(*outcomes));
  ASSERT_FALSE(outcomes->empty());
  for (const SuiteOutcome& suite : *outcomes) {
    EXPECT_EQ(suite.benchmarks.size(), suite.suite->benchmarks.size());
    EXPECT_EQ(suite.verdict, bench::Verdict::unknown);
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      EXPECT_FALSE(outcome.measurements.empty());
      for (const bench::Measurement& one : outcome.measurements)
        EXPECT_EQ(one.trouble, bench::Trouble::cancelled) << one.subject() << one.error;
    }
  }
}

// The pairs that would be measured. None runs, as the call is stopped before the first.
std::set<std::string> pairs_to_measure(const MeasureInput& input, const MeasureChoice& choice) {
  std::stop_source stop;
  stop.request_stop();
  std::set<std::string> out;
  const auto outcomes = measure(input, choice, {}, stop.get_token());
  EXPECT_TRUE(outcomes) << outcomes.error().text();
  for (const SuiteOutcome& suite : *outcomes)
    for (const BenchmarkOutcome& outcome : suite.benchmarks)
      for (const bench::Measurement& one : outcome.measurements) out.insert(one.subject());
  return out;
}

TEST_F(TurnToMeasure, GateSkipsHostsThatRunJobs) {
  const OpenedCluster cluster = pod_in_a_twin();
  const auto store = stored(directory_);
  MeasureInput input = measure_input(cluster, store->blobs());
  const DeviceIndex gpu2 = cluster.compiled.topology.find_device("gpu2");
  input.busy = [gpu2](DeviceIndex device) { return device == gpu2 ? "Slurm job 42" : ""; };
  EXPECT_TRUE(pairs_to_measure(input, {}).contains("gpu2:rail0 -> gpu3:rail0")) << "a person asked for it";
  const TouchedParts change{{"spine0", "leaf0"}, {}};
  MeasureChoice gate;
  gate.gate = GateChoice{.affected = change, .pending = {}, .whole = change};
  const std::set<std::string> pairs = pairs_to_measure(input, gate);
  EXPECT_TRUE(pairs.contains("gpu1:rail0 -> gpu3:rail0"));
  for (const std::string& pair : pairs) EXPECT_EQ(pair.find("gpu2:"), std::string::npos) << pair;
  gate.gate->whole = gate.gate->affected = TouchedParts{{"gpu1"}, {}};
  gate.gate->left_out = {gpu2};
  gate.gate->controls = 8;
  const std::set<std::string> controls = pairs_to_measure(input, gate);
  EXPECT_EQ(controls.size(), 8U);
  for (const std::string& pair : controls)
    EXPECT_EQ(pair.find("gpu2:") + pair.find("gpu1:"), 2 * std::string::npos) << pair;
}

TEST_F(TurnToMeasure, GateMayTakeTwiceItsBudget) {
  Catalog catalog;
  catalog.validation_suites.resize(2);
  catalog.validation_suites[1].on_change.value.budget = {std::chrono::minutes(10), {}, true};
  EXPECT_EQ(time_to_measure(catalog), std::chrono::minutes(2 * (5 + 10)));
}

}  // namespace
}  // namespace lockstep
