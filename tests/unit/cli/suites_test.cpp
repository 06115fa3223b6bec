#include "reconciler/cli/suites.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace lockstep {
namespace {

class TurnToMeasure : public testing::Test {
 protected:
  TurnToMeasure() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-turn-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    ::setenv("LOCKSTEP_STATE_DIR", directory_.c_str(), 1);
    cluster_.id = "pod";
  }
  ~TurnToMeasure() override {
    ::unsetenv("LOCKSTEP_STATE_DIR");
    std::filesystem::remove_all(directory_);
  }

  std::string directory_;
  OpenedCluster cluster_;
};

TEST_F(TurnToMeasure, IsNotTakenByACallThatIsOver) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = turn_to_measure(cluster_, "lockstep bench", {.stop = stop.get_token()});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  const auto late = turn_to_measure(cluster_, "lockstep bench", {.deadline = Time::min(), .stop = {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::transient);
  EXPECT_TRUE(turn_to_measure(cluster_, "lockstep bench", {}));
}

TEST_F(TurnToMeasure, AWaitThatIsOverNamesWhoMeasures) {
  const auto first = turn_to_measure(cluster_, "lockstep apply", {});
  ASSERT_TRUE(first) << first.error().text();
  const auto second = turn_to_measure(
      cluster_, "lockstep bench",
      {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20), .stop = {}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict) << second.error().text();
}

// A change that no pair's path crosses, as the first switch of a rollout while all others wait.
TEST_F(TurnToMeasure, AGateWithNothingToMeasureWasNotRun) {
  Aim aim;
  aim.specs = {LOCKSTEP_SOURCE_DIR "/examples/rail-pod"};
  aim.twin = true;
  const Console console;
  const std::optional<OpenedCluster> cluster = open_cluster(aim, console);
  ASSERT_TRUE(cluster);
  const auto journal = Journal::open(state_directory(*cluster), {.command = "", .read_only = true});
  ASSERT_TRUE(journal) << journal.error().text();
  SuiteGate gate(*cluster, **journal, console);
  const Result<GateResult> result = gate.measure({}, {}, {});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->verdict, GateVerdict::not_run);
  EXPECT_TRUE(result->why.starts_with("nothing to measure")) << result->why;
}

// What was measured before is not thrown away: the rest is told as not run.
TEST_F(TurnToMeasure, WhatIsStoppedIsToldAsFarAsItWent) {
  Aim aim;
  aim.specs = {LOCKSTEP_SOURCE_DIR "/examples/rail-pod"};
  aim.twin = true;
  const std::optional<OpenedCluster> cluster = open_cluster(aim, Console{});
  ASSERT_TRUE(cluster);
  const auto journal = Journal::open(state_directory(*cluster), {.command = "", .read_only = true});
  ASSERT_TRUE(journal) << journal.error().text();
  std::stop_source stop;
  stop.request_stop();
  const auto outcomes = measure(measure_input(*cluster, **journal), {}, {}, stop.get_token());
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

}  // namespace
}  // namespace lockstep
