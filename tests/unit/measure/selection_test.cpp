// The selected pairs, compared with all n² of them on random small topologies; and the cost of the selection
// on large ones.
#include "reconciler/measure/selection.hpp"

#include <rapidcheck.h>

#include "tests/perf/fleet_spec.hpp"
#include "tests/unit/measure/lab.hpp"

namespace lockstep {
namespace {

// Hosts with one to three ports on any leaves, up to three tiers of switches, cables missing and doubled.
Topology any_topology() {
  SmallFabric made;
  std::vector<DeviceIndex> below, here, hosts;
  const int host_count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < host_count; ++i) hosts.push_back(made.add(DeviceRole::host));
  const int leaf_count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < leaf_count; ++i) below.push_back(made.add(DeviceRole::leaf));
  for (const DeviceIndex host : hosts) {
    const int ports = *rc::gen::inRange(1, 4);
    for (int port = 0; port < ports; ++port)
      made.link(host, *rc::gen::elementOf(below), 1, static_cast<std::uint32_t>(port));
  }
  for (const DeviceRole role : {DeviceRole::spine, DeviceRole::superspine}) {
    const int count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i) {
      here.push_back(made.add(role));
      for (const DeviceIndex low : below) {
        const int strands = *rc::gen::weightedElement<int>({{2, 0}, {5, 1}, {1, 2}});
        for (int strand = 0; strand < strands; ++strand) made.link(low, here.back());
      }
    }
    if (here.empty()) break;
    below = std::exchange(here, {});
  }
  made.settle();
  return std::move(made.topology);
}

PairChoice any_choice() {
  return *rc::gen::element(PairChoice{PairChoice::Way::all, 0}, PairChoice{PairChoice::Way::same_rail, 0},
                           PairChoice{PairChoice::Way::cross_leaf, 0}, PairChoice{PairChoice::Way::ring, 0},
                           PairChoice{PairChoice::Way::sample, 9});
}

// All pairs that may be measured, with the links that each may cross, by exhaustive search.
std::map<bench::Pair, std::set<std::uint32_t>> all_ways(Ground& ground, const Benchmark& benchmark,
                                                        const std::vector<bool>& usable) {
  std::vector<bench::Endpoint> names;
  for (const bench::ProbeEndpoint& probe : ground.probes) names.push_back(probe.endpoint);
  const std::vector<Endpoint>& ends = ground.graph().endpoints;
  std::map<bench::Pair, std::set<std::uint32_t>> out;
  for (const bench::Pair& pair : bench::select_pairs(names, *benchmark.pairs)) {
    if (!usable[pair.from] || !usable[pair.to]) continue;
    const bench::Pair way = bench::data_way(*benchmark.workload, pair);
    const auto path = ground.paths().between(ends[way.from], ends[way.to]);
    if (path) out[way] = {path->links.begin(), path->links.end()};
  }
  return out;
}

std::size_t over(std::uint32_t link, const std::map<bench::Pair, std::set<std::uint32_t>>& ways) {
  return static_cast<std::size_t>(
      std::count_if(ways.begin(), ways.end(), [&](const auto& one) { return one.second.contains(link); }));
}

TEST(Selection, SelectsThreePairsOverEachLinkIfAvailableAndNoBusyHost) {
  ASSERT_TRUE(rc::check([] {
    const MeasuredCluster cluster = MeasuredCluster::of_topology(any_topology(), any_choice());
    const MeasureInput input = cluster.input();
    Ground ground(input, 0);
    Benchmark benchmark = cluster.catalog.validation_suites.front().benchmarks.front();
    benchmark.workload.value = *rc::gen::element(Workload::stream, Workload::read_bandwidth);
    const auto busy = *rc::gen::container<std::set<DeviceIndex>>(rc::gen::inRange<DeviceIndex>(0, 9));
    const bool jobs = *rc::gen::arbitrary<bool>();
    std::vector<bool> usable;
    for (const Endpoint& end : ground.graph().endpoints)
      usable.push_back(!jobs || !busy.contains(end.device));
    std::vector<std::uint32_t> links;
    for (std::uint32_t link = 0; link < cluster.topology().links.size() * 2; ++link)
      if (*rc::gen::arbitrary<bool>()) links.push_back(link);
    const std::size_t few = *rc::gen::element<std::size_t>(0, 0, 0, kFewEndpoints);

    PairSelector selector(ground, benchmark, usable, few);
    const std::vector<bench::Pair> selected = selector.over(links);
    const auto ways = all_ways(ground, benchmark, usable);
    std::map<bench::Pair, std::set<std::uint32_t>> taken;
    for (const bench::Pair& way : selected) {
      RC_ASSERT(ways.contains(way));
      RC_ASSERT(taken.emplace(way, ways.at(way)).second);
    }
    for (const std::uint32_t link : links)
      RC_ASSERT(over(link, taken) >= std::min<std::size_t>(kPairsEach, over(link, ways)));
    RC_ASSERT(selected.size() <= kPairsEach * links.size());
    RC_ASSERT((PairSelector(ground, benchmark, usable, few).over(links)) == selected);
  }));
}

TEST(Selection, ControlPairsAvoidTheChangeAndNoneIsOmitted) {
  ASSERT_TRUE(rc::check([] {
    const MeasuredCluster cluster = MeasuredCluster::of_topology(any_topology(), any_choice());
    const MeasureInput input = cluster.input();
    Ground ground(input, 0);
    const Benchmark& benchmark = cluster.catalog.validation_suites.front().benchmarks.front();
    const std::vector<bool> usable(ground.probes.size(), true);
    std::vector<bool> flagged(cluster.topology().links.size() * 2);
    const bool few_changed = *rc::gen::arbitrary<bool>();
    for (std::size_t link = 0; link < flagged.size(); link += 2)
      flagged[link] = flagged[link + 1] = *rc::gen::inRange(0, few_changed ? 8 : 2) == 0;
    std::set<bench::Pair> clean;
    for (const auto& [way, links] : all_ways(ground, benchmark, usable))
      if (std::none_of(links.begin(), links.end(), [&](std::uint32_t link) { return flagged[link]; }))
        clean.insert(way);
    const std::size_t few = *rc::gen::element<std::size_t>(0, 0, 0, kFewEndpoints);
    constexpr std::size_t kWanted = 8;
    PairSelector selector(ground, benchmark, usable, few);
    const std::vector<bench::Pair> controls = selector.beside(flagged, kWanted);
    RC_ASSERT(controls.size() == std::min(kWanted, clean.size()));
    RC_ASSERT((std::set<bench::Pair>(controls.begin(), controls.end()).size()) == controls.size());
    for (const bench::Pair& way : controls) RC_ASSERT(clean.contains(way));
  }));
}

class Fleet : public testing::Test {
 protected:
  static MeasuredCluster fleet(unsigned hosts, PairChoice choice, bool one_plane = false) {
    const Loaded loaded =
        load_text("fleet.yaml", perf::fleet_spec({.hosts = hosts, .roce = false, .one_plane = one_plane}));
    return MeasuredCluster::of_topology(expand(loaded.catalog).topology, choice);
  }
  // The number of examined pairs and leaves and of walked paths for each link of the change.
  static std::size_t looks(MeasuredCluster& cluster, const std::string& device) {
    const TouchedParts touched = cluster.whole({device});
    PlannedGate gate(cluster, {.affected = touched, .pending = {}, .whole = touched}, {}, {}, 64);
    EXPECT_FALSE(gate.all[0].planned.pairs.empty());
    EXPECT_LE(gate.takes(), kGateBudget);
    EXPECT_TRUE(gate.coverage().uncovered.empty()) << gate.coverage().uncovered.front();
    return (gate.pairs.looked_at() + gate.ground.walked()) / (2 * touched.cables.size());
  }
};

// Consecutive leaves of one rail are eight leaves apart, as there are eight rails.
TEST_F(Fleet, WorkGrowsWithTheChangeAndNotWithThePairs) {
  constexpr std::size_t kLooks = 80;  // per link: all pairs of 1,024 hosts are 67 million
  for (const PairChoice::Way way :
       {PairChoice::Way::all, PairChoice::Way::same_rail, PairChoice::Way::cross_leaf})
    for (const unsigned hosts : {256U, 1024U}) {
      MeasuredCluster cluster = fleet(hosts, {way, 0});
      for (const char* const device : {"g2r3", "p1s1", "gpu77"})
        EXPECT_LE(looks(cluster, device), kLooks) << hosts << " hosts, " << device;
    }
  MeasuredCluster plane = fleet(512, {}, true);
  EXPECT_LE(looks(plane, "p1s1"), kLooks);
}

}  // namespace
}  // namespace lockstep
