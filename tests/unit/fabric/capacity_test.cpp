#include "specs/fabric/capacity.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "specs/fabric/ideal_bounds.hpp"
#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {
namespace {

constexpr auto kLeaf = static_cast<std::size_t>(DeviceRole::leaf);
constexpr auto kSpine = static_cast<std::size_t>(DeviceRole::spine);
constexpr auto kSuperspine = static_cast<std::size_t>(DeviceRole::superspine);

struct Pod : SmallFabric {
  std::vector<DeviceIndex> leaves, spines, hosts;
  std::vector<LinkIndex> uplinks;
  Pod(int leaf_count, int spine_count, int host_count) {
    for (int i = 0; i < host_count; ++i) hosts.push_back(add(DeviceRole::host));
    for (int i = 0; i < leaf_count; ++i) leaves.push_back(add(DeviceRole::leaf));
    for (int i = 0; i < spine_count; ++i) spines.push_back(add(DeviceRole::spine));
    for (const DeviceIndex host : hosts)
      for (std::size_t rail = 0; rail < leaves.size(); ++rail)
        link(host, leaves[rail], 1, static_cast<std::uint32_t>(rail));
    for (const DeviceIndex leaf : leaves)
      for (const DeviceIndex spine : spines) uplinks.push_back(link(leaf, spine));
  }
};

TEST(Capacity, NothingDownLeavesEverything) {
  const Pod pod(4, 2, 3);
  const Remaining left = FabricCapacity(pod.topology, 0).without({});
  for (const double share : left.smallest) EXPECT_EQ(share, 1);
  for (const double share : left.total) EXPECT_EQ(share, 1);
  EXPECT_TRUE(left.cut_off.empty());
}

TEST(Capacity, ASpineOfFourTakesAQuarterFromEveryPair) {
  const Pod pod(4, 4, 0);
  const Remaining left = FabricCapacity(pod.topology, 0).without({.devices = {pod.spines[2]}, .links = {}});
  EXPECT_DOUBLE_EQ(left.smallest[kSpine], 0.75);
  EXPECT_DOUBLE_EQ(left.total[kSpine], 0.75);
}

TEST(Capacity, UplinksDownAtBothLeavesOfAPairAddUp) {
  const Pod pod(4, 4, 0);
  const Remaining left =
      FabricCapacity(pod.topology, 0).without({.devices = {}, .links = {pod.uplinks[0], pod.uplinks[5]}});
  EXPECT_DOUBLE_EQ(left.smallest[kSpine], 0.5);
  EXPECT_EQ(left.worst[kSpine], (std::array<DeviceIndex, 2>{pod.leaves[0], pod.leaves[1]}));
}

TEST(Capacity, LeafDownCutsOffItsRail) {
  const Pod pod(4, 4, 2);
  const Remaining left = FabricCapacity(pod.topology, 0).without({.devices = {pod.leaves[1]}, .links = {}});
  EXPECT_EQ(left.smallest[kSpine], 1);
  EXPECT_DOUBLE_EQ(left.smallest[kLeaf], 0.75);
  EXPECT_EQ(left.cut_off, pod.hosts);
}

TEST(Capacity, AHostThatIsDownItselfIsNotCutOff) {
  const Pod pod(2, 2, 2);
  const Remaining left =
      FabricCapacity(pod.topology, 0).without({.devices = {pod.hosts[0], pod.leaves[0]}, .links = {}});
  EXPECT_EQ(left.cut_off, std::vector<DeviceIndex>{pod.hosts[1]});
}

TEST(Capacity, ASecondLeafOfTheRailKeepsTheHost) {
  SmallFabric fabric;
  const DeviceIndex host = fabric.add(DeviceRole::host);
  const DeviceIndex one = fabric.add(DeviceRole::leaf);
  const DeviceIndex two = fabric.add(DeviceRole::leaf);
  fabric.link(host, one, 1, 0);
  fabric.link(host, two, 1, 0);
  const Remaining left = FabricCapacity(fabric.topology, 0).without({.devices = {one}, .links = {}});
  EXPECT_TRUE(left.cut_off.empty());
  EXPECT_DOUBLE_EQ(left.smallest[kLeaf], 0.5);
}

TEST(Capacity, PodsMeetInSuperspines) {
  SmallFabric fabric;
  std::vector<DeviceIndex> leaves, spines, tops;
  for (int i = 0; i < 4; ++i) leaves.push_back(fabric.add(DeviceRole::leaf));
  for (int i = 0; i < 4; ++i) spines.push_back(fabric.add(DeviceRole::spine));
  for (int i = 0; i < 4; ++i) tops.push_back(fabric.add(DeviceRole::superspine));
  for (std::size_t leaf = 0; leaf < 4; ++leaf)
    for (std::size_t spine = 0; spine < 2; ++spine)
      fabric.link(leaves[leaf], spines[leaf / 2 * 2 + spine], 4);
  for (const DeviceIndex spine : spines)
    for (const DeviceIndex top : tops) fabric.link(spine, top);
  const FabricCapacity capacity(fabric.topology, 0);
  EXPECT_DOUBLE_EQ(capacity.without({.devices = {tops[0]}, .links = {}}).smallest[kSuperspine], 0.75);
  EXPECT_EQ(capacity.without({.devices = {tops[0]}, .links = {}}).smallest[kSpine], 1);
  const Remaining spine_down = capacity.without({.devices = {spines[0]}, .links = {}});
  EXPECT_DOUBLE_EQ(spine_down.smallest[kSpine], 0.5);
  EXPECT_DOUBLE_EQ(spine_down.smallest[kSuperspine], 0.5);
}

// A slow, simple reference: every leaf pair, every spine.
double smallest_pair(const Topology& topology, const Down& down) {
  const FabricGraph& graph = topology.fabrics[0];
  const auto is_down = [&](const auto& list, std::uint32_t one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  const auto between = [&](DeviceIndex leaf, DeviceIndex spine, bool now) {
    std::uint64_t sum = 0;
    for (const LinkIndex index : graph.links) {
      const TopologyLink& link = topology.links[index];
      if (topology.ports[link.a].device != leaf || topology.ports[link.b].device != spine) continue;
      if (!now || (!is_down(down.links, index) && !is_down(down.devices, spine))) sum += link.speed;
    }
    return sum;
  };
  double least = 1;
  for (const DeviceIndex a : graph.leaves)
    for (const DeviceIndex b : graph.leaves) {
      if (a >= b || is_down(down.devices, a) || is_down(down.devices, b)) continue;
      std::uint64_t before = 0;
      std::uint64_t now = 0;
      for (const DeviceIndex spine : graph.spines) {
        before += std::min(between(a, spine, false), between(b, spine, false));
        now += std::min(between(a, spine, true), between(b, spine, true));
      }
      if (before != 0) least = std::min(least, static_cast<double>(now) / static_cast<double>(before));
    }
  return least;
}

SmallFabric random_fabric() {
  SmallFabric fabric;
  const auto count = [](int most) { return *rc::gen::inRange(0, most); };
  const int hosts = count(5), leaves = count(6), spines = count(5), tops = count(3);
  for (int i = 0; i < hosts; ++i) fabric.add(DeviceRole::host);
  for (int i = 0; i < leaves; ++i) fabric.add(DeviceRole::leaf);
  for (int i = 0; i < spines; ++i) fabric.add(DeviceRole::spine);
  for (int i = 0; i < tops; ++i) fabric.add(DeviceRole::superspine);
  const auto size = static_cast<int>(fabric.topology.devices.size());
  if (size < 2) return fabric;
  const int links = count(30);
  for (int i = 0; i < links; ++i) {
    const auto a = static_cast<DeviceIndex>(count(size));
    const auto b = static_cast<DeviceIndex>(count(size));
    const bool hosts_only =
        !fabric.topology.devices[a].is_switch() && !fabric.topology.devices[b].is_switch();
    if (a != b && !hosts_only)
      fabric.link(a, b, 1 + static_cast<std::uint64_t>(count(3)), static_cast<std::uint32_t>(count(2)));
  }
  fabric.settle();
  return fabric;
}

TEST(Capacity, AgreesWithABruteForceSearchOnAnyGraph) {
  EXPECT_TRUE(rc::check("pairs", [] {
    const SmallFabric fabric = random_fabric();
    Down down;
    for (DeviceIndex i = 0; i < fabric.topology.devices.size(); ++i)
      if (*rc::gen::inRange(0, 5) == 0) down.devices.push_back(i);
    for (LinkIndex i = 0; i < fabric.topology.links.size(); ++i)
      if (*rc::gen::inRange(0, 5) == 0) down.links.push_back(i);
    RC_ASSERT(FabricCapacity(fabric.topology, 0).without(down).smallest[kSpine] ==
              smallest_pair(fabric.topology, down));
  }));
}

TEST(Capacity, TakingMoreLinksDownNeverRaisesAFigure) {
  EXPECT_TRUE(rc::check("monotone", [] {
    const SmallFabric fabric = random_fabric();
    const FabricCapacity capacity(fabric.topology, 0);
    Down down;
    Remaining before = capacity.without(down);
    for (LinkIndex i = 0; i < fabric.topology.links.size(); ++i) {
      if (*rc::gen::inRange(0, 3) != 0) continue;
      down.links.push_back(i);
      const Remaining after = capacity.without(down);
      for (std::size_t tier = 0; tier < 4; ++tier) {
        RC_ASSERT(after.smallest[tier] <= before.smallest[tier]);
        RC_ASSERT(after.total[tier] <= before.total[tier]);
      }
      RC_ASSERT(after.cut_off.size() >= before.cut_off.size());
      before = after;
    }
  }));
}

TEST(IdealBounds, BoundsAreSharesOnAnyGraph) {
  EXPECT_TRUE(rc::check("share", [] {
    const SmallFabric fabric = random_fabric();
    for (const Workload workload :
         {Workload::stream, Workload::ring_allreduce, Workload::all_to_all, Workload::barrier}) {
      const BestShare best = best_share(fabric.topology, 0, workload, {}, *rc::gen::arbitrary<bool>());
      RC_ASSERT(best.share >= 0 && best.share <= 1);
    }
    RC_ASSERT(least_latency(fabric.topology, 0) == 0);
  }));
}

}  // namespace
}  // namespace lockstep
