// Proofs about how flows are spread over equal paths: seeds that differ by tier (LS109), fields that
// distinguish flows (LS127).
#include <algorithm>
#include <array>

#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

void prove_seeds_differ(const ProofContext& context, const Fabric& fabric) {
  const HashSeeds& seeds = *fabric.routing->load_balancing->seeds;
  const std::array<std::pair<const Said<std::uint32_t>*, std::string_view>, 3> tiers{
      {{&seeds.leaf, "leaves"}, {&seeds.spine, "spines"}, {&seeds.superspine, "superspines"}}};
  for (std::size_t high = 1; high < tiers.size(); ++high)
    for (std::size_t low = 0; low < high; ++low) {
      if (!tiers[low].first->said || !tiers[high].first->said || **tiers[low].first != **tiers[high].first)
        continue;
      context.error("LS109", tiers[high].first->at,
                    std::string(tiers[high].second) + " hash with the seed of the " +
                        std::string(tiers[low].second) + ", " + std::to_string(**tiers[high].first),
                    "give each tier its own seed", {{tiers[low].first->at, "the same seed"}});
      break;
    }
}

// Whether the device has a driver of that name.
bool is_driven_by(const TopologyDevice& device, DriverName name) {
  return std::find(device.drivers.begin(), device.drivers.end(), name) != device.drivers.end();
}

DeviceIndex driven_by(const Topology& topology, const std::vector<DeviceIndex>& tier, DriverName name) {
  const auto found = std::find_if(tier.begin(), tier.end(), [&](DeviceIndex device) {
    return is_driven_by(topology.devices[device], name);
  });
  return found == tier.end() ? kNone : *found;
}

bool all_driven_by(const Topology& topology, const std::vector<DeviceIndex>& tier, DriverName name) {
  return std::all_of(tier.begin(), tier.end(),
                     [&](DeviceIndex device) { return is_driven_by(topology.devices[device], name); });
}

// Leaves choose among spines and spines among superspines, and no line sets the seeds. A Linux switch seeds
// itself: mlxsw by its base MAC (spectrum_router.c, mlxsw_sp_mp_hash_init), software at random
// (ip-sysctl.rst, fib_multipath_hash_seed). SONiC reads no seed from its configuration: it renders one by
// DEVICE_METADATA.type, and the same one, 25, for SpineRouter, FabricSpineRouter and UpperSpineRouter
// (sonic-buildimage@086b03bd docker-orchagent/switch.json.j2, rendered).
void prove_seeds_known(const ProofContext& context, FabricIndex index) {
  const Fabric& fabric = context.catalog.fabrics[index];
  const FabricGraph& graph = context.topology.fabrics[index];
  const LoadBalancing& balancing = *fabric.routing->load_balancing;
  if (!fabric.routing.said || *fabric.routing->protocol == Protocol::none) return;
  if (graph.superspines.size() < 2 || *balancing.mode != Spreading::static_hash) return;
  const Position at = place(balancing.seeds, place(fabric.routing->load_balancing, fabric.routing.at));
  const DeviceIndex sonic = driven_by(context.topology, graph.spines, DriverName::sonic);
  if (sonic != kNone)
    return context.warning(
        "LS109", at,
        context.topology.devices[sonic].name +
            " runs SONiC, which takes no hash seed from its configuration: two tiers may have the same",
        "give each tier another DEVICE_METADATA type, and compare ecmp_hash_seed in APPL_DB SWITCH_TABLE: "
        "SpineRouter, FabricSpineRouter and UpperSpineRouter all have 25 (switch.json.j2)",
        {{context.platform_at(sonic), "its DeviceSet"}});
  const HashSeeds& seeds = *balancing.seeds;
  const bool said = seeds.leaf.said && seeds.spine.said;
  const bool linux = all_driven_by(context.topology, graph.leaves, DriverName::linux_kernel) &&
                     all_driven_by(context.topology, graph.spines, DriverName::linux_kernel);
  if (said || linux) return;
  context.warning(
      "LS109", at,
      "leaves choose a spine and spines a superspine, and no line says with which seeds: with equal "
      "ones spines use a part of their links only",
      "add loadBalancing: {seeds: {leaf: 10, spine: 25, superspine: 40}}");
}

bool has(const LoadBalancing& balancing, HashField field) {
  return std::any_of(balancing.hash_fields.begin(), balancing.hash_fields.end(),
                     [field](const Said<HashField>& one) { return *one == field; });
}

bool has_rdma(const ProofContext& context, FabricIndex index) {
  const auto& endpoints = context.topology.fabrics[index].endpoints;
  return context.profiles[index] != nullptr ||
         std::any_of(endpoints.begin(), endpoints.end(),
                     [&](const Endpoint& one) { return context.topology.ports[one.port].rdma; });
}

// The flows of two NICs differ in the source port and the destination QP, in IPv6 also in the flow label; the
// destination port is 4791 for all (InfiniBand Architecture annex A17.9.2; RFC 6438 for labels).
void prove_fields(const ProofContext& context, FabricIndex index) {
  const Fabric& fabric = context.catalog.fabrics[index];
  const LoadBalancing& balancing = *fabric.routing->load_balancing;
  if (balancing.hash_fields.empty() || *balancing.mode == Spreading::per_packet) return;
  if (context.topology.fabrics[index].spines.empty()) return;  // one path
  const Addressing& addressing = *fabric.addressing;
  const bool ipv4 =
      addressing.hosts.said ? !addressing.hosts->address.v6 : *addressing.family == Family::ipv4;
  if (has(balancing, HashField::src_port) || has(balancing, HashField::dst_qp) ||
      (has(balancing, HashField::flow_label) && !ipv4))
    return;
  const Position at = balancing.hash_fields.front().at;
  constexpr std::string_view kRight = "hashFields: [src-ip, dst-ip, src-port, dst-port, protocol]";
  const bool pairs = (has(balancing, HashField::src_ip) && has(balancing, HashField::dst_ip)) ||
                     (has(balancing, HashField::inner_src_ip) && has(balancing, HashField::inner_dst_ip));
  if (!pairs)
    return context.error(
        "LS127", at,
        "these fields hardly differ between flows: many share one path, and the others stay "
        "empty" +
            std::string(has(balancing, HashField::dst_port) ? " (RoCE's destination port is always 4791)"
                                                            : "") +
            std::string(has(balancing, HashField::flow_label) ? " (an IPv4 packet has no flow label)" : ""),
        std::string(kRight));
  if (*balancing.mode != Spreading::static_hash || !has_rdma(context, index)) return;
  context.warning(
      "LS127", at,
      "all RDMA between two NICs takes one path: it has one pair of addresses, and these fields see "
      "no more of it",
      "add src-port, which differs by queue pair: " + std::string(kRight));
}

}  // namespace

void prove_spreading(const ProofContext& context) {
  for (FabricIndex i = 0; i < context.topology.fabrics.size(); ++i) {
    prove_seeds_differ(context, context.catalog.fabrics[i]);
    prove_seeds_known(context, i);
    prove_fields(context, i);
  }
}

}  // namespace lockstep
