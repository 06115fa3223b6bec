#include "specs/fabric/deadlock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>
#include <queue>
#include <set>

#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {
namespace {

Dependencies of(std::uint32_t channels, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  Dependencies out;
  out.first.assign(channels + 1, 0);
  for (const auto& [from, to] : edges) ++out.first[from + 1];
  for (std::size_t i = 1; i < out.first.size(); ++i) out.first[i] += out.first[i - 1];
  out.next.resize(edges.size());
  std::vector<std::uint32_t> place(out.first.begin(), out.first.end() - 1);
  for (const auto& [from, to] : edges) out.next[place[from]++] = to;
  return out;
}

bool depends(const Dependencies& all, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t e = all.first[from]; e < all.first[from + 1]; ++e)
    if (all.next[e] == to) return true;
  return false;
}

// A slow, simple reference: depth-first search for a back edge.
bool has_cycle(const Dependencies& all) {
  std::vector<int> state(all.channels());
  const std::function<bool(std::uint32_t)> visit = [&](std::uint32_t c) {
    if (state[c] == 1) return true;
    if (state[c] == 2) return false;
    state[c] = 1;
    for (std::uint32_t e = all.first[c]; e < all.first[c + 1]; ++e)
      if (visit(all.next[e])) return true;
    state[c] = 2;
    return false;
  };
  for (std::uint32_t c = 0; c < all.channels(); ++c)
    if (visit(c)) return true;
  return false;
}

TEST(Deadlock, FindsNoCircleInNothing) {
  EXPECT_TRUE(find_cycle({}).empty());
  EXPECT_TRUE(find_cycle(of(3, {{0, 1}, {1, 2}, {0, 2}})).empty());
}

TEST(Deadlock, ReturnsTheCircleAndNotWhatLeadsToIt) {
  const auto cycle = find_cycle(of(5, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}));
  EXPECT_EQ(std::set(cycle.begin(), cycle.end()), (std::set<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(cycle.size(), 3U);
}

TEST(Deadlock, AChannelThatWaitsForItselfIsACircle) {
  EXPECT_EQ(find_cycle(of(2, {{0, 1}, {1, 1}})), std::vector<std::uint32_t>{1});
}

TEST(Deadlock, AgreesWithADepthFirstSearchOnRandomGraphs) {
  EXPECT_TRUE(rc::check("cycle", [] {
    const auto channels = *rc::gen::inRange<std::uint32_t>(1, 12);
    const auto edges =
        *rc::gen::container<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(rc::gen::pair(
            rc::gen::inRange<std::uint32_t>(0, channels), rc::gen::inRange<std::uint32_t>(0, channels)));
    const Dependencies all = of(channels, edges);
    const auto cycle = find_cycle(all);
    RC_ASSERT(cycle.empty() != has_cycle(all));
    for (std::size_t i = 0; i < cycle.size(); ++i)
      RC_ASSERT(depends(all, cycle[i], cycle[(i + 1) % cycle.size()]));
  }));
}

// A slow, simple reference: the dependencies of all shortest paths to each leaf, hop by hop.
bool can_deadlock(const Topology& topology) {
  const FabricGraph& graph = topology.fabrics[0];
  std::map<DeviceIndex, std::set<DeviceIndex>> next_to;
  for (const TopologyLink& link : topology.links) {
    const DeviceIndex a = topology.ports[link.a].device;
    const DeviceIndex b = topology.ports[link.b].device;
    if (!topology.devices[a].is_switch() || !topology.devices[b].is_switch()) continue;
    next_to[a].insert(b);
    next_to[b].insert(a);
  }
  std::map<std::pair<DeviceIndex, DeviceIndex>, std::uint32_t> number;
  for (const auto& [a, all] : next_to)
    for (const DeviceIndex b : all) number.try_emplace({a, b}, static_cast<std::uint32_t>(number.size()));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const DeviceIndex leaf : graph.leaves) {
    std::map<DeviceIndex, int> distance{{leaf, 0}};
    std::queue<DeviceIndex> queue({leaf});
    for (; !queue.empty(); queue.pop())
      for (const DeviceIndex n : next_to[queue.front()])
        if (distance.try_emplace(n, distance[queue.front()] + 1).second) queue.push(n);
    for (const auto& [v, far] : distance)
      for (const DeviceIndex u : next_to[v])
        for (const DeviceIndex w : next_to[v])
          if (distance[u] == far + 1 && distance[w] == far - 1)
            edges.emplace_back(number[{u, v}], number[{v, w}]);
  }
  return has_cycle(of(static_cast<std::uint32_t>(number.size()), edges));
}

TEST(Deadlock, AgreesWithBruteForcePathsOnAnyTopology) {
  int found = 0;
  EXPECT_TRUE(rc::check("fabric", [&] {
    SmallFabric fabric;
    const int size = *rc::gen::inRange(1, 9);
    for (int i = 0; i < size; ++i)
      fabric.add(
          *rc::gen::element(DeviceRole::leaf, DeviceRole::leaf, DeviceRole::spine, DeviceRole::superspine));
    const int links = *rc::gen::inRange(0, 14);
    for (int i = 0; i < links; ++i) {
      const auto a = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      const auto b = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      if (a != b) fabric.link(a, b);
    }
    const BufferCycle cycle = find_buffer_cycle(fabric.topology, 0);
    RC_ASSERT(cycle.devices.empty() != can_deadlock(fabric.topology));
    found += cycle.devices.empty() ? 0 : 1;
  }));
  SUCCEED() << found << " circles";
}

SmallFabric ring(std::uint32_t size) {
  SmallFabric fabric;
  for (std::uint32_t i = 0; i < size; ++i) fabric.add(DeviceRole::leaf);
  for (std::uint32_t i = 0; i < size; ++i) fabric.link(i, (i + 1) % size);
  return fabric;
}

TEST(Deadlock, ARingOfFiveCanDeadlockAndOneOfThreeCannot) {
  EXPECT_EQ(find_buffer_cycle(ring(5).topology, 0).devices.size(), 5U);
  EXPECT_TRUE(find_buffer_cycle(ring(3).topology, 0).devices.empty());  // every switch is one hop away
}

TEST(Deadlock, AClosIsProvedByItsTiers) {
  SmallFabric fabric;
  for (int i = 0; i < 4; ++i) fabric.add(DeviceRole::leaf);
  for (int i = 0; i < 2; ++i) fabric.add(DeviceRole::spine);
  for (DeviceIndex leaf = 0; leaf < 4; ++leaf)
    for (DeviceIndex spine = 4; spine < 6; ++spine) fabric.link(leaf, spine);
  const BufferCycle cycle = find_buffer_cycle(fabric.topology, 0);
  EXPECT_TRUE(cycle.devices.empty());
  EXPECT_TRUE(cycle.by_tiers);
  EXPECT_EQ(cycle.channels, 16U);
}

// Leaves and spines in a circle, each spine between two leaves: without loop prevention, paths go down and
// up.
TEST(Deadlock, OneAsNumberForTheSpinesBreaksTheCircle) {
  constexpr std::uint32_t kSide = 5;
  SmallFabric fabric;
  for (std::uint32_t i = 0; i < kSide; ++i) fabric.add(DeviceRole::leaf);
  for (std::uint32_t i = 0; i < kSide; ++i) fabric.add(DeviceRole::spine);
  for (std::uint32_t i = 0; i < kSide; ++i) {
    fabric.link(i, kSide + i);
    fabric.link((i + 1) % kSide, kSide + i);
  }
  EXPECT_EQ(find_buffer_cycle(fabric.topology, 0).devices.size(), 2U * kSide);
  EXPECT_TRUE(find_buffer_cycle(fabric.topology, 0, {false, false, true, false}).devices.empty());
}

}  // namespace
}  // namespace lockstep
