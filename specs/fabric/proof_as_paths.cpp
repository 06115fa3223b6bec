// LS122: no route passes two switches with the same AS number.
//
// BGP drops a route whose AS_PATH contains its own number (RFC 4271 9.1.2), so only switches that no route
// passes twice may share a number (RFC 7938 5.2.1: one for the second tier of each cluster, one for the top
// tier).
#include <algorithm>
#include <set>

#include "specs/fabric/proof_context.hpp"
#include "specs/fabric/routing.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// A shortest path from a switch to a leaf on which another switch with its AS number follows; empty: none.
// Paths go up and then down, so a group's first port represents all.
std::vector<DeviceIndex> find_loop(const Topology& topology, FabricIndex index,
                                   const std::vector<std::uint32_t>& shared_asn) {
  const FabricRoutes routes = route(topology, index);
  std::vector<std::uint32_t> number(topology.devices.size(), kNone);
  for (std::uint32_t i = 0; i < routes.switches.size(); ++i) number[routes.switches[i]] = i;
  std::vector<DeviceIndex> path;
  for (const DeviceIndex leaf : routes.destinations) {
    for (std::uint32_t destination = 0; destination < routes.destinations.size(); ++destination) {
      path.assign(1, leaf);
      for (std::uint32_t group = routes.group_of(number[leaf], destination); group != kNone;
           group = routes.group_of(number[path.back()], destination))
        path.push_back(topology.ports[topology.peer(routes.groups[group].front())].device);
      for (auto first = path.begin(); first != path.end(); ++first)
        if (shared_asn[*first] != 0 && std::any_of(first + 1, path.end(), [&](DeviceIndex later) {
              return shared_asn[later] == shared_asn[*first];
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
  const std::vector<std::uint32_t> shared_asn = shared_asns(context, index);
  // A path can pass two spines only through superspines, and none passes two superspines.
  const auto share = [&](const std::vector<DeviceIndex>& tier) {
    std::set<std::uint32_t> seen;
    return std::any_of(tier.begin(), tier.end(), [&](DeviceIndex one) {
      return shared_asn[one] != 0 && !seen.insert(shared_asn[one]).second;
    });
  };
  if (!share(graph.leaves) && (graph.superspines.empty() || !share(graph.spines))) return;
  const std::vector<DeviceIndex> path = find_loop(context.topology, index, shared_asn);
  if (path.empty()) return;
  const auto& devices = context.topology.devices;
  const TopologyDevice& self = devices[path.front()];
  const auto other = std::find_if(path.begin() + 1, path.end(), [&](DeviceIndex later) {
    return shared_asn[later] == shared_asn[path.front()];
  });
  std::string by;  // announcements travel in the opposite direction
  for (std::size_t i = path.size() - 1; i-- > 1;) by += (by.empty() ? "" : " - ") + devices[path[i]].name;
  const std::string role(to_string(self.role));
  const Asns& asn = *fabric.routing->asn;
  const Said<AsnRange>& range = self.role == DeviceRole::leaf ? asn.leaf : asn.spine;
  context.error("LS122", range.at,
                self.name + " drops routes of " + devices[path.back()].name + " that arrive through " + by +
                    ", because " + self.name + " and " + devices[*other].name + " both have AS number " +
                    std::to_string(shared_asn[path.front()]),
                "give each " + role + " a number of its own: asn." + role + " takes a range, here of " +
                    std::to_string(graph.tier(self.tier()).size()) + " at least",
                {{place(fabric.routing->protocol, fabric.routing.at), "BGP is enabled here"}});
}

}  // namespace

std::array<bool, 4> tiers_of_one_asn(const Fabric& fabric) {
  const Asns& asn = *fabric.routing->asn;
  const auto one = [](const Said<AsnRange>& range) { return range.said && range->first == range->last; };
  return {false, one(asn.leaf), one(asn.spine), one(asn.superspine)};
}

std::vector<std::uint32_t> shared_asns(const ProofContext& context, FabricIndex index) {
  const Fabric& fabric = context.catalog.fabrics[index];
  const Asns& asn = *fabric.routing->asn;
  const std::array<std::uint32_t, 4> of_tier{0, asn.leaf->first, asn.spine->first, asn.superspine->first};
  const std::array<bool, 4> one = tiers_of_one_asn(fabric);
  std::vector<std::uint32_t> out(context.topology.devices.size());
  for (unsigned tier = 1; tier < one.size(); ++tier)
    for (const DeviceIndex device : context.topology.fabrics[index].tier(tier))
      out[device] = one[tier] ? of_tier[tier] : 0;
  for (const Override& said : fabric.overrides) {
    const Said<Literal>* const number = find_entry(said.set, "bgp/asn");
    const Result<std::vector<std::string>> names = expand_hostlist(*said.names);
    if (number == nullptr || !names) continue;
    for (const std::string& name : *names)
      if (const DeviceIndex device = context.topology.find_device(name); device != kNone)
        out[device] = static_cast<std::uint32_t>((*number)->integer);
  }
  return out;
}

void prove_as_paths(const ProofContext& context) {
  for (FabricIndex i = 0; i < context.topology.fabrics.size(); ++i) prove_as_path(context, i);
}

}  // namespace lockstep
