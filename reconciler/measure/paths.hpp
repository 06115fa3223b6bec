// Paths: the devices and links that the traffic between two endpoints may cross, under any hash outcome.
//
// Promises: derived from the topology's own routes (specs/fabric/routing), so that rounds, blast radius and
// the ideal model use the same links. A link has two directions: 2 * LinkIndex from its end a to b, + 1 from
// b to a. Paths between leaves are computed once. A pair without a path by design has none.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "specs/fabric/routing.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

struct CrossedPath {
  std::vector<DeviceIndex> devices;  // sorted, both ends included
  std::vector<std::uint32_t> links;  // directed, sorted
  std::vector<std::vector<std::uint32_t>>
      stages;                        // each a choice between equal links, in order; without fixed links
  std::vector<std::uint32_t> fixed;  // directed links that every packet crosses
};

// The direction in which a packet leaves through `port`.
std::uint32_t directed(const Topology& topology, PortIndex port);
// The port that sends into a directed link, and the one that receives from it.
PortIndex sending_port(const Topology& topology, std::uint32_t directed_link);
PortIndex receiving_port(const Topology& topology, std::uint32_t directed_link);

class FabricPaths {
 public:
  FabricPaths(const Topology& topology, FabricIndex fabric);
  // From one host's endpoint to another's; none where the fabric has no path between them.
  std::optional<CrossedPath> between(const Endpoint& from, const Endpoint& to);
  // Without the hosts and their links; null: no path, or both are the same leaf.
  const CrossedPath* between_leaves(DeviceIndex from, DeviceIndex to);

  // Leaves are numbered separately here.
  std::uint32_t leaf_count() const { return static_cast<std::uint32_t>(routes_.destinations.size()); }
  DeviceIndex leaf(std::uint32_t number) const { return routes_.destinations[number]; }
  std::uint32_t leaf_number(DeviceIndex leaf) const { return destination_number_[leaf]; }
  bool has_path(std::uint32_t from, std::uint32_t to) const {
    return from == to || group(leaf(from), to) != kNone;
  }
  // The ports through which a switch sends to a leaf; null: none.
  const std::vector<PortIndex>* towards(DeviceIndex device, std::uint32_t leaf) const {
    const std::uint32_t ports = group(device, leaf);
    return ports == kNone ? nullptr : &routes_.groups[ports];
  }
  bool leads(PortIndex port, std::uint32_t leaf) const;
  // Visits leaves whose traffic to `leaf` may cross `device`, until `found` returns true. `first`: the port
  // of the device behind which the search starts.
  bool for_sources(DeviceIndex device, std::uint32_t leaf, std::size_t first,
                   const std::function<bool(std::uint32_t source)>& found);

 private:
  std::uint32_t group(DeviceIndex device, std::uint32_t leaf) const {
    return switch_number_[device] == kNone ? kNone : routes_.group_of(switch_number_[device], leaf);
  }
  bool search(DeviceIndex device, std::uint32_t leaf, std::size_t first,
              const std::function<bool(std::uint32_t source)>& found);

  const Topology& topology_;
  FabricIndex fabric_;
  FabricRoutes routes_;
  std::vector<std::uint32_t> switch_number_;       // by device; kNone: not a switch of this fabric
  std::vector<std::uint32_t> destination_number_;  // by device; kNone: not a leaf
  std::unordered_map<std::uint64_t, std::optional<CrossedPath>> leaf_paths_;  // by both leaves
  std::vector<std::uint32_t> seen_;  // by device: the last search that visited it
  std::uint32_t searches_ = 0;
};

}  // namespace lockstep
