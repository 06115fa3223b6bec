// Routing: the ports through which each switch must reach each leaf's block: the ECMP sets that BGP converges
// to over a folded Clos.
//
// Promises: shortest paths among those that go up and then down, never up again (a leaf is no transit, and
// the spines' shared ASN forbids it: RFC 7938 5.2.1); equal sets are stored once. Pure graph work on
// forwarding classes: leaves with the same uplinks are computed together, so the cost grows with links, not
// with pairs of leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct FabricRoutes {
  std::vector<DeviceIndex> destinations;       // the fabric's leaves
  std::vector<DeviceIndex> switches;           // leaves, spines, superspines
  std::vector<std::vector<PortIndex>> groups;  // ports in path order; all on one switch
  std::vector<std::uint32_t> group;            // [switch number * destinations + destination number]
  // The ports towards a destination; empty for the destination itself and if there is no path.
  std::uint32_t group_of(std::size_t switch_number, std::size_t destination_number) const {
    return group[switch_number * destinations.size() + destination_number];
  }
};

FabricRoutes route(const Topology& topology, FabricIndex fabric);

}  // namespace lockstep
