// Proofs that goals can be met: SLOs with the links, minCapacity with the redundancy, maximum rates with the
// links' speeds.
#include <map>

#include "specs/fabric/capacity.hpp"
#include "specs/fabric/ideal_bounds.hpp"
#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

std::string percent(double share) {
  return format(Ratio{static_cast<std::uint32_t>(share * 1e6 / 1e4) * 10'000});  // whole percents
}

struct Goal {
  const ProofContext& context;
  FabricIndex fabric;
  const Benchmark& benchmark;

  void prove() const {
    for (const Slo& one : benchmark.slo) {
      if (*one.metric == Metric::latency) prove_latency(one);
      if (*one.metric == Metric::bandwidth || *one.metric == Metric::busbw) prove_rate(one);
    }
  }

  void prove_rate(const Slo& one) const {
    if (!one.at_least.said || one.at_least->of == Bound::Of::baseline) return;
    if (is_above_all_links(one)) return;
    const bool flows = *one.metric == Metric::bandwidth;
    if (flows && *one.statistic != Statistic::min) return;  // other pairs may do better
    const Fabric& said = context.catalog.fabrics[fabric];
    const auto& mode = said.routing->load_balancing->mode;
    const BestShare best = best_share(context.topology, fabric, *benchmark.workload, *benchmark.pairs,
                                      *mode == Spreading::per_packet);
    if (best.leaf == kNone) return;
    const Bound& bound = *one.at_least;
    const double wanted = bound.unit == Bound::Unit::rate ? static_cast<double>(bound.rate.bits_per_second) /
                                                                static_cast<double>(best.speed)
                                                          : bound.ratio.fraction();
    if (wanted <= best.share) return;
    std::vector<Related> related;
    for (const TopologyPort& port : context.topology.ports_of(best.leaf)) {
      if (port.link == kNone) continue;
      const TopologyLink& link = context.topology.links[port.link];
      if (link.fabric != fabric || context.topology.ports[link.a].device != best.leaf) continue;
      related.push_back({link.at, "its uplinks are cabled here"});
      break;
    }
    context.error("LS111", one.at_least.at,
                  *benchmark.name + " can't reach " + format(bound) + ": " + best.because +
                      ", so that at best " + percent(best.share) + " of a host's link is to be had",
                  "more or faster uplinks, or a lower SLO", std::move(related));
  }

  // No pair and no rank is faster than the fastest link of a host. Reports whether more is required.
  bool is_above_all_links(const Slo& one) const {
    const TopologyLink* fastest = nullptr;
    for (const Endpoint& endpoint : context.topology.fabrics[fabric].endpoints) {
      const TopologyLink& link = context.topology.links[endpoint.link];
      if (link.speed == 0) return false;  // a missing speed is reported elsewhere
      if (fastest == nullptr || link.speed > fastest->speed) fastest = &link;
    }
    const Bound& bound = *one.at_least;
    if (fastest == nullptr || bound.unit != Bound::Unit::rate || bound.rate.bits_per_second <= fastest->speed)
      return false;
    context.error("LS111", one.at_least.at,
                  *benchmark.name + " can't reach " + format(bound) + ": no host's link is faster than " +
                      format(BitRate{fastest->speed}),
                  "a lower SLO, or a share such as 90% of nominal",
                  {{place(fastest->speed_at, fastest->at), "the fastest is this one"}});
    return true;
  }

  void prove_latency(const Slo& one) const {
    if (!one.at_most.said || one.at_most->unit != Bound::Unit::time || one.at_most->of != Bound::Of::absolute)
      return;
    const double least = least_latency(context.topology, fabric);
    if (static_cast<double>(one.at_most->time.count()) >= least) return;
    context.error("LS111", one.at_most.at,
                  *benchmark.name + " can't take " + format(*one.at_most) + ": the cables alone take " +
                      format(Duration{static_cast<std::int64_t>(least)}),
                  "a signal needs about 5 ns for a metre");
  }
};

// Devices of a tier that capacity treats alike are tried once.
std::vector<DeviceIndex> kinds_of(const Topology& topology, const std::vector<DeviceIndex>& tier) {
  std::map<std::vector<std::uint64_t>, DeviceIndex> kinds;
  for (const DeviceIndex device : tier) {
    std::map<std::uint64_t, std::uint64_t> links;
    for (const TopologyPort& port : topology.ports_of(device))
      if (port.link != kNone)
        ++links[std::uint64_t{topology.links[port.link].law} << 32 | topology.links[port.link].plane];
    std::vector<std::uint64_t> key;
    for (const auto& [law, count] : links) key.insert(key.end(), {law, count});
    kinds.try_emplace(std::move(key), device);
  }
  std::vector<DeviceIndex> out;
  for (const auto& [key, device] : kinds) out.push_back(device);
  return out;
}

void prove_capacity(const ProofContext& context, const RolloutPolicy& policy, FabricIndex fabric,
                    const FabricCapacity& capacity) {
  const MinCapacity& least = *policy.min_capacity;
  const std::array<const Said<Ratio>*, 4> wanted{&least.host, &least.leaf, &least.spine, &least.superspine};
  for (unsigned tier = static_cast<unsigned>(DeviceRole::leaf); tier < wanted.size(); ++tier) {
    if (!wanted[tier]->said) continue;
    double best = -1;
    DeviceIndex device = kNone;
    for (const DeviceIndex one : kinds_of(context.topology, context.topology.fabrics[fabric].tier(tier))) {
      const double left = capacity.without({.devices = {one}, .links = {}}).smallest[tier];
      if (left <= best) continue;
      best = left;
      device = one;
    }
    if (device == kNone || best >= (*wanted[tier])->fraction()) continue;
    const std::string role(to_string(static_cast<DeviceRole>(tier)));
    context.warning("LS119", wanted[tier]->at,
                    "if " + context.topology.devices[device].name + " is down, " + percent(best) +
                        " of the " + role + " capacity is left; minCapacity requires " +
                        format(**wanted[tier]),
                    "lower minCapacity, or add more devices of role " + role +
                        ": no change that interrupts one could be rolled out",
                    {{place(context.catalog.fabrics[fabric].topology, context.catalog.fabrics[fabric].at),
                      "in Fabric/" + *context.catalog.fabrics[fabric].metadata.name}});
  }
}

// The links of all fabrics with the profile: some, but not all, may be slower than a bound.
void prove_rates(const ProofContext& context, const RoceProfile& profile) {
  const TopologyLink* fastest = nullptr;
  for (const TopologyLink& link : context.topology.links)
    if (context.profiles[link.fabric] == &profile && (fastest == nullptr || link.speed > fastest->speed))
      fastest = &link;
  if (fastest == nullptr || fastest->speed == 0) return;  // a missing speed is reported elsewhere
  for (const TrafficClass& one : profile.classes)
    if (one.max_rate.said && !one.max_rate->share && one.max_rate->rate.bits_per_second > fastest->speed)
      context.warning("LS123", one.max_rate.at,
                      "class " + *one.name + " may send " + format(*one.max_rate) +
                          ", and no link is faster than " + format(BitRate{fastest->speed}),
                      "write a share such as 5%, or a lower rate; leave maxRate out where there is no bound",
                      {{place(fastest->speed_at, fastest->at), "the fastest is this one"}});
}

}  // namespace

void prove_goals(const ProofContext& context) {
  const std::size_t fabrics = context.topology.fabrics.size();
  for (const RoceProfile& profile : context.catalog.roce_profiles) prove_rates(context, profile);
  for (const ValidationSuite& suite : context.catalog.validation_suites)
    for (FabricIndex fabric = 0; fabric < fabrics; ++fabric)
      if (*context.catalog.fabrics[fabric].metadata.name == *suite.fabric)
        for (const Benchmark& one : suite.benchmarks) Goal{context, fabric, one}.prove();
  for (FabricIndex fabric = 0; fabric < fabrics; ++fabric) {
    std::optional<FabricCapacity> capacity;
    for (const RolloutPolicy& policy : context.catalog.rollout_policies) {
      if (!policy.min_capacity.said) continue;
      if (!capacity) capacity.emplace(context.topology, fabric);
      prove_capacity(context, policy, fabric, *capacity);
    }
  }
}

}  // namespace lockstep
