// What a gate compares of a measurement, and what becomes a baseline.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "reconciler/session/baselines.hpp"
#include "reconciler/session/suites.hpp"
#include "specs/language/quantities_of_fields.hpp"
#include "temporary_folder.hpp"
#include "tests/said.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

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

TEST_F(GateMeasured, HasOneFigurePerSloAndPair) {
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

TEST_F(GateMeasured, ReportsExclusions) {
  std::vector<SuiteOutcome> all = outcomes({measured("gpu2:rail0", {100, 100, 100})});
  EXPECT_EQ(gate_measurement(all).left_out, "");
  all[0].gate.measured_later = 3;
  EXPECT_EQ(gate_measurement(all).left_out, "what wave 3 changes, too, is measured with it");
  all[0].gate.measured_later = 0;
  all[0].gate.busy = {"gpu7"};
  EXPECT_EQ(gate_measurement(all).left_out, "gpu7 runs jobs and was not measured");
  all.push_back(all[0]);
  all[1].gate.busy = {"gpu7", "gpu8", "gpu9"};
  all[1].gate.left_out = 1;
  all[1].gate.uncovered = {"gpu7:rail0 -> leaf0:swp7"};
  const GateMeasurement gate = gate_measurement(all);
  EXPECT_EQ(gate.left_out, "3 hosts run jobs and were not measured; the budget left no time for 1 pair");
  EXPECT_EQ(gate.uncovered, std::vector<std::string>{"gpu7:rail0 -> leaf0:swp7"});
  EXPECT_EQ(judge_gate(nullptr, gate).worst(), Attribution::not_validated);
}

// It must not be kept with exit code 0.
TEST_F(GateMeasured, PathWithoutASuiteOfItsFabricIsNotValidated) {
  std::vector<SuiteOutcome> all = outcomes({measured("gpu2:rail0", {100, 100, 100})});
  all[0].gate.judges = true;
  all[0].gate.by_design = {"leaf0:up0 -> spine0:down0", "spine0:down0 -> leaf0:up0"};
  const Judgement judged = judge_gate(nullptr, gate_measurement(all));
  EXPECT_EQ(judged.worst(), Attribution::uncovered);
  EXPECT_EQ(judged.exit_code(), 3);
  EXPECT_EQ(
      judged.deciding()->why,
      "no benchmark crosses leaf0:up0 -> spine0:down0: no pair of ValidationSuite/slo does (and 1 more)");
  ValidationSuite other = suite_;
  other.metadata.name.value = "cross";
  all.push_back(all[0]);
  all[1].suite = &other;
  all[1].gate.by_design.clear();
  EXPECT_TRUE(gate_measurement(all).without_benchmark.empty()) << "another suite crosses it";
  all[1].gate.judges = false;
  EXPECT_EQ(gate_measurement(all).without_benchmark.size(), 2U) << "that only shows figures";
  other.fabric.value = "storage";
  all[1].gate.judges = true;
  EXPECT_EQ(gate_measurement(all).without_benchmark.size(), 2U) << "it is of another fabric";
}

TEST_F(GateMeasured, LatencyFigureIsInverted) {
  benchmark_.slo[0] = Slo{};
  benchmark_.slo[0].metric = said(Metric::latency);
  benchmark_.slo[0].statistic = said(Statistic::median);
  benchmark_.slo[0].at_most = said(*parse_bound("5ms"));
  bench::Measurement one = measured("gpu2:rail0", {0.004, 0.004, 0.004});
  one.metric = Metric::latency;
  EXPECT_DOUBLE_EQ(gate_measurement(outcomes({one})).figures.at(0).figure.value_or(0), 250);
}

// As with receive buffers of 4 KiB: the fall is caused by the change, not unknown.
TEST_F(GateMeasured, FallWithHigherCpuCostPerByteIsCausedByTheChange) {
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

// A broken bound is not cleared by another bound on the same statistic.
TEST_F(GateMeasured, BoundsOfOneStatisticAreSeparateSubjects) {
  benchmark_.slo = {slo("97% of baseline"), slo("85% of nominal")};
  bench::Measurement one = measured("gpu2:rail0", {90, 90, 90});
  one.accepted = measured("gpu2:rail0", {100, 100, 100}).seen;
  one.nominal = 100;
  const GateMeasurement found = gate_measurement(outcomes({one}));
  ASSERT_EQ(found.figures.size(), 2U);
  EXPECT_EQ(found.figures[0].state, SloState::broken);
  EXPECT_EQ(found.figures[1].state, SloState::holds);
  const GateMeasurement before = gate_measurement(outcomes({measured("gpu2:rail0", {100, 100, 100})}));
  EXPECT_EQ(judge_gate(nullptr, confirmed(&before, found, {{found}, {found}})).worst(),
            Attribution::unattributed);
}

class Baselines : public GateMeasured {
 protected:
  Baselines() {
    benchmark_.slo = {slo("50% of nominal"), slo("95% of baseline")};
    catalog_.validation_suites.push_back(suite_);
  }
  Result<BaselineTaken> accept(std::vector<bench::Measurement> measurements) {
    return accept_baselines(catalog_, store_->blobs(), outcomes(std::move(measurements)));
  }
  // With the references that the next run attaches.
  std::vector<bench::Measurement> attached(std::vector<bench::Measurement> measurements) {
    bench::attach(**stored_baseline(store_->blobs(), *suite_.metadata.name), measurements);
    return measurements;
  }
  double reference(const std::string& to) {
    return bench::figure(*attached({measured(to, {1, 1, 1})}).front().accepted, Statistic::median)
        .value.value();
  }
  static bench::Measurement starved(const std::string& to, double rate) {
    bench::Measurement out = measured(to, {rate, rate, rate});
    out.cpu_limited = true;
    return out;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_ = led(folder_.path() + "/state");
  Catalog catalog_;
};

// An SLO "of baseline" does not prevent the first baseline.
TEST_F(Baselines, FirstIsAcceptedAndRefusalsHaveAReason) {
  const auto accepted = accept({measured("gpu2:rail0", {100, 100, 100})});
  ASSERT_TRUE(accepted) << accepted.error().text();
  EXPECT_EQ(accepted->taken, 1U);
  EXPECT_EQ(reference("gpu2:rail0"), 100);

  const auto slow = accept(attached({measured("gpu2:rail0", {90, 90, 90})}));
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().what,
            "not accepted as the baseline: slo/pairs bandwidth median of baseline, gpu1:rail0 -> gpu2:rail0 "
            "is 90.0%, "
            "want >= 95% of baseline");
  const auto unknown = accept(attached({starved("gpu2:rail0", 90), starved("gpu3:rail0", 90)}));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what,
            "not accepted as the baseline: slo/pairs: 0 of 2 have a figure for it, and 99% are wanted: "
            "gpu1:rail0 -> gpu2:rail0: cpu-limited (and 1 more)");
  EXPECT_FALSE(accept({}));
  EXPECT_EQ(reference("gpu2:rail0"), 100);
}

TEST_F(Baselines, RequireNinetyNinePercentAndKeepTheRest) {
  std::vector<bench::Measurement> all;
  for (int i = 0; i < 100; ++i) all.push_back(measured("gpu" + std::to_string(i), {100, 100, 100}));
  ASSERT_TRUE(accept(all));
  for (bench::Measurement& one : all) one = measured(one.to, {98, 98, 98});
  all[7] = starved("gpu7", 97);
  const auto accepted = accept(attached(all));
  ASSERT_TRUE(accepted) << accepted.error().text();
  EXPECT_EQ(accepted->taken, 99U);
  EXPECT_EQ(accepted->missing, "gpu1:rail0 -> gpu7: cpu-limited");
  EXPECT_EQ(reference("gpu7"), 100);
  EXPECT_EQ(reference("gpu8"), 98);
  all[8] = starved("gpu8", 97);
  EXPECT_FALSE(accept(attached(all)));
  EXPECT_EQ(reference("gpu9"), 98) << "nothing of what is refused is taken";
}

// A renamed host, benchmark or suite must not be slower than what was accepted.
TEST_F(Baselines, NewNameDoesNotLowerTheReference) {
  ASSERT_TRUE(accept({measured("gpu2:rail0", {100, 100, 100}), measured("gpu3:rail0", {98, 98, 98})}));
  const auto host = accept(attached({measured("renamed:rail0", {90, 90, 90})}));
  ASSERT_FALSE(host);
  EXPECT_NE(host.error().what.find("new, and 90.9% of the median of what was accepted of its like"),
            std::string::npos)
      << host.error().what;
  EXPECT_TRUE(accept(attached({measured("new:rail0", {95, 95, 95})}))) << "within the tolerance";

  bench::Measurement renamed = measured("gpu2:rail0", {90, 90, 90});
  renamed.benchmark = "renamed";
  EXPECT_FALSE(accept(attached({renamed})));

  suite_.metadata.name.value = "renamed";
  EXPECT_TRUE(accept({measured("gpu2:rail0", {90, 90, 90})})) << "another suite beside it is its own";
  suite_.metadata.name.value = "again";
  catalog_.validation_suites = {suite_};
  EXPECT_FALSE(accept({measured("gpu2:rail0", {85, 85, 85})}));
}

TEST_F(Baselines, ReAddedPairKeepsItsReference) {
  ASSERT_TRUE(accept({measured("gpu2:rail0", {100, 100, 100}), measured("gpu3:rail0", {100, 100, 100})}));
  ASSERT_TRUE(accept(attached({measured("gpu2:rail0", {100, 100, 100})})));
  EXPECT_EQ(reference("gpu3:rail0"), 100);
  bench::Measurement other = measured("gpu2:rail0", {60, 60, 60});
  other.transport = "rdma";
  ASSERT_TRUE(accept(attached({other}))) << "of another transport it is the first";
  EXPECT_EQ(reference("gpu2:rail0"), 100);
}

// If a pass moved the reference, the tolerance of a single change could be lost many times over.
RC_GTEST_FIXTURE_PROP(Baselines, NoSequenceOfChangesEndsBelowTheTolerance, ()) {
  RC_ASSERT(bool(accept({measured("gpu2:rail0", {100, 100, 100})})));
  const auto losses = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 80));  // per mille
  double rate = 100;
  const auto seen = [this](double at) {
    return gate_measurement(outcomes(attached({measured("gpu2:rail0", {at, at, at})})));
  };
  for (const int loss : losses) {
    const double changed = rate * (1 - loss / 1000.0);
    const GateMeasurement before = seen(rate);
    if (!judge_gate(&before, seen(changed)).undoes()) rate = changed;
  }
  RC_ASSERT(rate >= 95);
}

}  // namespace
}  // namespace lockstep
