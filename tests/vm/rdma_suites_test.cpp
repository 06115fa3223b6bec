// ValidationSuites over RDMA, from YAML to the verdict: two hosts whose NICs are Soft-RoCE in this machine.
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "bench/tcp/run.hpp"
#include "bench/verbs/run.hpp"
#include "reconciler/report/bench_report.hpp"
#include "specs/language/load.hpp"
#include "tests/vm/port_faults.hpp"
#include "tests/vm/roce_cluster.hpp"
#include "tests/vm/roce_ports.hpp"
#include "tests/vm/rxe_lab.hpp"

namespace lockstep {
namespace {

// Host links are /31 and the leaf has the lower address: gpu1 is 10.0.0.1, endpoint 1 of the lab, and gpu2 is
// 10.0.0.3, endpoint 3.
constexpr std::string_view kCluster = R"(
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: first}
spec:
  names: gpu1
  role: host
  drivers: [linux]
  connect: {agent: "https://{name}:7443"}
  interfaces: [{name: h1, platform: connectx-7, rdma: true, speed: 10Gbps}]
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: second}
spec:
  names: gpu2
  role: host
  drivers: [linux]
  connect: {agent: "https://{name}:7443"}
  interfaces: [{name: h3, platform: connectx-7, rdma: true, speed: 10Gbps}]
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-only
  mtu: {host: 4200, fabric: 9216}
  cabling:
    - {from: "gpu1:h1", to: "leaf0:swp1", by: rail, cableLength: 100m}
    - {from: "gpu2:h3", to: "leaf0:swp2", by: rail, cableLength: 100m}
  addressing: {hosts: 10.0.0.0/24, loopbacks: 10.255.0.0/24}
  roceProfile: lossless
---
)";
constexpr std::string_view kSuite = R"(---
apiVersion: lockstep.dev/v1alpha1
kind: ValidationSuite
metadata: {name: backend-slo}
spec:
  fabric: backend
)";

class RdmaSuites : public RxeLab {
 protected:
  RdmaSuites() : RxeLab(3) {}

  // `suite`: the rest of the ValidationSuite.
  void measure(const std::string& suite, const MeasureChoice& choice = {}) {
    loaded_ = load_text("cluster.yaml", std::string(kCluster)
                                                .append(kRoceLeaf)
                                                .append(kRoceProfile)
                                                .append("  congestionControl: dcqcn\n")
                                                .append(kSuite) +
                                            suite);
    for (const Diagnostic& one : loaded_.diagnostics) FAIL() << one.message;
    compiled_ = compile(loaded_.catalog);
    auto made = lockstep::measure({loaded_.catalog, compiled_, {}, {}, {}, "hash"}, choice, {}, {});
    ASSERT_TRUE(made) << made.error().text();
    outcomes_ = *std::move(made);
    ASSERT_EQ(outcomes_.size(), 1U);
    std::printf("%s\n", text().c_str());
  }
  std::string text() const { return bench_text(outcomes_, Terminal{}); }
  const BenchmarkOutcome& benchmark(std::size_t at) const { return outcomes_.front().benchmarks.at(at); }

  // The sum of a signal over all measurements of a benchmark, at one end.
  std::uint64_t moved(const BenchmarkOutcome& of, const std::string& end, const std::string& signal) const {
    std::uint64_t out = 0;
    for (const bench::Measurement& one : of.measurements)
      for (const bench::CounterMove& move : one.counters)
        if (move.end == end && move.signal == signal) out += move.by;
    return out;
  }
  static std::uint64_t packets_received(const std::string& device) {
    std::uint64_t out = 0;
    std::ifstream("/sys/class/infiniband/" + device + "/ports/1/hw_counters/rcvd_pkts") >> out;
    return out;
  }

  Loaded loaded_;
  Compiled compiled_;
  std::vector<SuiteOutcome> outcomes_;
};

TEST_F(RdmaSuites, EveryWorkloadOfPairsRunsAndMeetsItsSlo) {
  measure(R"(
  transport: rdma
  benchmarks:
    - {name: write, workload: write-bandwidth, duration: 600ms,
       slo: [{metric: bandwidth, statistic: min, atLeast: 0.1% of nominal}]}
    - {name: read, workload: read-bandwidth, duration: 200ms,
       slo: [{metric: bandwidth, statistic: median, atLeast: 10Mbps}]}
    - {name: send, workload: stream, transport: auto, duration: 200ms,
       slo: [{metric: bandwidth, statistic: median, atLeast: 10Mbps}]}
    - {name: latency, workload: write-latency, duration: 200ms,
       slo: [{metric: latency, statistic: median, atMost: 5ms}]}
    - {name: ring, workload: ring-allreduce, slo: [{metric: busbw, statistic: p5, atLeast: 1Mbps}]}
)");
  for (std::size_t i = 0; i < 4; ++i) {
    const BenchmarkOutcome& one = benchmark(i);
    EXPECT_EQ(one.verdict.verdict, bench::Verdict::pass) << one.benchmark->name.value;
    EXPECT_EQ(one.transport, "rdma");
    ASSERT_EQ(one.measurements.size(), 2U);
    EXPECT_EQ(one.measurements[0].path_mtu, 4096U);
    EXPECT_EQ(one.coverage.pairs, 2U);
    EXPECT_EQ(one.coverage.links, 4U) << "both ways of both cables";
  }
  EXPECT_EQ(benchmark(2).transport_why, "every endpoint has an RDMA device");
  EXPECT_NEAR(benchmark(0).measurements[0].nominal.value_or(0), 1e10 * 65536 / (65536 + 16 * 82 + 16), 1);
  EXPECT_GT(benchmark(3).measurements[0].seen.count(), 300U);
  EXPECT_EQ(benchmark(4).verdict.verdict, bench::Verdict::unknown);
  EXPECT_NE(text().find("ring-allreduce does not run over RDMA"), std::string::npos);
  const auto json = bench_json(outcomes_, "hash");
  EXPECT_EQ(json["benchmarks"][0].value("transport", ""), "rdma");
  EXPECT_EQ(json["benchmarks"][0]["measurements"][0].value("pathMtu", 0), 4096);
  EXPECT_TRUE(json["benchmarks"][0]["measurements"][0]["counters"].is_array());
}

TEST_F(RdmaSuites, AGateUsesTheSameFlowsInEachRound) {
  const auto ports = [this](std::optional<std::uint64_t> flows) {
    RoceSourcePorts packets(endpoint(0).port);
    MeasureChoice choice;
    choice.flows = flows;
    measure(R"(
  transport: rdma
  benchmarks:
    - {name: write, workload: write-bandwidth, duration: 100ms,
       slo: [{metric: bandwidth, statistic: median, atLeast: 1Mbps}]}
)",
            choice);
    return packets.seen();
  };
  // Three repeats in one direction, and acknowledgements of the three in the other.
  const std::set<unsigned> first = ports(1);
  EXPECT_EQ(first.size(), 6U);
  EXPECT_EQ(ports(1), first);
  EXPECT_NE(ports(2), first);
  EXPECT_NE(ports(std::nullopt), ports(std::nullopt));
}

TEST_F(RdmaSuites, AMissedSloIsViolatedAndNamesThePair) {
  // 40 Mb/s of 10 Gb/s in one direction; the other direction is limited by the machine only.
  mark_behind_40mbps(endpoint(0).port);
  measure(R"(
  transport: rdma
  benchmarks:
    - {name: write, workload: write-bandwidth, duration: 300ms,
       slo: [{metric: bandwidth, statistic: median, atLeast: 1% of nominal}]}
)");
  const bench::SloVerdict& slo = benchmark(0).verdict.slo.at(0);
  EXPECT_EQ(slo.verdict, bench::Verdict::fail) << slo.reason;
  EXPECT_EQ(slo.worst, "gpu1:h1 -> gpu2:h3");
  // The ToS of the profile has ECT, so RED marks instead of dropping.
  EXPECT_GT(moved(benchmark(0), "gpu1:h1", "ecn-marked-here"), 0U);
  EXPECT_NE(text().find("gpu1:h1 is a contributor: its own port's queue set CE marks (qdisc_marked "),
            std::string::npos);
}

TEST_F(RdmaSuites, ReportsLossAtTheEndThatSuffersIt) {
  lose(endpoint(0).port, 0.01);
  measure(R"(
  transport: rdma
  benchmarks:
    - {name: write, workload: write-bandwidth, duration: 300ms,
       slo: [{metric: bandwidth, statistic: median, atLeast: 1Kbps}]}
)");
  EXPECT_EQ(benchmark(0).verdict.verdict, bench::Verdict::pass);
  EXPECT_GT(moved(benchmark(0), "gpu1:h1", "discarded-here"), 0U);
  EXPECT_GT(moved(benchmark(0), "gpu1:h1", "sequence-naks-received") +
                moved(benchmark(0), "gpu1:h1", "retransmits"),
            0U)
      << "the sender heard of it";
  EXPECT_NE(text().find("gpu1:h1 is the victim: "), std::string::npos);
}

TEST_F(RdmaSuites, APeerThatDiesMidRunViolatesTheSloAndIsReported) {
  const std::uint64_t before = packets_received("rxe3");
  std::jthread breaker([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      if (packets_received("rxe3") > before + 1000)
        return set_admin(RxeFabric::switch_netns(), endpoint(2).far_port, false);
  });
  measure(R"(
  transport: rdma
  benchmarks:
    - {name: write, workload: write-bandwidth, duration: 3s,
       slo: [{metric: bandwidth, statistic: median, atLeast: 1Kbps}]}
)");
  const bench::SloVerdict& slo = benchmark(0).verdict.slo.at(0);
  EXPECT_EQ(slo.verdict, bench::Verdict::fail) << slo.reason;
  EXPECT_EQ(slo.worst, "gpu1:h1 -> gpu2:h3");
  EXPECT_NE(slo.reason.find("gpu1:h1: RETRY_EXC_ERR: the peer did not acknowledge"), std::string::npos)
      << slo.reason;
  // The other direction is not started: it has no figure, and is not at fault.
  EXPECT_EQ(benchmark(0).measurements.at(1).trouble, bench::Trouble::transport);
}

TEST_F(RdmaSuites, AnObstacleGivesAnUnknownVerdictWithAReason) {
  set_mtu(RxeFabric::switch_netns(), endpoint(2).far_port, 1500);
  measure(R"(
  transport: rdma
  benchmarks:
    - {name: write, workload: write-bandwidth,
       slo: [{metric: bandwidth, statistic: min, atLeast: 1Kbps}]}
)");
  const bench::SloVerdict& slo = benchmark(0).verdict.slo.at(0);
  EXPECT_EQ(slo.verdict, bench::Verdict::unknown);
  EXPECT_NE(slo.reason.find("packets of 4156 bytes do not pass to 10.0.0."), std::string::npos) << slo.reason;
  EXPECT_EQ(benchmark(0).transport, "");
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "probe") return lockstep::bench::probe_main(argc - 1, argv + 1);
  if (word == "verbs-probe") return lockstep::bench::verbs::verbs_probe_main(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
