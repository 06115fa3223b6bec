#include "specs/fabric/degraded.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>
#include <set>

#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {
namespace {

using Path = std::vector<DeviceIndex>;
using Hop = std::pair<DeviceIndex, DeviceIndex>;

// A slow, simple reference: simulated BGP. Each switch advertises its best paths to its neighbours until
// nothing changes, and drops a path that contains its own AS number.
std::map<DeviceIndex, std::set<Path>> settle(DeviceIndex destination, const std::set<Hop>& up,
                                             const std::vector<std::uint32_t>& shared_asn) {
  const auto asn = [&](DeviceIndex device) {
    return shared_asn[device] != 0 ? std::uint64_t{shared_asn[device]} : (std::uint64_t{1} << 40) + device;
  };
  std::map<DeviceIndex, std::set<Path>> best{{destination, {{destination}}}};
  for (bool changed = true; changed;) {
    changed = false;
    std::map<DeviceIndex, std::set<Path>> next{{destination, {{destination}}}};
    for (const auto& [self, neighbour] : up) {
      if (self == destination) continue;
      for (const Path& path : best[neighbour]) {
        if (std::any_of(path.begin(), path.end(), [&](DeviceIndex at) { return asn(at) == asn(self); }))
          continue;
        std::set<Path>& own = next[self];
        if (!own.empty() && own.begin()->size() < path.size() + 1) continue;
        if (!own.empty() && own.begin()->size() > path.size() + 1) own.clear();
        Path longer{self};
        longer.insert(longer.end(), path.begin(), path.end());
        own.insert(longer);
      }
    }
    std::erase_if(best, [](const auto& one) { return one.second.empty(); });
    changed = next != best;
    best = std::move(next);
  }
  return best;
}

// Whether the pairs of consecutive hops that packets can take close a circle.
bool has_circle(const Topology& topology, const std::set<LinkIndex>& failed,
                const std::vector<std::uint32_t>& shared_asn) {
  std::set<Hop> up;
  for (LinkIndex i = 0; i < topology.links.size(); ++i) {
    if (failed.contains(i)) continue;
    const DeviceIndex a = topology.ports[topology.links[i].a].device;
    const DeviceIndex b = topology.ports[topology.links[i].b].device;
    up.insert({a, b});
    up.insert({b, a});
  }
  std::map<Hop, std::set<Hop>> waits;
  for (const DeviceIndex leaf : topology.fabrics[0].leaves)
    for (const auto& [from, paths] : settle(leaf, up, shared_asn))
      for (const Path& path : paths)
        for (std::size_t i = 0; i + 2 < path.size(); ++i)
          waits[{path[i], path[i + 1]}].insert({path[i + 1], path[i + 2]});
  std::map<Hop, int> state;
  const std::function<bool(Hop)> visit = [&](Hop hop) {
    if (state[hop] != 0) return state[hop] == 1;
    state[hop] = 1;
    for (const Hop& next : waits[hop])
      if (visit(next)) return true;
    state[hop] = 2;
    return false;
  };
  const std::map<Hop, std::set<Hop>> all = waits;
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return visit(one.first); });
}

// Whether a circle exists with no failure, with any failed cable, or with any pair of failed cables.
bool can_circle(const Topology& topology, const std::vector<std::uint32_t>& shared_asn) {
  const auto links = static_cast<LinkIndex>(topology.links.size());
  if (has_circle(topology, {}, shared_asn)) return true;
  for (LinkIndex i = 0; i < links; ++i)
    for (LinkIndex j = i; j < links; ++j)
      if (has_circle(topology, {i, j}, shared_asn)) return true;
  return false;
}

void expect_agreement(const SmallFabric& fabric, const std::vector<std::uint32_t>& shared_asn) {
  const DegradedCircle found = find_degraded_circle(fabric.topology, 0, shared_asn);
  RC_ASSERT(found.complete);
  RC_ASSERT(found.devices.empty() != can_circle(fabric.topology, shared_asn));
  RC_ASSERT(!found.any_failures || found.devices.empty());
  RC_CLASSIFY(!found.devices.empty());
  if (found.devices.empty()) return;
  RC_ASSERT(found.failed.size() <= 2U);
  RC_ASSERT(has_circle(fabric.topology, {found.failed.begin(), found.failed.end()}, shared_asn));
}

TEST(Degraded, AgreesWithSimulatedBgpOnAnyTopology) {
  EXPECT_TRUE(rc::check("any", [] {
    SmallFabric fabric;
    const int size = *rc::gen::element(2, 4, 5, 6, 7, 8);
    std::vector<std::uint32_t> shared_asn;
    for (int i = 0; i < size; ++i) {
      fabric.add(
          *rc::gen::element(DeviceRole::leaf, DeviceRole::leaf, DeviceRole::spine, DeviceRole::superspine));
      shared_asn.push_back(*rc::gen::element<std::uint32_t>(0, 0, 0, 7, 8));
    }
    const int links = *rc::gen::inRange(0, 5) + size;
    for (int i = 0; i < links; ++i) {
      const auto a = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      const auto b = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      if (a != b) fabric.link(a, b);
    }
    expect_agreement(fabric, shared_asn);
  }));
}

// Pods of leaves and spines with some cables missing: many switches of a kind, so that find_degraded_circle()
// uses its exchanges of equal switches.
TEST(Degraded, AgreesWithSimulatedBgpOnClosFabrics) {
  EXPECT_TRUE(rc::check("clos", [] {
    SmallFabric fabric;
    const auto pods = *rc::gen::inRange<std::uint32_t>(1, 3);
    const auto leaves = pods == 1 ? *rc::gen::element<std::uint32_t>(1, 3, 4, 5, 6)
                                  : *rc::gen::element<std::uint32_t>(1, 2, 3, 3);
    const auto spines =
        pods == 1 ? *rc::gen::element<std::uint32_t>(1, 2, 2, 3) : *rc::gen::element<std::uint32_t>(1, 2, 2);
    const auto supers = *rc::gen::element<std::uint32_t>(0, 1, 1);
    const bool planes = *rc::gen::arbitrary<bool>();
    // AS numbers: one for all spines, one per pod, one for some spines, or one for each spine.
    enum class Numbers { own, one, of_pod, mixed };
    const Numbers numbers = *rc::gen::element(Numbers::own, Numbers::own, Numbers::one, Numbers::of_pod,
                                              Numbers::mixed, Numbers::mixed);
    const std::uint32_t top = *rc::gen::element<std::uint32_t>(0, 3);
    std::vector<std::uint32_t> shared_asn;
    const auto add = [&](DeviceRole role, std::uint32_t pod) {
      std::uint32_t asn = role == DeviceRole::superspine ? top : 0;
      if (role == DeviceRole::spine && numbers == Numbers::one) asn = 2;
      if (role == DeviceRole::spine && numbers == Numbers::of_pod) asn = 20 + pod;
      if (role == DeviceRole::spine && numbers == Numbers::mixed)
        asn = *rc::gen::element<std::uint32_t>(0, 4, 4, 5);
      shared_asn.push_back(asn);
      return fabric.add(role);
    };
    std::vector<DeviceIndex> above;
    for (std::uint32_t i = 0; i < supers * spines; ++i) above.push_back(add(DeviceRole::superspine, 0));
    const auto missing = *rc::gen::inRange<std::uint32_t>(0, 3);
    std::uint32_t left = missing;
    for (std::uint32_t pod = 0; pod < pods; ++pod) {
      std::vector<DeviceIndex> below;
      for (std::uint32_t i = 0; i < leaves; ++i) below.push_back(add(DeviceRole::leaf, pod));
      for (std::uint32_t s = 0; s < spines; ++s) {
        const DeviceIndex spine = add(DeviceRole::spine, pod);
        for (const DeviceIndex leaf : below) {
          if (left > 0 && *rc::gen::inRange(0, 4) == 0) {
            --left;
          } else {
            fabric.link(leaf, spine);
          }
        }
        for (std::uint32_t i = 0; i < above.size(); ++i)
          if ((!planes || i % spines == s) && *rc::gen::inRange(0, 6) != 0) fabric.link(spine, above[i]);
      }
    }
    expect_agreement(fabric, shared_asn);
  }));
}

// More pods of a kind than the search examines.
TEST(Degraded, AgreesWithSimulatedBgpOnManyPods) {
  int circles = 0;
  struct Case {
    std::uint32_t leaves;
    std::uint32_t spines;
    std::uint32_t tops;
    bool planes;
    std::uint32_t top;  // the superspines' AS number; 0: one for each
  };
  const Case cases[] = {{1, 2, 2, true, 3},  {2, 2, 2, true, 0}, {2, 2, 2, true, 3}, {2, 2, 2, false, 3},
                        {1, 3, 1, false, 3}, {3, 2, 2, true, 3}, {4, 2, 2, true, 0}};
  for (const auto& [leaves, spines, tops, planes, top] : cases) {
    SmallFabric fabric;
    constexpr std::uint32_t kPods = 5;
    std::vector<DeviceIndex> above;
    for (std::uint32_t i = 0; i < tops; ++i) above.push_back(fabric.add(DeviceRole::superspine));
    for (std::uint32_t pod = 0; pod < kPods; ++pod) {
      std::vector<DeviceIndex> below;
      for (std::uint32_t i = 0; i < leaves; ++i) below.push_back(fabric.add(DeviceRole::leaf));
      for (std::uint32_t s = 0; s < spines; ++s) {
        const DeviceIndex spine = fabric.add(DeviceRole::spine);
        for (const DeviceIndex leaf : below) fabric.link(leaf, spine);
        for (std::uint32_t i = 0; i < tops; ++i)
          if (!planes || i == s) fabric.link(spine, above[i]);
      }
    }
    std::vector<std::uint32_t> shared_asn(fabric.topology.devices.size());
    for (const DeviceIndex one : above) shared_asn[one] = top;
    const DegradedCircle found = find_degraded_circle(fabric.topology, 0, shared_asn);
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.devices.empty(), !can_circle(fabric.topology, shared_asn))
        << leaves << " " << spines << " " << planes << " " << top;
    circles += found.devices.empty() ? 0 : 1;
  }
  EXPECT_GT(circles, 0);
  EXPECT_LT(circles, 7);
}

// The first pod is under no superspine, and is safe; the other pods are not equivalent to it.
TEST(Degraded, PodsUnderDifferentSuperspinesAreNotAlike) {
  SmallFabric fabric;
  const std::array above{fabric.add(DeviceRole::superspine), fabric.add(DeviceRole::superspine)};
  for (std::uint32_t pod = 0; pod < 4; ++pod) {
    const std::array below{fabric.add(DeviceRole::leaf), fabric.add(DeviceRole::leaf)};
    for (std::uint32_t s = 0; s < 2; ++s) {
      const DeviceIndex spine = fabric.add(DeviceRole::spine);
      for (const DeviceIndex leaf : below) fabric.link(leaf, spine);
      if (pod != 0) fabric.link(spine, above[s]);
    }
  }
  std::vector<std::uint32_t> shared_asn(fabric.topology.devices.size());
  for (const DeviceIndex one : above) shared_asn[one] = 3;
  EXPECT_TRUE(can_circle(fabric.topology, shared_asn));
  EXPECT_FALSE(find_degraded_circle(fabric.topology, 0, shared_asn).devices.empty());
}

SmallFabric clos(std::uint32_t leaves, std::uint32_t spines, std::uint32_t strands = 1) {
  SmallFabric fabric;
  for (std::uint32_t i = 0; i < leaves; ++i) fabric.add(DeviceRole::leaf);
  for (std::uint32_t i = 0; i < spines; ++i) fabric.add(DeviceRole::spine);
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
    for (std::uint32_t spine = leaves; spine < leaves + spines; ++spine)
      for (std::uint32_t i = 0; i < strands; ++i) fabric.link(leaf, spine);
  return fabric;
}

// The fabric of Tagger's figure 3: two links down, and both flows bounce off a leaf.
TEST(Degraded, TwoLinksDownCloseACircleWhereSpinesHaveNumbersOfTheirOwn) {
  const SmallFabric fabric = clos(4, 2);
  const DegradedCircle found = find_degraded_circle(fabric.topology, 0, std::vector<std::uint32_t>(6));
  EXPECT_EQ(found.devices.size(), 4U);
  EXPECT_EQ(found.failed.size(), 2U);
  EXPECT_TRUE(find_degraded_circle(clos(3, 2).topology, 0, std::vector<std::uint32_t>(5)).devices.empty());
}

TEST(Degraded, OneAsNumberForTheSpinesIsProvedForAnyFailures) {
  const DegradedCircle found =
      find_degraded_circle(clos(4, 2).topology, 0, std::vector<std::uint32_t>{0, 0, 0, 0, 9, 9});
  EXPECT_TRUE(found.any_failures);
  EXPECT_TRUE(found.devices.empty());
}

// Two spines over two leaves, and one more leaf under each spine. spine1 has the AS number of its own leaf
// and drops its routes: the other switches send nothing there, and no circle closes.
TEST(Degraded, DroppedRouteIsNotAdvertised) {
  SmallFabric fabric;
  const DeviceIndex spine0 = fabric.add(DeviceRole::spine);
  const DeviceIndex spine1 = fabric.add(DeviceRole::spine);
  const DeviceIndex left = fabric.add(DeviceRole::leaf);
  const DeviceIndex right = fabric.add(DeviceRole::leaf);
  const DeviceIndex under0 = fabric.add(DeviceRole::leaf);
  const DeviceIndex under1 = fabric.add(DeviceRole::leaf);
  for (const DeviceIndex leaf : {left, right, under0}) fabric.link(spine0, leaf);
  for (const DeviceIndex leaf : {left, right, under1}) fabric.link(spine1, leaf);
  const DegradedCircle own = find_degraded_circle(fabric.topology, 0, std::vector<std::uint32_t>(6));
  EXPECT_FALSE(own.devices.empty());
  const DegradedCircle shared =
      find_degraded_circle(fabric.topology, 0, std::vector<std::uint32_t>{0, 7, 0, 0, 0, 7});
  EXPECT_TRUE(shared.devices.empty());
  EXPECT_TRUE(shared.complete);
}

TEST(Degraded, ParallelCablesFailTogetherOrNotAtAll) {
  EXPECT_TRUE(find_degraded_circle(clos(4, 2, 2).topology, 0, std::vector<std::uint32_t>(6)).devices.empty());
  EXPECT_TRUE(find_degraded_circle(clos(4, 2, 3).topology, 0, std::vector<std::uint32_t>(6)).devices.empty());
}

// Pairs of spines, each with its own AS number: more kinds than the search distinguishes.
TEST(Degraded, ReportsAnIncompleteSearch) {
  constexpr std::uint32_t kPairs = 65;
  std::vector<std::uint32_t> shared_asn(4);
  for (std::uint32_t i = 0; i < 2 * kPairs; ++i) shared_asn.push_back(100 + i / 2);
  const DegradedCircle found = find_degraded_circle(clos(4, 2 * kPairs).topology, 0, shared_asn);
  EXPECT_FALSE(found.complete);
  EXPECT_FALSE(found.any_failures);
  EXPECT_TRUE(found.devices.empty());
}

TEST(Degraded, CostFollowsKindsAndNotSwitches) {
  const SmallFabric fabric = clos(512, 128, 2);
  const DegradedCircle found = find_degraded_circle(fabric.topology, 0, std::vector<std::uint32_t>(640));
  EXPECT_TRUE(found.complete);
  EXPECT_LE(found.tried, 8U);
}

}  // namespace
}  // namespace lockstep
