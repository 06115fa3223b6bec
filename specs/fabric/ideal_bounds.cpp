#include "specs/fabric/ideal_bounds.hpp"

#include <algorithm>
#include <map>

#include "specs/fabric/lossless.hpp"

namespace lockstep {
namespace {

// The links of a leaf, upwards and to hosts.
struct LeafLinks {
  std::uint64_t up = 0;
  std::uint64_t fastest_up = 0;
  std::uint64_t host_speed = 0;                    // of its fastest host link
  std::map<std::uint32_t, std::uint32_t> by_rail;  // endpoints
};

struct LeafTable {
  std::map<DeviceIndex, LeafLinks> leaves;
  std::map<std::uint32_t, std::uint32_t> rail_total;   // endpoints
  std::map<std::uint32_t, std::uint32_t> rail_leaves;  // leaves that a rail spans
};

LeafTable table_of(const Topology& topology, FabricIndex fabric) {
  LeafTable out;
  const FabricGraph& graph = topology.fabrics[fabric];
  for (const DeviceIndex leaf : graph.leaves) out.leaves[leaf];
  for (const LinkIndex index : graph.links) {
    const TopologyLink& link = topology.links[index];
    const auto leaf = out.leaves.find(topology.ports[link.a].device);
    if (leaf == out.leaves.end()) continue;
    leaf->second.up += link.speed;
    leaf->second.fastest_up = std::max(leaf->second.fastest_up, link.speed);
  }
  for (const Endpoint& endpoint : graph.endpoints) {
    LeafLinks& leaf = out.leaves[endpoint.leaf];
    leaf.host_speed = std::max(leaf.host_speed, topology.links[endpoint.link].speed);
    if (leaf.by_rail[endpoint.rail]++ == 0) ++out.rail_leaves[endpoint.rail];
    ++out.rail_total[endpoint.rail];
  }
  return out;
}

void lower_to(BestShare& out, double share, DeviceIndex leaf, const LeafLinks& links, std::string because) {
  if (share >= out.share) return;
  out = {.share = share, .leaf = leaf, .speed = links.host_speed, .because = std::move(because)};
}

double ratio(double part, double whole) { return whole <= 0 ? 1 : std::min(1.0, part / whole); }

// Rounded to whole Gbit/s if large enough: the demand is a share that is rarely a round number.
std::uint64_t in_gigabits(double demand) {
  constexpr std::uint64_t kGiga = 1'000'000'000;
  const auto exact = static_cast<std::uint64_t>(demand);
  return exact < kGiga ? exact : exact / kGiga * kGiga;
}

// One flow over the best path: it can't exceed the fastest uplink, or all of them together if it is sprayed.
void bound_flow(BestShare& out, const Topology& topology, DeviceIndex leaf, const LeafLinks& links,
                bool per_packet) {
  const std::uint64_t best = per_packet ? links.up : links.fastest_up;
  lower_to(out, ratio(static_cast<double>(best), static_cast<double>(links.host_speed)), leaf, links,
           topology.devices[leaf].name + (per_packet ? " has uplinks of " : " has no uplink above ") +
               format(BitRate{best}) + (per_packet ? " together" : "") + ", and hosts' links of " +
               format(BitRate{links.host_speed}));
}

// Traffic that must leave the leaf at the same time, in endpoints.
double leaving(const LeafTable& table, const LeafLinks& links, Workload workload) {
  double sum = 0;
  for (const auto& [rail, members] : links.by_rail) {
    const double total = table.rail_total.at(rail);
    if (table.rail_leaves.at(rail) < 2) continue;
    // A ring in rank order crosses a leaf's border once each way; all-to-all sends equally to every other
    // rank.
    sum += workload == Workload::ring_allreduce ? 1 : members * (total - members) / (total - 1);
  }
  return sum;
}

bool crosses_leaves(const LeafTable& table, const LeafLinks& links, PairChoice pairs) {
  using Way = PairChoice::Way;
  if (table.leaves.size() < 2 || links.by_rail.empty()) return false;
  if (pairs.way == Way::all || pairs.way == Way::cross_leaf) return true;
  return std::any_of(links.by_rail.begin(), links.by_rail.end(),
                     [&](const auto& one) { return table.rail_leaves.at(one.first) > 1; });
}

}  // namespace

BestShare best_share(const Topology& topology, FabricIndex fabric, Workload workload, PairChoice pairs,
                     bool per_packet) {
  BestShare out;
  const LeafTable table = table_of(topology, fabric);
  const bool collective = workload == Workload::ring_allreduce || workload == Workload::all_to_all;
  const bool flows = workload == Workload::write_bandwidth || workload == Workload::read_bandwidth ||
                     workload == Workload::stream;
  if (!collective && !flows) return out;
  for (const auto& [leaf, links] : table.leaves) {
    if (links.up == 0 || links.host_speed == 0) continue;  // no path by design, or no hosts
    if (flows) {
      if (crosses_leaves(table, links, pairs)) bound_flow(out, topology, leaf, links, per_packet);
      continue;
    }
    const double demand = leaving(table, links, workload) * static_cast<double>(links.host_speed);
    if (demand <= 0) continue;
    bound_flow(out, topology, leaf, links, per_packet || workload == Workload::all_to_all);
    lower_to(out, ratio(static_cast<double>(links.up), demand), leaf, links,
             "the uplinks of " + topology.devices[leaf].name + " carry " + format(BitRate{links.up}) +
                 " together, and " + format(BitRate{in_gigabits(demand)}) + " must leave it at full rate");
  }
  return out;
}

double least_latency(const Topology& topology, FabricIndex fabric) {
  constexpr double kNanosecondsPerMillimetre = 1e9 / kMetresPerSecond / 1e3;
  std::map<std::pair<std::uint32_t, DeviceIndex>, std::uint64_t> longest;  // by rail and leaf: its host links
  std::map<std::uint32_t, std::uint64_t> best;
  for (const Endpoint& endpoint : topology.fabrics[fabric].endpoints) {
    std::uint64_t& known = longest[{endpoint.rail, endpoint.leaf}];
    const std::uint64_t length = topology.links[endpoint.link].cable_length;
    best[endpoint.rail] = std::max(best[endpoint.rail], known + length);
    known = std::max(known, length);
  }
  std::uint64_t most = 0;
  for (const auto& [rail, length] : best) most = std::max(most, length);
  return static_cast<double>(most) * kNanosecondsPerMillimetre;
}

}  // namespace lockstep
