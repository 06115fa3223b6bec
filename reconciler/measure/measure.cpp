#include "reconciler/measure/measure.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <thread>

#include "bench/ideal.hpp"
#include "reconciler/measure/paths.hpp"

namespace lockstep {
namespace {

using bench::Pair;

// Flows that one machine can drive at once without measuring its own CPU: two a core (a sender and a receiver each).
std::size_t flows_at_once() { return std::max<std::size_t>(2, 2 * std::thread::hardware_concurrency()); }

// What one fabric offers to a benchmark: endpoints as bench sees them, in the order of FabricGraph::endpoints.
struct Ground {
  const MeasureInput& input;
  const Fabric& fabric;
  const FabricGraph& graph;
  std::vector<bench::Endpoint> endpoints;
  std::vector<bench::ProbeEndpoint> probes;
  std::vector<std::uint64_t> capacities;  // by directed link
  FabricPaths paths;
};

std::uint64_t speed_of(const TopologyLink& link) { return link.speed_in_twin != 0 ? link.speed_in_twin : link.speed; }

Ground ground_of(const MeasureInput& input, FabricIndex index) {
  const Topology& topology = input.compiled.topology;
  Ground ground{input, input.catalog.fabrics[index], topology.fabrics[index], {}, {}, {}, FabricPaths(topology, index)};
  const bench::Framing framing = input.compiled.twin ? bench::shaped_framing : bench::wire_framing;
  const std::uint32_t mtu = ground.fabric.mtu.value.host.said ? ground.fabric.mtu.value.host.value : 1500;
  for (const Endpoint& endpoint : ground.graph.endpoints) {
    const auto& address = input.compiled.allocation.port[endpoint.port];
    const std::string& device = topology.devices[endpoint.device].name;
    bench::ProbeEndpoint probe;
    probe.endpoint = {device, std::string(topology.ports[endpoint.port].name), address ? address->address.text() : "",
                      topology.devices[endpoint.leaf].name, std::to_string(endpoint.rail)};
    probe.netns = input.netns_path ? input.netns_path(device) : "";
    probe.link_rate = speed_of(topology.links[endpoint.link]);
    probe.mtu = mtu;
    probe.frame_bytes = framing.bytes;
    ground.endpoints.push_back(probe.endpoint);
    ground.probes.push_back(std::move(probe));
  }
  for (const TopologyLink& link : topology.links)
    for (int direction = 0; direction < 2; ++direction) ground.capacities.push_back(speed_of(link));
  return ground;
}

Crossed crossed_of(const Topology& topology, const std::vector<CrossedPath>& paths) {
  Crossed crossed;
  for (const CrossedPath& path : paths) {
    for (const DeviceIndex device : path.devices) crossed.devices.push_back(topology.devices[device].name);
    for (const std::uint32_t link : path.links) crossed.links.push_back(link / 2);
  }
  const auto tidy = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  tidy(crossed.devices);
  tidy(crossed.links);
  return crossed;
}

std::string link_text(const Topology& topology, std::uint32_t directed) {
  const TopologyLink& link = topology.links[directed / 2];
  const bool up = directed % 2 == 0;
  return topology.port_text(up ? link.a : link.b) + " -> " + topology.port_text(up ? link.b : link.a);
}

std::vector<std::string> link_texts(const Topology& topology, const std::vector<std::uint32_t>& links) {
  std::vector<std::string> texts;
  for (const std::uint32_t link : links) texts.push_back(link_text(topology, link));
  return texts;
}

// Goodput that each directed link carries: its rate less what every packet costs.
std::vector<double> goodput_capacities(const Ground& ground) {
  const bench::ProbeEndpoint& any = ground.probes.front();
  std::vector<double> goodput;
  for (const std::uint64_t rate : ground.capacities)
    goodput.push_back(bench::nominal_goodput(rate, any.mtu, bench::Framing{any.frame_bytes}));
  return goodput;
}

std::optional<bench::IdealBounds> bounds_of(const Ground& ground, const std::vector<const CrossedPath*>& paths) {
  if (paths.empty()) return std::nullopt;
  std::vector<bench::FlowPath> flows;
  for (const CrossedPath* const path : paths) flows.push_back({path->fixed, path->stages});
  return bench::slowest_flow(flows, goodput_capacities(ground));
}

bool is_latency(Workload workload) {
  return workload == Workload::write_latency || workload == Workload::request_response;
}

std::chrono::milliseconds in_milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

bench::TcpPlan tcp_plan_of(const Benchmark& benchmark, const MeasureInput& input) {
  bench::TcpPlan plan;
  plan.benchmark = benchmark.name.value;
  plan.workload = benchmark.workload.value == Workload::write_latency ? Workload::request_response : benchmark.workload.value;
  plan.config_hash = input.config_hash;
  if (benchmark.repeats.said) plan.repeats = benchmark.repeats.value;
  if (benchmark.iterations.said) plan.iterations = benchmark.iterations.value;
  for (const Said<ByteCount>& size : benchmark.sizes) plan.sizes.push_back(size.value.bytes);
  if (benchmark.duration.said) {
    // `duration` is one pair's (or one group's and size's) measuring time, all repeats together.
    plan.timing.window = std::max(in_milliseconds(benchmark.duration.value) / plan.repeats, std::chrono::milliseconds(50));
    plan.collective_budget = in_milliseconds(benchmark.duration.value);
  }
  return plan;
}

struct PairWork {
  std::vector<Pair> pairs;
  std::vector<CrossedPath> paths;  // of each pair
  std::vector<bench::Flow> flows;
  std::size_t of_pairs = 0;  // before `affected`
  std::size_t of_links = 0;
};

PairWork pair_work_of(Ground& ground, const Benchmark& benchmark, const MeasureChoice& choice) {
  PairWork work;
  std::vector<std::uint32_t> all_links;
  for (const Pair& pair : bench::select_pairs(ground.endpoints, benchmark.pairs.value)) {
    std::optional<CrossedPath> path =
        ground.paths.between(ground.graph.endpoints[pair.from], ground.graph.endpoints[pair.to]);
    if (!path) continue;  // no path by design is not counted
    ++work.of_pairs;
    all_links.insert(all_links.end(), path->links.begin(), path->links.end());
    if (choice.affected && !choice.affected(crossed_of(ground.input.compiled.topology, {*path}))) continue;
    bench::Flow flow{path->links, std::min(ground.probes[pair.from].link_rate, ground.probes[pair.to].link_rate)};
    if (is_latency(benchmark.workload.value)) flow.bits_per_second = ground.probes[pair.from].link_rate;
    work.pairs.push_back(pair);
    work.paths.push_back(std::move(*path));
    work.flows.push_back(std::move(flow));
  }
  std::sort(all_links.begin(), all_links.end());
  work.of_links = static_cast<std::size_t>(std::unique(all_links.begin(), all_links.end()) - all_links.begin());
  return work;
}

void describe(Ground& ground, const PairWork& work, const bench::Schedule& rounds,
              std::vector<bench::Measurement>& measurements) {
  std::map<std::pair<std::string, std::string>, std::size_t> number;
  for (std::size_t i = 0; i < work.pairs.size(); ++i)
    number[{ground.endpoints[work.pairs[i].from].name(), ground.endpoints[work.pairs[i].to].name()}] = i;
  std::vector<std::optional<bench::IdealBounds>> bounds(work.pairs.size());
  for (const auto& round : rounds.rounds) {
    for (const std::size_t flow : round) bounds[flow] = bounds_of(ground, {&work.paths[flow]});
  }
  for (bench::Measurement& measurement : measurements) {
    const auto found = number.find({measurement.from, measurement.to});
    if (found == number.end()) continue;
    measurement.links = link_texts(ground.input.compiled.topology, work.paths[found->second].links);
    if (measurement.metric == Metric::bandwidth) measurement.ideal = bounds[found->second];
  }
}

using Report = std::function<void(const MeasureProgress&)>;

bench::ProgressSink sink_of(const Report& progress, const std::string& name) {
  return [&progress, name](const bench::Progress& seen) {
    if (!progress || seen.what != bench::Progress::What::pair_done || seen.measurement == nullptr) return;
    const bench::Measurement& one = *seen.measurement;
    const std::string figure = !one.ok() ? one.error
                               : one.metric == Metric::latency ? bench::told(one.value, Bound::Unit::time)
                               : one.metric == Metric::step_skew ? bench::told(one.value, Bound::Unit::ratio)
                                                                 : bench::told(one.value, Bound::Unit::rate);
    progress({name, seen.done, seen.total, one.subject() + "  " + figure});
  };
}

Result<Done> run_pairs(Ground& ground, const MeasureChoice& choice, const Report& progress, std::stop_token stop,
                       BenchmarkOutcome& outcome) {
  const PairWork work = pair_work_of(ground, *outcome.benchmark, choice);
  const bench::Schedule rounds = bench::schedule(work.flows, ground.capacities, {flows_at_once()});
  outcome.rounds = rounds.rounds.size();
  bench::TcpPlan plan = tcp_plan_of(*outcome.benchmark, ground.input);
  for (const auto& round : rounds.rounds) {
    std::vector<Pair> pairs;
    for (const std::size_t flow : round) pairs.push_back(work.pairs[flow]);
    plan.rounds.push_back(std::move(pairs));
  }
  if (!plan.rounds.empty()) {
    TRY(outcome.measurements, bench::run(plan, ground.probes, sink_of(progress, plan.benchmark), stop));
  }
  describe(ground, work, rounds, outcome.measurements);
  std::size_t measured = 0;
  for (const bench::Measurement& one : outcome.measurements) measured += one.ok() ? 1U : 0U;
  std::vector<std::uint32_t> links;
  for (const CrossedPath& path : work.paths) links.insert(links.end(), path.links.begin(), path.links.end());
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  outcome.coverage = {measured, work.of_pairs, links.size(), work.of_links};
  return Done{};
}

Result<Done> run_groups(Ground& ground, const MeasureChoice& choice, const Report& progress, std::stop_token stop,
                        BenchmarkOutcome& outcome) {
  bench::TcpPlan plan = tcp_plan_of(*outcome.benchmark, ground.input);
  std::map<std::string, std::optional<bench::IdealBounds>> bounds;
  std::map<std::string, std::vector<std::string>> links;
  for (bench::Group& group : bench::rail_groups(ground.endpoints)) {
    std::vector<CrossedPath> paths;
    for (std::size_t i = 0; i < group.ranks.size(); ++i) {
      const Endpoint& from = ground.graph.endpoints[group.ranks[i]];
      const Endpoint& to = ground.graph.endpoints[group.ranks[(i + 1) % group.ranks.size()]];
      if (std::optional<CrossedPath> path = ground.paths.between(from, to)) paths.push_back(std::move(*path));
    }
    if (paths.size() != group.ranks.size()) continue;  // no ring by design
    outcome.coverage.of_pairs += paths.size();
    const Crossed crossed = crossed_of(ground.input.compiled.topology, paths);
    outcome.coverage.of_links += crossed.links.size();
    if (choice.affected && !choice.affected(crossed)) continue;
    outcome.coverage.pairs += paths.size();
    outcome.coverage.links += crossed.links.size();
    std::vector<const CrossedPath*> flows;
    for (const CrossedPath& path : paths) {
      flows.push_back(&path);
      for (std::string& text : link_texts(ground.input.compiled.topology, path.links)) links[group.name].push_back(text);
    }
    bounds[group.name] = bounds_of(ground, flows);
    plan.group_rounds.push_back({std::move(group)});
  }
  outcome.rounds = plan.group_rounds.size();
  if (!plan.group_rounds.empty()) {
    TRY(outcome.measurements, bench::run(plan, ground.probes, sink_of(progress, plan.benchmark), stop));
  }
  for (bench::Measurement& measurement : outcome.measurements) {
    measurement.links = links[measurement.group];
    if (measurement.metric == Metric::busbw) measurement.ideal = bounds[measurement.group];
  }
  return Done{};
}

bool is_collective(Workload workload) {
  return workload == Workload::ring_allreduce || workload == Workload::tree_allreduce || workload == Workload::all_to_all ||
         workload == Workload::incast || workload == Workload::barrier;
}

Result<Done> run_benchmark(Ground& ground, const ValidationSuite& suite, const MeasureChoice& choice,
                           const Report& progress, std::stop_token stop, BenchmarkOutcome& outcome) {
  const Benchmark& benchmark = *outcome.benchmark;
  const Transport asked = benchmark.transport.said ? benchmark.transport.value : suite.transport.value;
  if (asked == Transport::rdma) {
    outcome.why_not = "no RDMA device is behind the endpoints here";
  } else {
    outcome.transport = "tcp";
    if (is_collective(benchmark.workload.value)) {
      TRY_DONE(run_groups(ground, choice, progress, stop, outcome));
    } else {
      TRY_DONE(run_pairs(ground, choice, progress, stop, outcome));
    }
  }
  if (const auto baseline = ground.input.baselines.find(suite.metadata.name.value); baseline != ground.input.baselines.end())
    bench::attach(baseline->second, outcome.measurements);
  outcome.verdict = bench::judge(benchmark, outcome.measurements);
  if (!outcome.why_not.empty()) {
    outcome.verdict.verdict = bench::Verdict::unknown;
    for (bench::SloVerdict& slo : outcome.verdict.slo) {
      slo.verdict = bench::Verdict::unknown;
      slo.reason = outcome.why_not;
    }
  }
  return Done{};
}

FabricIndex fabric_index(const Catalog& catalog, const ValidationSuite& suite) {
  for (std::size_t i = 0; i < catalog.fabrics.size(); ++i)
    if (catalog.fabrics[i].metadata.name.value == suite.fabric.value) return static_cast<FabricIndex>(i);
  return kNone;
}

// A benchmark of which nothing was affected says nothing: it has no part in the verdict.
bool has_a_say(const BenchmarkOutcome& outcome) { return !outcome.measurements.empty() || !outcome.why_not.empty(); }

Result<SuiteOutcome> run_suite(const MeasureInput& input, const ValidationSuite& suite, const MeasureChoice& choice,
                               const Report& progress, std::stop_token stop) {
  SuiteOutcome result;
  result.suite = &suite;
  const FabricIndex index = fabric_index(input.catalog, suite);
  if (index == kNone)
    return Error{ErrorKind::invalid_spec, "ValidationSuite/" + suite.metadata.name.value + " names no fabric that there is"};
  Ground ground = ground_of(input, index);
  std::vector<bench::Verdict> verdicts;
  for (const Benchmark& benchmark : suite.benchmarks) {
    if (!choice.benchmark.empty() && benchmark.name.value != choice.benchmark) continue;
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, "stopped while measuring"};
    BenchmarkOutcome outcome;
    outcome.benchmark = &benchmark;
    TRY_DONE(run_benchmark(ground, suite, choice, progress, stop, outcome));
    std::vector<std::size_t> slow;
    for (const bench::SloVerdict& slo : outcome.verdict.slo) slow.insert(slow.end(), slo.violating.begin(), slo.violating.end());
    for (bench::Suspect& suspect : bench::suspects(outcome.measurements, slow)) result.suspects.push_back(std::move(suspect));
    if (has_a_say(outcome)) verdicts.push_back(outcome.verdict.verdict);
    result.benchmarks.push_back(std::move(outcome));
  }
  result.verdict = bench::all_of(verdicts);
  return result;
}

}  // namespace

Result<std::vector<SuiteOutcome>> measure(const MeasureInput& input, const MeasureChoice& choice,
                                          const std::function<void(const MeasureProgress&)>& progress,
                                          std::stop_token stop) {
  std::vector<SuiteOutcome> outcomes;
  bool benchmark_found = choice.benchmark.empty();
  for (const ValidationSuite& suite : input.catalog.validation_suites) {
    if (!choice.suite.empty() && suite.metadata.name.value != choice.suite) continue;
    TRY(SuiteOutcome outcome, run_suite(input, suite, choice, progress, stop));
    benchmark_found = benchmark_found || !outcome.benchmarks.empty();
    outcomes.push_back(std::move(outcome));
  }
  if (outcomes.empty() && !choice.suite.empty())
    return Error{ErrorKind::invalid_spec, "no ValidationSuite is called '" + choice.suite + "'"};
  if (!benchmark_found) return Error{ErrorKind::invalid_spec, "no benchmark is called '" + choice.benchmark + "'"};
  return outcomes;
}

bench::Verdict verdict_of(const std::vector<SuiteOutcome>& outcomes) {
  std::vector<bench::Verdict> verdicts;
  for (const SuiteOutcome& outcome : outcomes) verdicts.push_back(outcome.verdict);
  return bench::all_of(verdicts);
}

std::string config_hash(const Compiled& compiled) {
  std::string text;
  for (const Intent& intent : compiled.intents) text += intent.device + "\n" + intent.want.to_string();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex = "sha256:";
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace lockstep
