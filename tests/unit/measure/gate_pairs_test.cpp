// The pairs of a gate on the example cluster and on small ones: which are measured when, within which budget,
// and how the others are reported.
#include "reconciler/measure/gate_pairs.hpp"

#include "tests/unit/measure/lab.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Texts = std::vector<std::string>;

// examples/rail-pod: gpu1-4 with rail0 at leaf0 and rail1 at leaf1, two spines. Benchmark 0: all pairs, 1:
// latency of same-rail pairs, 2: a ring per rail.
class RailPodGate : public testing::Test {
 protected:
  static constexpr std::size_t kAll = 0;
  static constexpr std::size_t kLatency = 1;
  static constexpr std::size_t kRings = 2;
  GateChoice change(const std::set<std::string>& devices) const {
    return {.affected = pod.whole(devices), .pending = {}, .whole = pod.whole(devices)};
  }
  MeasuredCluster pod = MeasuredCluster::of_specs(LOCKSTEP_SOURCE_DIR "/examples/rail-pod");
};

TEST_F(RailPodGate, ASysctlOnOneHostIsMeasuredOverAllItsPairs) {
  PlannedGate gate(pod, change({"gpu1"}));
  EXPECT_EQ(gate.measured(kAll).size(), 24U) << "2 rails, 6 others, both ways";
  for (const std::string& pair : gate.measured(kAll))
    EXPECT_NE(pair.find("gpu1:"), std::string::npos) << pair;
  EXPECT_EQ(gate.measured(kLatency).size(), 12U);
  EXPECT_EQ(gate.rings(kRings), 2U);
  EXPECT_EQ(gate.coverage().uncovered, Texts{});
  EXPECT_EQ(gate.coverage().left_out, 0U);
}

TEST_F(RailPodGate, ASpinesChangeIsMeasuredOverAllPairsAcrossIt) {
  PlannedGate gate(pod, change({"spine0"}));
  EXPECT_EQ(gate.measured(kAll).size(), 24U) << "from leaf to leaf";
  EXPECT_EQ(gate.measured(kLatency).size(), 0U);
  EXPECT_EQ(gate.rings(kRings), 0U);
  EXPECT_EQ(gate.coverage().uncovered, Texts{});
  // No pair from leaf1 to leaf0 could be measured.
  const auto from_leaf1 = [](const std::string& pair) { return pair.find("rail1 ->") != std::string::npos; };
  EXPECT_EQ(gate.coverage(from_leaf1).uncovered,
            (Texts{"leaf1:up0 -> spine0:down1", "spine0:down0 -> leaf0:up0"}));
}

TEST_F(RailPodGate, TheFirstBringUpIsMeasuredAtItsEndAndMissesNothingBefore) {
  GateChoice first{.affected = pod.whole({"gpu1"}),
                   .pending = pod.whole({"gpu2", "gpu3", "gpu4", "leaf0", "leaf1", "spine0", "spine1"}),
                   .whole = pod.all()};
  first.pending_until = 3;
  PlannedGate wave(pod, first);
  EXPECT_TRUE(wave.measured(kAll).empty());
  EXPECT_EQ(wave.coverage().uncovered, Texts{}) << "all is judged at the end";
  EXPECT_EQ(wave.coverage().by_design, Texts{});
  EXPECT_EQ(wave.coverage().measured_later, 3U);
  EXPECT_EQ(wave.pairs.why_left_out(pod.suite().benchmarks[kAll], kAll),
            "affected, and measured with wave 3, which changes the same paths");
  PlannedGate last(pod, {.affected = pod.all(), .pending = {}, .whole = pod.all()});
  EXPECT_EQ(last.measured(kAll).size(), 48U);
  EXPECT_EQ(last.coverage().uncovered, Texts{});
  EXPECT_EQ(last.coverage().measured_later, 0U);
  PlannedGate spine(pod, change({"spine0"}));
  EXPECT_EQ(spine.pairs.why_left_out(pod.suite().benchmarks[kLatency], kLatency), "") << "rails don't meet";
}

TEST_F(RailPodGate, ReportsLinksThatNoSelectedPairCanCrossSeparately) {
  pod.suite().benchmarks.erase(pod.suite().benchmarks.begin());
  PlannedGate spine(pod, change({"spine0"}));
  EXPECT_EQ(spine.coverage().uncovered, Texts{}) << "rails don't meet";
  EXPECT_EQ(spine.coverage().by_design, (Texts{"leaf0:up0 -> spine0:down0", "leaf1:up0 -> spine0:down1",
                                               "spine0:down0 -> leaf0:up0", "spine0:down1 -> leaf1:up0"}));
  EXPECT_TRUE(spine.coverage().judges);
  PlannedGate leaf(pod, change({"leaf0"}));
  EXPECT_EQ(leaf.measured(0).size(), 12U);
  EXPECT_EQ(leaf.coverage().uncovered, Texts{});
  const auto any = [](const std::string&) { return true; };
  EXPECT_EQ(leaf.coverage(any).uncovered.size(), 8U) << "its hosts' links, both ways";
  EXPECT_EQ(leaf.coverage().by_design.size(), 4U) << "its links to the spines, both ways";
  EXPECT_EQ(PlannedGate(pod, change({"gpu1"})).coverage().by_design, Texts{});
}

TEST_F(RailPodGate, ABenchmarkWithoutSloCoversNothing) {
  pod.suite().benchmarks.resize(1);
  pod.suite().benchmarks[0].slo.clear();
  PlannedGate gate(pod, change({"gpu1"}));
  EXPECT_FALSE(gate.measured(kAll).empty());
  EXPECT_EQ(gate.coverage().uncovered, Texts{}) << "and no gate asks it";
  EXPECT_FALSE(gate.coverage().judges);
}

TEST_F(RailPodGate, LaterWavesOfARunUseTheSamePairs) {
  PlannedGate before(pod, change({"leaf0", "gpu1"}));
  GateChoice wave{.affected = pod.whole({"leaf0"}),
                  .pending = pod.whole({"gpu1"}),
                  .whole = pod.whole({"leaf0", "gpu1"})};
  PlannedGate first(pod, wave);
  for (const std::string& pair : first.measured(kAll)) {
    EXPECT_TRUE(before.measured(kAll).contains(pair)) << pair;
    EXPECT_EQ(pair.find("gpu1:"), std::string::npos) << pair;
  }
  EXPECT_EQ(first.coverage().uncovered, Texts{}) << "gpu1's link is pending";
  const auto one = [&](const PreparedBenchmark&, const bench::Pair& pair) {
    return before.text(pair) == "gpu2:rail0 -> gpu3:rail0";
  };
  PlannedGate again(pod, wave, {}, one);
  EXPECT_EQ(again.measured(kAll), (std::set<std::string>{"gpu2:rail0 -> gpu3:rail0"}));
}

// Everything affected is measured, but only the parts of the change count for its coverage.
TEST_F(RailPodGate, ScopeAllMeasuresAll) {
  pod.suite().on_change.value.scope = said(RerunScope::all);
  PlannedGate gate(pod, change({"gpu1"}));
  EXPECT_EQ(gate.measured(kAll).size(), 48U);
  const auto far = [](const std::string& pair) { return pair.find("gpu1:") == std::string::npos; };
  EXPECT_EQ(gate.coverage(far).uncovered, Texts{});
}

TEST_F(RailPodGate, TheBudgetBoundsTheRoundsAndOmissionsAreReported) {
  const milliseconds whole = PlannedGate(pod, change({"gpu1"})).takes();
  EXPECT_LE(whole, kGateBudget);
  for (const int seconds_left : {60, 30, 12, 6, 3, 1}) {
    pod.suite().on_change.value.budget = said<Duration>(seconds(seconds_left));
    PlannedGate gate(pod, change({"gpu1"}));
    EXPECT_LE(gate.takes(), seconds(seconds_left));
    const GateCoverage told = gate.coverage();
    // Two seconds for each of the three are enough for one round of pairs, which crosses all links of gpu1.
    EXPECT_EQ(told.uncovered.empty(), seconds_left >= 6) << seconds_left;
    if (whole <= seconds(seconds_left)) {
      EXPECT_EQ(told.left_out, 0U) << seconds_left;
    } else if (seconds_left <= 12) {
      EXPECT_GT(told.left_out, 0U) << seconds_left;
    }
    for (const std::string& one : told.uncovered)
      EXPECT_TRUE(one.ends_with(" (the budget leaves no time for it)")) << one;
  }
}

TEST_F(RailPodGate, AHostThatRunsJobsIsLeftOutAndCounted) {
  GateChoice asked = change({"leaf0"});
  asked.left_out = {pod.device("gpu2")};
  PlannedGate gate(pod, asked, {{pod.device("gpu2"), "Slurm job 42"}});
  for (std::size_t benchmark = 0; benchmark < 2; ++benchmark) {
    EXPECT_FALSE(gate.measured(benchmark).empty());
    for (const std::string& pair : gate.measured(benchmark))
      EXPECT_EQ(pair.find("gpu2:"), std::string::npos) << pair;
  }
  EXPECT_EQ(gate.rings(kRings), 0U) << "a ring has all its hosts or does not run";
  EXPECT_EQ(gate.coverage().busy, Texts{"gpu2"});
  EXPECT_EQ(gate.coverage().uncovered, Texts{}) << "it only hangs on the leaf that changed";
}

TEST_F(RailPodGate, AChangedHostThatRunsJobsIsNotValidated) {
  GateChoice asked = change({"gpu1", "gpu2"});
  asked.left_out = {pod.device("gpu2")};
  PlannedGate gate(pod, asked, {{pod.device("gpu2"), "Slurm job 42"}});
  EXPECT_EQ(gate.coverage().uncovered, (Texts{"gpu2:rail0 -> leaf0:swp2 (gpu2 runs jobs: Slurm job 42)",
                                              "gpu2:rail1 -> leaf1:swp2 (gpu2 runs jobs: Slurm job 42)",
                                              "leaf0:swp2 -> gpu2:rail0 (gpu2 runs jobs: Slurm job 42)",
                                              "leaf1:swp2 -> gpu2:rail1 (gpu2 runs jobs: Slurm job 42)"}));
}

TEST_F(RailPodGate, WhereAllAffectedHostsRunJobsNothingIsValidated) {
  GateChoice asked = change({"leaf0"});
  BusyHosts jobs;
  for (const char* const host : {"gpu1", "gpu2", "gpu3", "gpu4"}) {
    jobs[pod.device(host)] = "Slurm job 42";
    asked.left_out.insert(pod.device(host));
  }
  PlannedGate gate(pod, asked, jobs);
  EXPECT_TRUE(gate.measured(kAll).empty());
  const GateCoverage told = gate.coverage();
  EXPECT_EQ(told.busy.size(), 4U);
  ASSERT_FALSE(told.uncovered.empty());
  EXPECT_EQ(told.uncovered.front(), "leaf0:up0 -> spine0:down0 (the hosts that could send over it run jobs)");
}

// A job that starts while the change is rolled out: its pairs are left out, the others stay the same.
TEST_F(RailPodGate, AJobThatStartsLaterChangesNoOtherPair) {
  PlannedGate before(pod, change({"leaf0"}));
  PlannedGate after(pod, change({"leaf0"}), {{pod.device("gpu3"), "a process computes on a GPU"}});
  std::set<std::string> left;
  for (const std::string& pair : before.measured(kAll))
    if (pair.find("gpu3:") == std::string::npos) left.insert(pair);
  EXPECT_EQ(after.measured(kAll), left);
  GateChoice gone = change({"leaf0"});
  gone.left_out = {pod.device("gpu3")};
  EXPECT_EQ(PlannedGate(pod, gone).measured(kAll), left) << "one that ended since stays left out";
}

TEST_F(RailPodGate, ARemedyBeyondThePlanIsMeasuredToo) {
  GateChoice asked = change({"gpu1"});
  asked.affected = pod.whole({"gpu1", "gpu4"});
  PlannedGate gate(pod, asked);
  EXPECT_TRUE(gate.measured(kAll).contains("gpu4:rail0 -> gpu2:rail1"));
  EXPECT_EQ(gate.coverage().uncovered, Texts{});
}

TEST_F(RailPodGate, ControlPairsAvoidTheChange) {
  const GateChoice asked = change({"gpu1"});
  PlannedGate gate(pod, asked);
  std::size_t left = 8;
  gate.pairs.plan_controls(gate.all, left);
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(gate.measured(kAll).size(), 8U);
  for (const std::string& pair : gate.measured(kAll))
    EXPECT_EQ(pair.find("gpu1:"), std::string::npos) << pair;
  EXPECT_TRUE(gate.measured(kLatency).empty());
  EXPECT_EQ(gate.rings(kRings), 0U);
}

// Pairs that an earlier change left unvalidated are measured whatever this change touches, and take
// precedence in the budget.
TEST_F(RailPodGate, NamedPairsAreMeasuredFirst) {
  pod.suite().on_change.value.budget = said<Duration>(seconds(6));
  GateChoice asked = change({"gpu1"});
  const std::string suite = *pod.suite().metadata.name;
  asked.also = {{suite, "pairs", "gpu3:rail0", "gpu4:rail1"},
                {suite, "allreduce", "", ""},
                {suite, "pairs", "gpu9:rail0", "gpu4:rail1"},
                {"another", "pairs", "gpu3:rail1", "gpu4:rail1"}};
  PlannedGate gate(pod, asked);
  EXPECT_TRUE(gate.measured(kAll).contains("gpu3:rail0 -> gpu4:rail1"));
  EXPECT_FALSE(gate.measured(kAll).contains("gpu3:rail1 -> gpu4:rail1")) << "another suite's";
  EXPECT_GT(gate.coverage().left_out, 0U) << "or the budget proves nothing";
  EXPECT_LE(gate.takes(), seconds(6));
  pod.suite().on_change.value.budget = {};
  asked.affected = asked.whole = {};
  EXPECT_EQ(PlannedGate(pod, asked).rings(kRings), 2U);
}

TEST_F(RailPodGate, AHostInMaintenanceIsNeitherMeasuredNorUncovered) {
  GateChoice asked = change({"leaf0", "gpu2"});
  asked.in_maintenance = {pod.device("gpu2")};
  asked.also = {{*pod.suite().metadata.name, "pairs", "gpu2:rail0", "gpu4:rail0"}};
  PlannedGate gate(pod, asked);
  for (const std::size_t benchmark : {kAll, kLatency}) {
    EXPECT_FALSE(gate.measured(benchmark).empty());
    for (const std::string& pair : gate.measured(benchmark))
      EXPECT_EQ(pair.find("gpu2:"), std::string::npos) << pair;
  }
  EXPECT_EQ(gate.rings(kRings), 0U);
  EXPECT_EQ(gate.coverage().uncovered, Texts{});
  EXPECT_EQ(gate.coverage().by_design, Texts{});
  EXPECT_TRUE(gate.coverage().busy.empty());
  std::size_t left = 100;
  gate.pairs.plan_controls(gate.all, left);
  for (const std::string& pair : gate.measured(kAll))
    EXPECT_EQ(pair.find("gpu2:"), std::string::npos) << pair;
}

TEST_F(RailPodGate, HostsBehindALeafInMaintenanceAreNeitherMeasuredNorUncovered) {
  GateChoice asked = change({"gpu1", "spine0"});
  asked.in_maintenance = {pod.device("leaf0")};
  PlannedGate gate(pod, asked);
  EXPECT_EQ(gate.measured(kAll).size(), 6U) << "gpu1's other rail, both ways";
  for (const std::string& pair : gate.measured(kAll))
    EXPECT_EQ(pair.find(":rail0"), std::string::npos) << pair;
  EXPECT_EQ(gate.coverage().uncovered, Texts{});
  EXPECT_EQ(gate.coverage().by_design, Texts{});
}

// Two leaves with one spine in maintenance between them: pairs that must cross it, and pairs that can use a
// second spine if there is one.
TEST(MaintainedSpineGate, LeavesOutOnlyPairsThatMustCrossIt) {
  for (const bool another : {false, true}) {
    SmallFabric made;
    const DeviceIndex left = made.add(DeviceRole::leaf);
    const DeviceIndex right = made.add(DeviceRole::leaf);
    const DeviceIndex spine = made.add(DeviceRole::spine);
    for (const DeviceIndex leaf : {left, left, right}) made.link(made.add(DeviceRole::host), leaf);
    made.link(left, spine);
    made.link(right, spine);
    if (another) {
      const DeviceIndex second = made.add(DeviceRole::spine);
      made.link(left, second);
      made.link(right, second);
    }
    made.settle();
    MeasuredCluster cluster = MeasuredCluster::of_topology(made.topology);
    GateChoice asked{.affected = cluster.all(), .pending = {}, .whole = cluster.all()};
    asked.in_maintenance = {spine};
    PlannedGate gate(cluster, asked);
    EXPECT_EQ(gate.measured().size(), another ? 6U : 2U);
    EXPECT_EQ(gate.coverage().uncovered, Texts{});
  }
}

// One host at one leaf, which is connected to a spine: the host has no peer.
TEST(LoneHostGate, UnmeasurableLinksAreNotUncovered) {
  SmallFabric made;
  const DeviceIndex leaf = made.add(DeviceRole::leaf);
  made.link(made.add(DeviceRole::host), leaf);
  made.link(leaf, made.add(DeviceRole::spine));
  made.settle();
  MeasuredCluster cluster = MeasuredCluster::of_topology(made.topology);
  const GateChoice asked{.affected = cluster.all(), .pending = {}, .whole = cluster.all()};
  PlannedGate gate(cluster, asked);
  EXPECT_TRUE(gate.measured().empty());
  EXPECT_EQ(gate.coverage().uncovered, Texts{});
}

// A leaf without hosts: its uplinks have no traffic.
TEST(LoneHostGate, ALinkToALeafWithoutHostsIsNotUncovered) {
  SmallFabric made;
  const DeviceIndex busy = made.add(DeviceRole::leaf);
  const DeviceIndex bare = made.add(DeviceRole::leaf);
  const DeviceIndex spine = made.add(DeviceRole::spine);
  made.link(made.add(DeviceRole::host), busy);
  made.link(made.add(DeviceRole::host), busy);
  made.link(busy, spine);
  made.link(bare, spine);
  made.settle();
  MeasuredCluster cluster = MeasuredCluster::of_topology(made.topology);
  PlannedGate gate(cluster, {.affected = cluster.all(), .pending = {}, .whole = cluster.all()});
  EXPECT_EQ(gate.measured().size(), 2U);
  EXPECT_EQ(gate.coverage().uncovered, Texts{});
}

TEST(FairShares, NoOneGetsMoreThanItNeedsWhileAnotherGetsLess) {
  const auto share = [](std::vector<int> costs, int budget) {
    std::vector<milliseconds> in;
    for (const int cost : costs) in.emplace_back(cost);
    std::vector<int> out;
    for (const milliseconds one : fair_shares(in, milliseconds(budget)))
      out.push_back(static_cast<int>(one.count()));
    return out;
  };
  EXPECT_EQ(share({10, 20, 30}, 60), (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(share({90, 10, 90}, 100), (std::vector<int>{45, 10, 45}));
  EXPECT_EQ(share({50, 50}, 10), (std::vector<int>{5, 5}));
  EXPECT_EQ(share({}, 10), (std::vector<int>{}));
}

}  // namespace
}  // namespace lockstep
