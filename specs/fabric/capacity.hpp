// What is left of a fabric while some of it is down: the question behind a rollout policy's minCapacity.
//
// Promises: leaf pairs are judged by class (leaves with the same uplinks), never host pairs, so that one
// question costs milliseconds at 512 leaves x 128 spines; the empty set leaves 1 everywhere. A pair's
// capacity is the sum over the spines that both reach of the smaller of their two capacities to it; leaves
// that share no spine go through superspines (bounded by either leaf's uplinks and by what both sides reach
// of each superspine). Pairs that never had a path are not counted; neither are those of leaves that are down
// themselves (their hosts are in `cut_off`), but for leaves that are back before long: then taking more down
// never raises a figure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct Down {
  std::vector<DeviceIndex> devices;
  std::vector<LinkIndex> links;
  std::vector<DeviceIndex> returning{};  // of the devices, those that are back before long
};

struct Remaining {
  // By tier (DeviceRole), what minCapacity is compared with: for leaf, the smallest share of a host's links
  // that is left; for spine, the smallest share of a leaf pair's capacity through spines; for superspine,
  // through superspines. host is always 1: a host's redundancy is the scheduler's.
  std::array<double, 4> smallest{1, 1, 1, 1};
  // By tier: the share of the tier's whole capacity downwards that is left.
  std::array<double, 4> total{1, 1, 1, 1};
  // The devices behind smallest[tier]: a host (twice), or two leaves. kNone: nothing is reduced.
  std::array<std::array<DeviceIndex, 2>, 4> worst{
      {{kNone, kNone}, {kNone, kNone}, {kNone, kNone}, {kNone, kNone}}};
  std::vector<DeviceIndex> cut_off;  // hosts, up themselves, that lost the last leaf of a rail, by index
};

// One fabric's graph, prepared once; then each question is independent of the others and const.
class FabricCapacity {
 public:
  FabricCapacity(const Topology& topology, FabricIndex fabric);
  Remaining without(const Down& down) const;

 private:
  struct Uplink {
    std::uint32_t to = 0;  // place in the next tier
    std::uint64_t speed = 0;
    LinkIndex link = 0;
  };
  struct Tier {
    std::vector<DeviceIndex> devices;
    std::vector<std::vector<Uplink>> up;
  };
  // Leaves that are reached alike: capacity to each spine, and by way of those to each superspine.
  struct Reach {
    std::uint32_t leaf = 0;  // the first of them
    std::uint32_t members = 1;
    std::vector<std::uint64_t> before, now;            // by spine
    std::vector<std::uint64_t> before_over, now_over;  // by superspine
    std::uint64_t up_before = 0, up_now = 0;
  };
  struct Marks {
    std::vector<char> device, link, returning;
  };
  Tier tier(const std::vector<DeviceIndex>& lower, const std::vector<DeviceIndex>& upper) const;
  Reach reach(std::uint32_t leaf, const Marks& marks) const;
  std::vector<Reach> classes(const Marks& marks) const;
  void judge_pair(const Reach& a, const Reach& b, Remaining& out) const;
  void judge_hosts(const Marks& marks, Remaining& out) const;
  void judge_totals(const Marks& marks, Remaining& out) const;

  const Topology* topology_;
  const FabricGraph* graph_;
  Tier leaves_;
  Tier spines_;
  std::size_t superspines_ = 0;
  std::vector<std::uint32_t> leaf_class_;  // by leaf: the first leaf with the same uplinks
};

}  // namespace lockstep
