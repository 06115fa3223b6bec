// The remaining capacity of a fabric while some of it is down, for a rollout policy's minCapacity.
//
// Promises: leaf pairs are evaluated by class (leaves with the same uplinks), never host pairs, so that one
// query costs milliseconds at 512 leaves x 128 spines; with nothing down every figure is 1. A pair's capacity
// is the sum, over the spines that both leaves are connected to, of the smaller of their two capacities to
// the spine; leaves that share no spine go through superspines (bounded by either leaf's uplinks and by the
// capacity of both sides to each superspine). Not counted: pairs that never had a path, and pairs of leaves
// that are down themselves (their hosts are in `cut_off`), except for leaves that return soon. Taking more
// devices down therefore never raises a figure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct Down {
  std::vector<DeviceIndex> devices;
  std::vector<LinkIndex> links;
  std::vector<DeviceIndex> returning{};  // those of the devices that return soon
};

struct Remaining {
  // By tier (DeviceRole), compared with minCapacity: for leaf, the smallest remaining share of a host's
  // links; for spine, the smallest remaining share of a leaf pair's capacity through spines; for superspine,
  // through superspines. host is always 1: the redundancy of hosts is the scheduler's task.
  std::array<double, 4> smallest{1, 1, 1, 1};
  // By tier: the remaining share of the tier's total capacity downwards.
  std::array<double, 4> total{1, 1, 1, 1};
  // The devices behind smallest[tier]: a host (twice), or two leaves. kNone: nothing is reduced.
  std::array<std::array<DeviceIndex, 2>, 4> worst{
      {{kNone, kNone}, {kNone, kNone}, {kNone, kNone}, {kNone, kNone}}};
  std::vector<DeviceIndex> cut_off;  // hosts that are up and lost the last leaf of a rail, by index
};

// The graph of one fabric, prepared once; queries are const and independent of each other.
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
  // Leaves with the same capacity to each spine and, through the spines, to each superspine.
  struct Reach {
    std::uint32_t leaf = 0;  // the first of these leaves
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
