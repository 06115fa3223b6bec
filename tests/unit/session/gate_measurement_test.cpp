// What a gate compares of what was measured, and what becomes a baseline.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reconciler/session/suites.hpp"
#include "specs/language/quantities_of_fields.hpp"
#include "temporary_folder.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

template <class T>
Said<T> said(T value) {
  Said<T> out;
  out.value = std::move(value);
  out.said = true;
  return out;
}

bench::Measurement measured(const std::string& to, std::vector<double> samples) {
  bench::Measurement out;
  out.benchmark = "pairs";
  out.from = "gpu1:rail0";
  out.to = to;
  out.value = bench::median(samples).value_or(0);
  out.seen.samples = std::move(samples);
  out.nominal = 100;
  return out;
}

class GateMeasured : public ::testing::Test {
 protected:
  GateMeasured() {
    suite_.metadata.name.value = "slo";
    benchmark_.name.value = "pairs";
    benchmark_.slo.push_back(slo("90% of nominal"));
  }
  static Slo slo(const char* at_least) {
    Slo out;
    out.metric = said(Metric::bandwidth);
    out.statistic = said(Statistic::median);
    const Result<Bound> bound = parse_bound(at_least);
    EXPECT_TRUE(bound) << bound.error().text();
    out.at_least = said(*bound);
    return out;
  }
  std::vector<SuiteOutcome> outcomes(std::vector<bench::Measurement> measurements) {
    BenchmarkOutcome outcome;
    outcome.benchmark = &benchmark_;
    outcome.measurements = std::move(measurements);
    SuiteOutcome suite;
    suite.suite = &suite_;
    suite.benchmarks.push_back(std::move(outcome));
    std::vector<SuiteOutcome> out;
    out.push_back(std::move(suite));
    return out;
  }

  ValidationSuite suite_;
  Benchmark benchmark_;
};

TEST_F(GateMeasured, HasAFigureForEachSloOverEachPair) {
  bench::Measurement starved = measured("gpu4:rail0", {50, 50, 50});
  starved.cpu_limited = true;
  starved.cpu_ran = 0.5;
  bench::Measurement dead = measured("gpu5:rail0", {});
  dead.trouble = bench::Trouble::path;
  dead.error = "connect timed out";
  bench::Measurement broken = measured("gpu6:rail0", {});
  broken.trouble = bench::Trouble::tool;
  const GateMeasurement gate = gate_measurement(outcomes(
      {measured("gpu2:rail0", {95, 100, 105}), measured("gpu3:rail0", {50, 50, 50}), starved, dead, broken}));
  ASSERT_EQ(gate.figures.size(), 5U);
  EXPECT_EQ(gate.figures[0].subject, "slo/pairs bandwidth median, gpu1:rail0 -> gpu2:rail0");
  EXPECT_EQ(gate.figures[0].state, SloState::holds);
  EXPECT_EQ(gate.figures[0].figure, 100);
  EXPECT_DOUBLE_EQ(gate.figures[0].noise, 0.1);
  EXPECT_EQ(gate.figures[1].state, SloState::broken);
  EXPECT_EQ(gate.figures[1].why, "50.0%, want >= 90% of nominal");
  EXPECT_EQ(gate.figures[2].state, SloState::unknown);
  EXPECT_EQ(gate.figures[2].figure, 50);
  EXPECT_EQ(gate.figures[2].cpu, 0.01);
  EXPECT_EQ(gate.figures[3].state, SloState::broken);
  EXPECT_EQ(gate.figures[3].figure, 0) << "nothing was carried";
  EXPECT_EQ(gate.figures[4].state, SloState::unknown);
  EXPECT_FALSE(gate.figures[4].figure);
  EXPECT_EQ(gate.selected, 5U);
  EXPECT_EQ(gate.measured, 4U) << "a probe that failed measured nothing";
}

TEST_F(GateMeasured, OfATimeTheMoreTheWorse) {
  benchmark_.slo[0] = Slo{};
  benchmark_.slo[0].metric = said(Metric::latency);
  benchmark_.slo[0].statistic = said(Statistic::median);
  benchmark_.slo[0].at_most = said(*parse_bound("5ms"));
  bench::Measurement one = measured("gpu2:rail0", {0.004, 0.004, 0.004});
  one.metric = Metric::latency;
  EXPECT_DOUBLE_EQ(gate_measurement(outcomes({one})).figures.at(0).figure.value_or(0), 250);
}

// Receive buffers of 4 KiB: what was kept as unknown is the change's.
TEST_F(GateMeasured, AFallThatCostsMoreCpuForAByteIsTheChanges) {
  bench::Measurement before = measured("gpu2:rail0", {100, 100, 100});
  before.cpu_ran = 0.2;
  bench::Measurement after = measured("gpu2:rail0", {5.6, 5.6, 5.6});
  after.cpu_limited = true;
  after.cpu_ran = 0.9;
  const GateMeasurement was = gate_measurement(outcomes({before}));
  EXPECT_EQ(judge_gate(&was, gate_measurement(outcomes({after}))).worst(), Attribution::caused);
  after.cpu_ran = 0.011;
  EXPECT_EQ(judge_gate(&was, gate_measurement(outcomes({after}))).worst(), Attribution::not_validated);
}

// An SLO "of baseline" could never get its first one.
TEST_F(GateMeasured, TheFirstBaselineIsAcceptedAndWhatIsNotSaysWhy) {
  TemporaryFolder folder;
  const auto store = led(folder.path() + "/state");
  benchmark_.slo.push_back(slo("95% of baseline"));
  const auto good = outcomes({measured("gpu2:rail0", {100, 100, 100})});
  const auto accepted = accept_baselines(store->blobs(), good);
  EXPECT_TRUE(accepted) << accepted.error().text();
  EXPECT_TRUE(*store->blobs().kept(baseline_place("slo")));

  const auto slow = accept_baselines(store->blobs(), outcomes({measured("gpu2:rail0", {50, 50, 50})}));
  ASSERT_FALSE(slow);
  EXPECT_EQ(
      slow.error().what,
      "not accepted as the baseline: slo/pairs bandwidth median, gpu1:rail0 -> gpu2:rail0 is fail: 50.0%");
  bench::Measurement starved = measured("gpu2:rail0", {50, 50, 50});
  starved.cpu_limited = true;
  const auto unknown = accept_baselines(store->blobs(), outcomes({starved, starved}));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().what.find("is unknown: 50.0%: cpu-limited (and 1 more)"), std::string::npos)
      << unknown.error().what;
  EXPECT_FALSE(accept_baselines(store->blobs(), outcomes({})));
}

}  // namespace
}  // namespace lockstep
