#include "bench/tcp/probe_plan.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace lockstep::bench {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Default duration: long enough for 3 windows of 500 ms, and for the iterations that p5 needs.
constexpr milliseconds default_duration{1500};
constexpr milliseconds default_collective{10'000};
// Shorter windows measure the bucket of a shaper (64 KB at 1 Gb/s is 0.5 ms, 1 % of this) and not its rate.
constexpr milliseconds least_window{50};

std::vector<std::uint32_t> all_links(const FlowPath& path) {
  std::vector<std::uint32_t> links = path.fixed;
  for (const auto& stage : path.stages) links.insert(links.end(), stage.begin(), stage.end());
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

std::uint64_t demand(const std::vector<ProbeEndpoint>& endpoints, std::size_t from, std::size_t to) {
  return std::min(endpoints[from].link_rate, endpoints[to].link_rate);
}

bool latency(Workload workload) {
  return workload == Workload::request_response || workload == Workload::write_latency;
}

std::vector<Endpoint> names_of(const std::vector<ProbeEndpoint>& endpoints) {
  std::vector<Endpoint> plain;
  for (const ProbeEndpoint& one : endpoints) plain.push_back(one.endpoint);
  return plain;
}

std::uint32_t iterations_for(const Benchmark& benchmark) {
  if (benchmark.iterations.said && *benchmark.iterations > 0) return *benchmark.iterations;
  std::uint64_t need = TcpPlan{}.iterations;
  for (const Slo& slo : benchmark.slo) need = std::max(need, samples_needed(percent_of(*slo.statistic)));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(need, 10'000));
}

void plan_pairs(PlannedBenchmark& made, const Benchmark& benchmark,
                const std::vector<ProbeEndpoint>& endpoints, const Links& links, const PlanOptions& options) {
  std::vector<Pair> wanted;
  std::vector<Flow> flows;
  const std::vector<Pair> chosen =
      options.pairs ? *options.pairs : select_pairs(names_of(endpoints), *benchmark.pairs, options.seed);
  for (const Pair& pair : chosen) {
    const Pair way = data_way(*benchmark.workload, pair);
    std::vector<std::uint32_t> crossed = all_links(links.path(way.from, way.to));
    if (crossed.empty()) {
      made.no_path.push_back(pair);
      continue;
    }
    if (options.wanted && !options.wanted(pair)) continue;
    if (options.excluded && options.excluded(pair)) continue;
    wanted.push_back(pair);
    flows.push_back({std::move(crossed), demand(endpoints, pair.from, pair.to)});
  }
  ScheduleLimits limits = options.limits;
  if (latency(*benchmark.workload)) limits.flows_per_round = options.latency_pairs_at_once;
  const Schedule scheduled = schedule(flows, links.capacities, limits);
  for (const auto& round : scheduled.rounds) {
    std::vector<Pair> pairs;
    for (const std::size_t flow : round) pairs.push_back(wanted[flow]);
    made.pairs.insert(made.pairs.end(), pairs.begin(), pairs.end());
    made.plan.rounds.push_back(std::move(pairs));
  }
  for (const std::size_t flow : scheduled.left_out) made.left_out.push_back(wanted[flow]);
}

std::vector<Pair> hops_of(const Group& group) {
  std::vector<Pair> hops;
  for (std::size_t i = 0; i < group.ranks.size(); ++i)
    hops.push_back({group.ranks[i], group.ranks[(i + 1) % group.ranks.size()]});
  return hops;
}

// A ring as one flow: its demand on each link is its rate times the maximum number of hops that may share one
// link.
Flow ring_flow(const Group& group, const std::vector<ProbeEndpoint>& endpoints, const Links& links) {
  std::map<std::uint32_t, std::uint64_t> times;
  std::uint64_t rate = 0;
  for (const Pair& hop : hops_of(group)) {
    rate = std::max(rate, demand(endpoints, hop.from, hop.to));
    for (const std::uint32_t link : all_links(links.path(hop.from, hop.to))) ++times[link];
  }
  Flow flow;
  std::uint64_t most = 0;
  for (const auto& [link, count] : times) {
    flow.links.push_back(link);
    most = std::max(most, count);
  }
  flow.bits_per_second = rate * most;
  return flow;
}

void plan_groups(PlannedBenchmark& made, const std::vector<ProbeEndpoint>& endpoints, const Links& links,
                 const PlanOptions& options) {
  std::vector<Group> groups;
  std::vector<Flow> flows;
  std::size_t most_ranks = 1;
  for (Group& group : rail_groups(names_of(endpoints))) {
    const std::vector<Pair> hops = hops_of(group);
    if (options.wanted && std::none_of(hops.begin(), hops.end(), options.wanted)) continue;
    if (options.excluded && std::any_of(hops.begin(), hops.end(), options.excluded)) continue;
    most_ranks = std::max(most_ranks, group.ranks.size());
    flows.push_back(ring_flow(group, endpoints, links));
    groups.push_back(std::move(group));
  }
  // A ring has as many flows as ranks.
  ScheduleLimits limits = options.limits;
  if (limits.flows_per_round > 0)
    limits.flows_per_round = std::max<std::size_t>(1, limits.flows_per_round / most_ranks);
  const Schedule scheduled = schedule(flows, links.capacities, limits);
  const auto add_hops = [&](std::size_t group, std::vector<Pair>& to) {
    const std::vector<Pair> hops = hops_of(groups[group]);
    to.insert(to.end(), hops.begin(), hops.end());
  };
  for (const auto& round : scheduled.rounds) {
    std::vector<Group> together;
    for (const std::size_t flow : round) {
      add_hops(flow, made.pairs);
      together.push_back(groups[flow]);
    }
    made.plan.group_rounds.push_back(std::move(together));
  }
  for (const std::size_t flow : scheduled.left_out) add_hops(flow, made.left_out);
}

}  // namespace

bool collective(Workload workload) { return workload >= Workload::ring_allreduce; }

Pair data_way(Workload workload, Pair pair) {
  if (workload == Workload::read_bandwidth) std::swap(pair.from, pair.to);
  return pair;
}

milliseconds round_time(const TcpPlan& plan) {
  if (collective(plan.workload)) return plan.collective_budget * plan.sizes.size();
  return (plan.timing.warm_up + plan.timing.window) * plan.repeats;
}

PlannedBenchmark plan_tcp(const Benchmark& benchmark, const std::vector<ProbeEndpoint>& endpoints,
                          const Links& links, const PlanOptions& options) {
  PlannedBenchmark made;
  TcpPlan& plan = made.plan;
  plan.benchmark = *benchmark.name;
  plan.workload = *benchmark.workload;
  plan.config_hash = options.config_hash;
  if (*benchmark.direction == Direction::both) plan.not_to_be_had = "direction: both is not supported";
  if (benchmark.repeats.said && *benchmark.repeats > 0) plan.repeats = *benchmark.repeats;
  const bool said = benchmark.duration.said && *benchmark.duration > Duration::zero();
  const auto written = duration_cast<milliseconds>(*benchmark.duration);
  const milliseconds steady = said ? written : default_duration;
  plan.timing.window = std::max(least_window, steady / plan.repeats);
  plan.iterations = iterations_for(benchmark);
  plan.collective_budget = said ? std::max(least_window, written) : default_collective;
  for (const auto& size : benchmark.sizes) plan.sizes.push_back(size->bytes);
  if (plan.sizes.empty()) plan.sizes.push_back(std::uint64_t{1} << 20U);
  if (collective(plan.workload))
    plan_groups(made, endpoints, links, options);
  else
    plan_pairs(made, benchmark, endpoints, links, options);
  return made;
}

namespace {

double share_of(const Measurement& measurement, const ProbeEndpoint& one) {
  if (measurement.goodput_share) return *measurement.goodput_share;
  return tcp_goodput_share(one.mtu, Framing{one.frame_bytes},
                           one.endpoint.address.find(':') != std::string::npos);
}

// The directed hops that a measurement's traffic took: its pair, or its ring.
std::vector<Pair> hops_of(const Measurement& measurement, const std::map<std::string, std::size_t>& index) {
  std::vector<std::string> order = measurement.ranks;
  if (measurement.group.empty()) order = {measurement.from, measurement.to};
  if (measurement.group.empty() && measurement.workload == Workload::read_bandwidth)
    std::swap(order[0], order[1]);
  std::vector<Pair> hops;
  const std::size_t count = measurement.group.empty() ? 1 : order.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = index.find(order[i]);
    const auto to = index.find(order[(i + 1) % order.size()]);
    if (from != index.end() && to != index.end()) hops.push_back({from->second, to->second});
  }
  return hops;
}

// Within 5 % of the capacity of some link of its path, that link set the limit, however busy the CPU: the
// same rule as in mark_cpu() for the ends' own links.
bool has_rate_of_a_link(double value, const std::map<std::uint32_t, double>& crossed,
                        const std::vector<double>& goodput) {
  return std::any_of(crossed.begin(), crossed.end(), [&](const auto& one) {
    const std::uint32_t link = one.first;
    return link < goodput.size() && value >= 0.95 * goodput[link] && value <= 1.05 * goodput[link];
  });
}

// Per-flow hashing selects each link of a stage with equal probability.
std::map<std::uint32_t, double> chances_of(const FlowPath& path) {
  std::map<std::uint32_t, double> chances;
  for (const std::uint32_t link : path.fixed) chances[link] = 1;
  for (const auto& stage : path.stages)
    for (const std::uint32_t link : stage)
      chances[link] = std::min(1.0, chances[link] + 1.0 / static_cast<double>(stage.size()));
  return chances;
}

}  // namespace

std::map<std::string, std::size_t> index_of(const std::vector<ProbeEndpoint>& endpoints) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < endpoints.size(); ++i) index.emplace(endpoints[i].endpoint.name(), i);
  return index;
}

std::vector<std::uint32_t> links_crossed(const Measurement& measurement,
                                         const std::map<std::string, std::size_t>& ends, const Links& links) {
  std::vector<std::uint32_t> out;
  for (const Pair& hop : hops_of(measurement, ends)) {
    const std::vector<std::uint32_t> crossed = all_links(links.path(hop.from, hop.to));
    out.insert(out.end(), crossed.begin(), crossed.end());
  }
  return out;
}

void explain(std::vector<Measurement>& measurements, const std::vector<ProbeEndpoint>& endpoints,
             const Links& links) {
  const auto index = index_of(endpoints);
  for (Measurement& measurement : measurements) {
    std::vector<FlowPath> paths;
    std::map<std::uint32_t, double> crossed;  // with the probability
    double share = 1;
    for (const Pair& hop : hops_of(measurement, index)) {
      paths.push_back(links.path(hop.from, hop.to));
      for (const auto& [link, chance] : chances_of(paths.back()))
        crossed[link] = std::max(crossed[link], chance);
      share = std::min(
          {share, share_of(measurement, endpoints[hop.from]), share_of(measurement, endpoints[hop.to])});
    }
    measurement.links.clear();
    for (const auto& [link, chance] : crossed) measurement.links.push_back({links.name(link), chance});
    if (paths.empty() || (measurement.metric != Metric::bandwidth && measurement.metric != Metric::busbw))
      continue;
    std::vector<double> goodput;
    for (const std::uint64_t capacity : links.capacities)
      goodput.push_back(static_cast<double>(capacity) * share);
    measurement.ideal = slowest_flow(paths, goodput);
    if (measurement.cpu_limited && has_rate_of_a_link(measurement.value, crossed, goodput)) {
      measurement.cpu_limited = false;
      measurement.cpu_reason.clear();
    }
  }
}

Coverage coverage(const PlannedBenchmark& planned, const std::vector<Measurement>& measurements,
                  const std::vector<ProbeEndpoint>& endpoints, const Links& links) {
  const auto index = index_of(endpoints);
  std::set<Pair> good;
  for (const Measurement& measurement : measurements) {
    if (!measurement.ok() || measurement.benchmark != planned.plan.benchmark) continue;
    for (const Pair& hop : hops_of(measurement, index)) {
      good.insert(measurement.group.empty() ? data_way(measurement.workload, hop) : hop);
    }
  }
  std::vector<Flow> flows;
  std::vector<bool> measured;
  for (const Pair& pair : planned.pairs) {
    const Pair way = data_way(planned.plan.workload, pair);
    flows.push_back({all_links(links.path(way.from, way.to)), 0});
    measured.push_back(good.contains(pair));
  }
  return coverage(flows, measured, links.capacities.size());
}

}  // namespace lockstep::bench
