// A report of a benchmark over RDMA also shows the transport and why, and the counters that increased.
#include "reconciler/report/bench_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

bench::Measurement measured(const std::string& from, const std::string& to, std::uint64_t timeouts) {
  bench::Measurement out;
  out.transport = "rdma";
  out.from = from;
  out.to = to;
  out.value = 380e9;
  out.nominal = 392e9;
  out.path_mtu = 4096;
  out.counters = {{"gpu1:rail0", "local_ack_timeout_err", "ack-timeouts", "victim",
                   "acknowledgements did not come in time", "loss on the path", timeouts}};
  return out;
}

class BenchReport : public ::testing::Test {
 protected:
  BenchReport() {
    suite_.metadata.name.value = "slo";
    benchmark_.name.value = "pairs";
    BenchmarkOutcome outcome;
    outcome.benchmark = &benchmark_;
    outcome.transport = "rdma";
    outcome.transport_why = "every endpoint has an RDMA device";
    outcome.measurements = {measured("gpu1:rail0", "gpu2:rail0", 3), measured("gpu2:rail0", "gpu1:rail0", 4)};
    SuiteOutcome suite;
    suite.suite = &suite_;
    suite.benchmarks.push_back(std::move(outcome));
    outcomes_.push_back(std::move(suite));
  }

  ValidationSuite suite_;
  Benchmark benchmark_;
  std::vector<SuiteOutcome> outcomes_;
};

TEST_F(BenchReport, ExplainsCountersInALine) {
  const std::string text = bench_text(outcomes_, Terminal{});
  EXPECT_NE(
      text.find("gpu1:rail0 is the victim: acknowledgements did not come in time (local_ack_timeout_err "
                "7); look at loss on the path"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("why this transport: every endpoint has an RDMA device"), std::string::npos) << text;
}

TEST_F(BenchReport, JsonHasTheCountersOfEachMeasurement) {
  const nlohmann::json one = bench_json(outcomes_, "sha256:0")["benchmarks"][0];
  EXPECT_EQ(one.value("transportReason", ""), "every endpoint has an RDMA device");
  const nlohmann::json& first = one["measurements"][0];
  EXPECT_EQ(first.value("pathMtu", 0), 4096);
  EXPECT_EQ(first["counters"], (nlohmann::json{{{"end", "gpu1:rail0"},
                                                {"counter", "local_ack_timeout_err"},
                                                {"by", 3},
                                                {"signal", "ack-timeouts"},
                                                {"side", "victim"}}}));
}

// An ApplyReport has such documents inside, which are read alone as well.
TEST_F(BenchReport, DocumentHasItsApiVersionWithoutThePrinter) {
  EXPECT_EQ(bench_json(outcomes_, "sha256:0").value("apiVersion", ""), "lockstep.dev/v1alpha1");
}

TEST_F(BenchReport, PairsLeftOutByAGateAreReportedAndCounted) {
  EXPECT_EQ(bench_text(outcomes_, Terminal{}).find("jobs"), std::string::npos);
  outcomes_[0].gate.busy = {"gpu3", "gpu4", "gpu5"};
  outcomes_[0].gate.left_out = 12;
  outcomes_[0].gate.uncovered = {"a -> b", "c -> d", "e -> f", "g -> h"};
  const std::string text = bench_text(outcomes_, Terminal{});
  EXPECT_NE(text.find("  3 hosts run jobs and were not measured; the budget left no time for 12 pairs\n"
                      "  no pair that was measured crosses: a -> b\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  and 1 more\n"), std::string::npos) << text;
  const nlohmann::json coverage = bench_json(outcomes_, "sha256:0")["coverage"];
  EXPECT_EQ(coverage["hostsWithJobs"], (nlohmann::json{"gpu3", "gpu4", "gpu5"}));
  EXPECT_EQ(coverage["leftOutByBudget"], 12);
  EXPECT_EQ(coverage["uncovered"].size(), 4U);
}

TEST_F(BenchReport, ReasonOfCpuLimitedMeasurementsIsGivenOnce) {
  for (bench::Measurement& one : outcomes_[0].benchmarks[0].measurements) {
    one.cpu_limited = true;
    one.cpu_reason = one.from + " ran or waited for a CPU 91% of the window";
  }
  const std::string text = bench_text(outcomes_, Terminal{});
  const std::string reason = "ran or waited for a CPU";
  const std::size_t at = text.find(reason);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find(reason, at + 1), std::string::npos) << text;
  EXPECT_NE(text.find("    cpu-limited: 2 of 2 measurements, such as: gpu1:rail0 ran or waited"),
            std::string::npos)
      << text;
}

TEST_F(BenchReport, BenchmarkThatTheChangeCannotAffectHasNoTransport) {
  outcomes_[0].benchmarks[0].measurements.clear();
  outcomes_[0].benchmarks[0].transport.clear();
  const std::string text = bench_text(outcomes_, Terminal{});
  EXPECT_NE(text.find("  not run: the change cannot affect it\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("over"), std::string::npos) << text;
}

TEST(BenchSubject, SizeOfAGroupHasItsUnit) {
  bench::Measurement one;
  one.group = "rail0";
  one.bytes = 4194304;
  EXPECT_EQ(one.subject(), "rail0 (4MiB)");
}

class StoppedBench : public BenchReport {
 protected:
  StoppedBench() : pairs_(outcomes_[0].benchmarks[0].measurements) { stop(pairs_[1]); }
  static void stop(bench::Measurement& one) {
    one.trouble = bench::Trouble::cancelled;
    one.error = "stopped";
    one.value = 0;
  }

  std::vector<bench::Measurement>& pairs_;
};

TEST_F(StoppedBench, PairThatWasNotRunHasNotFailed) {
  const std::string text = bench_text(outcomes_, Terminal{});
  EXPECT_NE(text.find("not run: stopped"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu2:rail0   2   ·   ·"), std::string::npos) << text;
  EXPECT_EQ(text.find("failed"), std::string::npos) << text;
  EXPECT_LT(text.find("gpu1:rail0 -> gpu2:rail0"), text.find("gpu2:rail0 -> gpu1:rail0"))
      << "what was not run comes last\n"
      << text;

  const nlohmann::json measured = bench_json(outcomes_, "sha256:0")["benchmarks"][0]["measurements"];
  EXPECT_FALSE(measured[0].contains("trouble"));
  EXPECT_EQ(measured[1].value("trouble", ""), "cancelled");
}

TEST_F(StoppedBench, BenchmarkWithoutAnyRunPairIsOneLine) {
  stop(pairs_[0]);
  const std::string text = bench_text(outcomes_, Terminal{});
  EXPECT_NE(text.find("    not run: stopped\n"), std::string::npos) << text;
}

TEST_F(StoppedBench, EmptySuiteHasNotPassed) {
  pairs_.clear();
  EXPECT_EQ(bench_text(outcomes_, Terminal{}).substr(0, 29), "ValidationSuite/slo  not run\n");
  EXPECT_EQ(bench_json(outcomes_, "sha256:0").value("verdict", ""), "unknown");
}

TEST_F(StoppedBench, BrokenPathHasFailed) {
  pairs_[1].trouble = bench::Trouble::path;
  const std::string text = bench_text(outcomes_, Terminal{});
  EXPECT_NE(text.find("gpu2:rail0   2   ×   ·"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep
