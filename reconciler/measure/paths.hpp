// Paths: which devices and links the traffic of two endpoints may cross, under any hash outcome.
//
// Promises: from the topology's own routes (specs/fabric/routing), so that rounds, blast radius and the ideal
// model speak of the same links. A link has two directions: 2 * LinkIndex from its end a to b, + 1 from b to
// a. Paths between leaves are computed once. Refuses nothing: a pair without a path by design has none.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "specs/fabric/routing.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

struct CrossedPath {
  std::vector<DeviceIndex> devices;  // sorted, both ends included
  std::vector<std::uint32_t> links;  // directed, sorted
  std::vector<std::vector<std::uint32_t>>
      stages;                        // each a choice between equal links, in order; fixed links apart
  std::vector<std::uint32_t> fixed;  // directed links that every packet crosses
};

class FabricPaths {
 public:
  FabricPaths(const Topology& topology, FabricIndex fabric);
  // From one host's endpoint to another's; none where the fabric has no path between them.
  std::optional<CrossedPath> between(const Endpoint& from, const Endpoint& to);

 private:
  const CrossedPath* between_leaves(DeviceIndex from, DeviceIndex to);
  const Topology& topology_;
  FabricRoutes routes_;
  std::map<DeviceIndex, std::size_t> switch_number_;
  std::map<DeviceIndex, std::size_t> destination_number_;
  std::map<std::pair<DeviceIndex, DeviceIndex>, std::optional<CrossedPath>> leaf_paths_;
};

}  // namespace lockstep
