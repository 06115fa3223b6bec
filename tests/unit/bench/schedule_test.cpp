#include "bench/schedule.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "bench/pairs.hpp"

namespace lockstep::bench {
namespace {

struct Fabric {
  std::vector<Flow> flows;
  std::vector<std::uint64_t> capacities;
};

rc::Gen<Fabric> any_fabric() {
  return rc::gen::exec([] {
    Fabric made;
    const auto links = *rc::gen::inRange<std::uint32_t>(1, 12);
    for (std::uint32_t i = 0; i < links; ++i)
      made.capacities.push_back(*rc::gen::inRange<std::uint64_t>(0, 5));
    const auto count = *rc::gen::inRange(0, 40);
    for (int i = 0; i < count; ++i) {
      const auto crossed =
          *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, links + 1));
      made.flows.push_back({crossed, *rc::gen::inRange<std::uint64_t>(0, 4)});
    }
    return made;
  });
}

TEST(Schedule, NoLinkIsOversubscribedInAnyRoundAndEveryFlowRunsOnceOrIsLeftOut) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric = *any_fabric();
    const auto limit = *rc::gen::inRange<std::size_t>(0, 5);
    std::optional<std::size_t> most;
    if (*rc::gen::arbitrary<bool>()) most = *rc::gen::inRange<std::size_t>(0, 6);
    const Schedule made = schedule(fabric.flows, fabric.capacities, {limit, most});
    if (most) RC_ASSERT(made.rounds.size() <= *most);
    if (!most) RC_ASSERT(made.left_out.empty());
    if (most.value_or(1) > 0 && !fabric.flows.empty())
      RC_ASSERT(std::count(made.left_out.begin(), made.left_out.end(), 0U) == 0);
    std::vector<int> times(fabric.flows.size(), 0);
    for (const auto& round : made.rounds) {
      RC_ASSERT(!round.empty());
      if (limit != 0) RC_ASSERT(round.size() <= limit);
      std::map<std::uint32_t, std::uint64_t> load;
      for (const std::size_t flow : round) {
        ++times[flow];
        const std::set<std::uint32_t> crossed(fabric.flows[flow].links.begin(),
                                              fabric.flows[flow].links.end());
        for (const std::uint32_t link : crossed) load[link] += fabric.flows[flow].bits_per_second;
      }
      for (const auto& [link, sum] : load) {
        const std::uint64_t capacity = link < fabric.capacities.size() ? fabric.capacities[link] : 0;
        if (sum <= capacity) continue;
        RC_ASSERT(round.size() == 1U);
        RC_ASSERT(std::count(made.alone.begin(), made.alone.end(), round[0]) == 1);
      }
    }
    for (const std::size_t flow : made.left_out) ++times[flow];
    for (const int count : times) RC_ASSERT(count == 1);
    const Schedule again = schedule(fabric.flows, fabric.capacities, {limit, most});
    RC_ASSERT(again.rounds == made.rounds);
    RC_ASSERT(again.left_out == made.left_out);
  }));
}

// 4 hosts x 2 rails, 2 leaves, 2 spines, all links equal: the twin of the quickstart.
struct RailPod {
  std::vector<Endpoint> endpoints;
  std::vector<std::uint64_t> capacities = std::vector<std::uint64_t>(24, 1'000'000'000);

  RailPod() {
    for (int host = 1; host <= 4; ++host)
      for (int rail = 0; rail < 2; ++rail)
        endpoints.push_back({"gpu" + std::to_string(host), "rail" + std::to_string(rail), "",
                             "leaf" + std::to_string(rail), std::to_string(rail)});
  }
  // 0-7 up from an endpoint, 8-15 down to one; 16-19 leaf to spine, 20-23 spine to leaf.
  std::vector<std::uint32_t> links(const Pair& pair) const {
    std::vector<std::uint32_t> crossed{static_cast<std::uint32_t>(pair.from),
                                       static_cast<std::uint32_t>(8 + pair.to)};
    const auto from = static_cast<std::uint32_t>(pair.from % 2);
    const auto to = static_cast<std::uint32_t>(pair.to % 2);
    if (from != to) crossed.insert(crossed.end(), {16 + 2 * from, 17 + 2 * from, 20 + 2 * to, 21 + 2 * to});
    return crossed;
  }
  Schedule rounds(const std::vector<Pair>& pairs) const {
    std::vector<Flow> flows;
    for (const Pair& pair : pairs) flows.push_back({links(pair), 1'000'000'000});
    return schedule(flows, capacities);
  }
};

TEST(Schedule, PairsOfTheRailPodNeedNoMoreRoundsThanItsUplinksRequire) {
  const RailPod pod;
  const auto pairs = select_pairs(pod.endpoints, {PairChoice::Way::all, 0});
  EXPECT_EQ(pairs.size(), 48U);
  // 12 pairs go from leaf 0 to leaf 1, and each may take either uplink: no two of them can run in one round.
  const std::size_t rounds = pod.rounds(pairs).rounds.size();
  EXPECT_GE(rounds, 12U);
  EXPECT_LE(rounds, 14U);
  const auto same = select_pairs(pod.endpoints, {PairChoice::Way::same_rail, 0});
  EXPECT_EQ(same.size(), 24U);
  EXPECT_EQ(pod.rounds(same).rounds.size(), 3U);
}

TEST(Schedule, SixtyFourHostsOnOneLeafTakeAsManyRoundsAsEachHasPartners) {
  std::vector<Endpoint> endpoints;
  for (int host = 0; host < 64; ++host)
    endpoints.push_back({"gpu" + std::to_string(host), "rail0", "", "leaf0", "0"});
  std::vector<Flow> flows;
  for (const Pair& pair : select_pairs(endpoints, {}))
    flows.push_back({{static_cast<std::uint32_t>(pair.from), static_cast<std::uint32_t>(64 + pair.to)}, 1});
  const std::vector<std::uint64_t> capacities(128, 1);
  EXPECT_EQ(schedule(flows, capacities).rounds.size(), 63U);
}

// Flows are given in order of importance: the first ones get the rounds.
TEST(Schedule, TheFirstFlowsHavePriorityWhenRoundsAreLimited) {
  const std::vector<Flow> flows{{{0}, 1}, {{0}, 1}, {{0}, 1}, {{1}, 1}};
  const Schedule made = schedule(flows, std::vector<std::uint64_t>{1, 1}, {0, 2});
  EXPECT_EQ(made.rounds, (std::vector<std::vector<std::size_t>>{{0, 3}, {1}}));
  EXPECT_EQ(made.left_out, std::vector<std::size_t>{2});
}

TEST(Schedule, CoverageCountsMeasuredPairsAndLinks) {
  const std::vector<Flow> flows{{{0, 1}, 1}, {{1, 2}, 1}, {{3}, 1}};
  const Coverage seen = coverage(flows, {true, true, false}, 5);
  EXPECT_EQ(seen.pairs, 2U);
  EXPECT_EQ(seen.of_pairs, 3U);
  EXPECT_EQ(seen.links, 3U);
  EXPECT_EQ(seen.of_links, 5U);
}

TEST(Pairs, ChoicesFollowTheirRule) {
  const RailPod pod;
  const auto& ends = pod.endpoints;
  for (const Pair& pair : select_pairs(ends, {PairChoice::Way::all, 0}))
    EXPECT_NE(ends[pair.from].device, ends[pair.to].device);
  for (const Pair& pair : select_pairs(ends, {PairChoice::Way::same_rail, 0}))
    EXPECT_EQ(ends[pair.from].rail, ends[pair.to].rail);
  const auto cross = select_pairs(ends, {PairChoice::Way::cross_leaf, 0});
  EXPECT_EQ(cross.size(), 24U);
  for (const Pair& pair : cross) EXPECT_NE(ends[pair.from].leaf, ends[pair.to].leaf);
}

TEST(Pairs, ARingGoesRoundEachRail) {
  const RailPod pod;
  const auto ring = select_pairs(pod.endpoints, {PairChoice::Way::ring, 0});
  const std::vector<Pair> want{{0, 2}, {2, 4}, {4, 6}, {6, 0}, {1, 3}, {3, 5}, {5, 7}, {7, 1}};
  EXPECT_EQ(ring, want);
  const auto groups = rail_groups(pod.endpoints);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1], (Group{"rail1", {1, 3, 5, 7}}));
}

TEST(Pairs, ASampleIsTheSameForItsSeedAndLeavesNoEndpointOut) {
  const RailPod pod;
  const auto sample = select_pairs(pod.endpoints, {PairChoice::Way::sample, 16}, 7);
  EXPECT_EQ(sample.size(), 16U);
  EXPECT_EQ(sample, select_pairs(pod.endpoints, {PairChoice::Way::sample, 16}, 7));
  EXPECT_EQ(std::set<Pair>(sample.begin(), sample.end()).size(), 16U);
  std::set<std::size_t> senders;
  for (const Pair& pair : sample) senders.insert(pair.from);
  EXPECT_EQ(senders.size(), 8U);
  EXPECT_EQ(select_pairs(pod.endpoints, {PairChoice::Way::sample, 1000}).size(), 48U);
}

TEST(Pairs, NoEndpointsGiveNoPairs) {
  EXPECT_TRUE(select_pairs({}, {}).empty());
  const std::vector<Endpoint> one(1);
  for (const auto way : {PairChoice::Way::all, PairChoice::Way::ring, PairChoice::Way::sample})
    EXPECT_TRUE(select_pairs(one, {way, 3}).empty());
}

}  // namespace
}  // namespace lockstep::bench
