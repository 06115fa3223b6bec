// Proofs about paths and numbers: MTU, pools, disconnected leaves.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

void prove_mtu(const ProofContext& context, const Fabric& fabric) {
  const Mtu& mtu = *fabric.mtu;
  if (!mtu.host.said || !mtu.fabric.said || *mtu.host <= *mtu.fabric) return;
  context.error("LS105", mtu.host.at,
                "hosts send packets of " + std::to_string(*mtu.host) +
                    " bytes, and links between switches take " + std::to_string(*mtu.fabric),
                "mtu.fabric must be at least mtu.host", {{mtu.fabric.at, "set here"}});
}

struct Pool {
  const Said<IpPrefix>* prefix;
  std::string_view field;
};

std::vector<Pool> pools_of(const Fabric& fabric) {
  std::vector<Pool> out;
  if (fabric.addressing->hosts.said) out.push_back({&fabric.addressing->hosts, "hosts"});
  if (fabric.addressing->loopbacks.said) out.push_back({&fabric.addressing->loopbacks, "loopbacks"});
  for (const Vlan& vlan : fabric.vlans)
    if (vlan.subnet.said) out.push_back({&vlan.subnet, "a VLAN's subnet"});
  return out;
}

std::vector<const Said<AsnRange>*> ranges_of(const Fabric& fabric) {
  std::vector<const Said<AsnRange>*> out;
  const Asns& asn = *fabric.routing->asn;
  for (const Said<AsnRange>* range : {&asn.host, &asn.leaf, &asn.spine, &asn.superspine})
    if (range->said) out.push_back(range);
  return out;
}

// Fabrics in different VRFs may use the same addresses.
void prove_pools(const ProofContext& context, const Fabric& a, const Fabric& b) {
  if (*a.vrf != *b.vrf) return;
  const std::string other = "Fabric/" + *a.metadata.name;
  for (const Pool& first : pools_of(a))
    for (const Pool& second : pools_of(b))
      if ((**first.prefix).overlaps(**second.prefix))
        context.error("LS106", second.prefix->at,
                      std::string(second.field) + " " + (**second.prefix).text() + " overlaps " +
                          std::string(first.field) + " of " + other + ", " + (**first.prefix).text(),
                      "choose another prefix, or give the fabrics different vrfs",
                      {{first.prefix->at, "set here"}});
  for (const auto* first : ranges_of(a))
    for (const auto* second : ranges_of(b))
      if ((*first)->first <= (*second)->last && (*second)->first <= (*first)->last)
        context.error(
            "LS106", second->at,
            "the AS numbers " + format(**second) + " overlap those of " + other + ", " + format(**first),
            "choose another range: a route that passes both would be dropped as a loop",
            {{first->at, "set here"}});
}

// Leaves whose hosts must have a path to each other are in one plane and, except with leaf-spine, in one
// rail: rails may have their own spines, because traffic between rails crosses the hosts' NVLink (Wang et
// al., Rail-only, HotI 2024; NCCL's PXN).
using Reach = std::pair<std::uint32_t, std::uint32_t>;

// Which leaves are connected by a path that goes up and then down, as routes do (routing.hpp).
class Joined {
 public:
  Joined(const Topology& topology, FabricIndex fabric) : topology_(topology), fabric_(fabric) {}

  bool are(DeviceIndex a, DeviceIndex b) {
    return meet(next_above(a), next_above(b)) || meet(above(a), above(b));
  }

  // A switch's neighbours in its own tier or above. Leaves with the same ones are alike.
  std::vector<DeviceIndex> next_above(DeviceIndex device) const {
    std::vector<DeviceIndex> out;
    for (const TopologyPort& port : topology_.ports_of(device)) {
      if (port.link == kNone || topology_.links[port.link].fabric != fabric_) continue;
      const TopologyLink& link = topology_.links[port.link];
      for (const PortIndex end : {link.a, link.b}) {
        const DeviceIndex other = topology_.ports[end].device;
        if (other != device && topology_.devices[other].tier() >= topology_.devices[device].tier())
          out.push_back(other);
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  static bool meet(const std::vector<DeviceIndex>& first, const std::vector<DeviceIndex>& second) {
    std::vector<DeviceIndex> both;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
    return !both.empty();
  }

  const std::vector<DeviceIndex>& above(DeviceIndex leaf) {
    const auto [at, fresh] = above_.try_emplace(leaf);
    if (!fresh) return at->second;
    std::set<DeviceIndex> seen;
    std::vector<DeviceIndex> left = next_above(leaf);
    while (!left.empty()) {
      const DeviceIndex self = left.back();
      left.pop_back();
      if (!seen.insert(self).second) continue;
      const std::vector<DeviceIndex> more = next_above(self);
      left.insert(left.end(), more.begin(), more.end());
    }
    return at->second = {seen.begin(), seen.end()};
  }

  const Topology& topology_;
  FabricIndex fabric_;
  std::map<DeviceIndex, std::vector<DeviceIndex>> above_;
};

void prove_joined(const ProofContext& context, FabricIndex index) {
  const Fabric& fabric = context.catalog.fabrics[index];
  if (!fabric.routing.said || *fabric.routing->protocol == Protocol::none) return;
  Joined joined(context.topology, index);
  std::map<std::vector<DeviceIndex>, std::uint32_t> kinds;
  std::vector<std::uint32_t> kind(context.topology.devices.size());
  for (const DeviceIndex leaf : context.topology.fabrics[index].leaves)
    kind[leaf] =
        kinds.try_emplace(joined.next_above(leaf), static_cast<std::uint32_t>(kinds.size())).first->second;
  // Two of a set of equal leaves represent all: if these are connected, so are the others.
  std::map<Reach, std::map<std::uint32_t, std::set<DeviceIndex>>> leaves;
  for (const Endpoint& endpoint : context.topology.fabrics[index].endpoints) {
    const std::uint32_t rail = *fabric.topology == TopologyKind::leaf_spine ? 0 : endpoint.rail;
    std::set<DeviceIndex>& alike = leaves[{rail, endpoint.plane}][kind[endpoint.leaf]];
    if (alike.size() < 2) alike.insert(endpoint.leaf);
  }
  for (const auto& [reach, by_kind] : leaves) {
    std::vector<DeviceIndex> all;
    for (const auto& [number, alike] : by_kind) all.insert(all.end(), alike.begin(), alike.end());
    for (std::size_t j = 1; j < all.size(); ++j)
      for (std::size_t i = 0; i < j; ++i) {
        if (joined.are(all[i], all[j])) continue;
        const auto name = [&](DeviceIndex leaf) { return context.topology.devices[leaf].name; };
        const DeviceIndex first = std::min(all[i], all[j]);
        const DeviceIndex second = std::max(all[i], all[j]);
        return context.error(
            "LS126", place(fabric.topology, fabric.at),
            "no path that goes up and then down joins " + name(first) + " and " + name(second) +
                ": hosts of " +
                (*fabric.topology == TopologyKind::leaf_spine ? "this fabric"
                                                              : "rail " + std::to_string(reach.first)) +
                " can't reach each other",
            "cable both to a spine, or their spines to a superspine; networks that are apart are Fabrics of "
            "their own");
      }
  }
}

}  // namespace

void prove_paths(const ProofContext& context) {
  const auto& fabrics = context.catalog.fabrics;
  for (FabricIndex i = 0; i < fabrics.size() && i < context.topology.fabrics.size(); ++i) {
    prove_mtu(context, fabrics[i]);
    for (FabricIndex j = 0; j < i; ++j) prove_pools(context, fabrics[j], fabrics[i]);
    prove_joined(context, i);
  }
}

}  // namespace lockstep
