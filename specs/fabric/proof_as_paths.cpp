// LS122: no route passes two switches of one AS number.
//
// BGP drops a route whose AS_PATH has its own number (RFC 4271 9.1.2), so that a number may be shared only by
// switches that no route passes twice (RFC 7938 5.2.1: one for the second tier of each cluster, one for the
// top tier).
#include <algorithm>

#include "specs/fabric/proof_context.hpp"
#include "specs/fabric/routing.hpp"

namespace lockstep {
namespace {

// A shortest path from a switch to a leaf on which another switch of its tier follows, where the tier shares
// one AS number; empty: there is none. Paths go up and then down: a group's first port stands for all.
std::vector<DeviceIndex> find_loop(const Topology& topology, FabricIndex index,
                                   const std::array<bool, 4>& one_asn) {
  const FabricRoutes routes = route(topology, index);
  std::vector<std::uint32_t> number(topology.devices.size(), kNone);
  for (std::uint32_t i = 0; i < routes.switches.size(); ++i) number[routes.switches[i]] = i;
  const auto tier = [&](DeviceIndex device) { return topology.devices[device].tier(); };
  std::vector<DeviceIndex> path;
  for (const DeviceIndex leaf : routes.destinations) {
    for (std::uint32_t destination = 0; destination < routes.destinations.size(); ++destination) {
      path.assign(1, leaf);
      for (std::uint32_t group = routes.group_of(number[leaf], destination); group != kNone;
           group = routes.group_of(number[path.back()], destination))
        path.push_back(topology.ports[topology.peer(routes.groups[group].front())].device);
      for (auto first = path.begin(); first != path.end(); ++first)
        if (one_asn[tier(*first)] && std::any_of(first + 1, path.end(), [&](DeviceIndex later) {
              return tier(later) == tier(*first);
            }))
          return {first, path.end()};
    }
  }
  return {};
}

void prove_as_path(const ProofContext& context, FabricIndex index) {
  const Fabric& fabric = context.catalog.fabrics[index];
  const FabricGraph& graph = context.topology.fabrics[index];
  if (*fabric.routing->protocol != Protocol::bgp_unnumbered) return;
  const std::array<bool, 4> one_asn = tiers_of_one_asn(fabric);
  // Only with superspines can a path pass two spines, and none passes two of those.
  const bool leaves = one_asn[1] && graph.leaves.size() > 1;
  const bool spines = one_asn[2] && graph.spines.size() > 1 && !graph.superspines.empty();
  if (!leaves && !spines) return;
  const std::vector<DeviceIndex> path = find_loop(context.topology, index, one_asn);
  if (path.empty()) return;
  const auto& devices = context.topology.devices;
  const TopologyDevice& self = devices[path.front()];
  const auto other = std::find_if(path.begin() + 1, path.end(),
                                  [&](DeviceIndex later) { return devices[later].tier() == self.tier(); });
  std::string by;  // an announcement comes the other way
  for (std::size_t i = path.size() - 1; i-- > 1;) by += (by.empty() ? "" : " - ") + devices[path[i]].name;
  const std::string role(to_string(self.role));
  const Asns& asn = *fabric.routing->asn;
  const Said<AsnRange>& range = self.role == DeviceRole::leaf ? asn.leaf : asn.spine;
  context.error("LS122", range.at,
                self.name + " drops what " + devices[path.back()].name + " announces: it comes by " + by +
                    ", and " + self.name + " and " + devices[*other].name + " share AS number " +
                    std::to_string(range->first),
                "give each " + role + " a number of its own: asn." + role + " takes a range, here of " +
                    std::to_string(graph.tier(self.tier()).size()) + " at least",
                {{place(fabric.routing->protocol, fabric.routing.at), "BGP is asked for here"}});
}

}  // namespace

std::array<bool, 4> tiers_of_one_asn(const Fabric& fabric) {
  const Asns& asn = *fabric.routing->asn;
  const auto one = [](const Said<AsnRange>& range) { return range.said && range->first == range->last; };
  return {false, one(asn.leaf), one(asn.spine), one(asn.superspine)};
}

void prove_as_paths(const ProofContext& context) {
  for (FabricIndex i = 0; i < context.topology.fabrics.size(); ++i) prove_as_path(context, i);
}

}  // namespace lockstep
