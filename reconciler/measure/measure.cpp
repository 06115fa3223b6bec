#include "reconciler/measure/measure.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include "bench/ideal.hpp"
#include "bench/tcp/probe_plan.hpp"
#include "bench/verbs/rounds.hpp"
#include "reconciler/measure/paths.hpp"
#include "reconciler/measure/transport.hpp"
#include "specs/compile/wanted_traffic_class.hpp"

namespace lockstep {
namespace {

// Flows that one machine can drive at once without measuring its own CPU: two a core (a sender and a receiver
// each).
std::size_t flows_at_once() {
  return std::max<std::size_t>(2, std::size_t{2} * std::thread::hardware_concurrency());
}
// Each end polls: a core of its own for as long as it runs.
std::size_t rdma_flows_at_once() { return std::max<std::size_t>(1, std::thread::hardware_concurrency() / 2); }

std::uint64_t speed_of(const TopologyLink& link) {
  return link.speed_in_twin != 0 ? link.speed_in_twin : link.speed;
}

// What one fabric offers to a benchmark: endpoints as bench sees them, in the order of
// FabricGraph::endpoints.
class Ground {
 public:
  Ground(const MeasureInput& input, FabricIndex index)
      : topology_(input.compiled.topology),
        intents_(input.compiled.intents),
        graph_(topology_.fabrics[index]),
        paths_(topology_, index) {
    const Fabric& fabric = input.catalog.fabrics[index];
    const bench::Framing framing = input.compiled.twin ? bench::shaped_framing : bench::wire_framing;
    for (const Endpoint& endpoint : graph_.endpoints) {
      const auto& address = input.compiled.allocation.port[endpoint.port];
      const std::string& device = topology_.devices[endpoint.device].name;
      bench::ProbeEndpoint probe;
      probe.endpoint = {device, std::string(topology_.ports[endpoint.port].name),
                        address ? address->address.text() : "", topology_.devices[endpoint.leaf].name,
                        std::to_string(endpoint.rail)};
      probe.netns = input.netns_path ? input.netns_path(device) : "";
      probe.unreachable = input.unreachable ? input.unreachable(endpoint.device) : "";
      probe.link_rate = speed_of(topology_.links[endpoint.link]);
      probe.mtu = fabric.mtu.value.host.or_else(probe.mtu);
      probe.frame_bytes = framing.bytes;
      probes.push_back(std::move(probe));
    }
    for (const TopologyLink& link : topology_.links) {
      for (const auto& [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
        links.names.push_back(topology_.port_text(from) + " -> " + topology_.port_text(to));
        links.capacities.push_back(speed_of(link));
      }
    }
    links.path = [this](std::size_t from, std::size_t to) {
      const std::optional<CrossedPath> path = between(from, to);
      return path ? bench::FlowPath{path->fixed, path->stages} : bench::FlowPath{};
    };
  }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  // RDMA of each endpoint, as it is when first asked for.
  const std::vector<bench::verbs::RdmaEnd>& rdma_ends() {
    if (!rdma_ends_.empty()) return rdma_ends_;
    const Call call{.deadline = std::chrono::steady_clock::now() + kReadTime, .stop = {}};
    for (std::size_t i = 0; i < probes.size(); ++i) {
      rdma_ends_.push_back(bench::verbs::find_rdma_end(HostFiles("/"), probes[i], call));
      const Intent& intent = intents_[graph_.endpoints[i].device];
      rdma_ends_.back().traffic_class = wanted_traffic_class(intent, probes[i].endpoint.port).value_or(0);
    }
    return rdma_ends_;
  }

  Crossed crossed(const bench::Pair& pair) {
    Crossed out;
    const std::optional<CrossedPath> path = between(pair.from, pair.to);
    if (!path) return out;
    for (const DeviceIndex device : path->devices) out.devices.push_back(topology_.devices[device].name);
    for (const std::uint32_t link : path->links) out.links.push_back(link / 2);
    for (const std::uint32_t link : path->fixed)
      for (const PortIndex end : {topology_.links[link / 2].a, topology_.links[link / 2].b})
        out.always.push_back(topology_.device_of(end));
    std::sort(out.always.begin(), out.always.end());
    out.always.erase(std::unique(out.always.begin(), out.always.end()), out.always.end());
    std::sort(out.devices.begin(), out.devices.end());
    out.links.erase(std::unique(out.links.begin(), out.links.end()), out.links.end());
    return out;
  }

  std::vector<bench::ProbeEndpoint> probes;
  bench::Links links;

 private:
  std::optional<CrossedPath> between(std::size_t from, std::size_t to) {
    return paths_.between(graph_.endpoints[from], graph_.endpoints[to]);
  }

  static constexpr std::chrono::seconds kReadTime{10};  // dumps of netlink and small files of sysfs
  const Topology& topology_;
  const std::vector<Intent>& intents_;
  const FabricGraph& graph_;
  FabricPaths paths_;
  std::vector<bench::verbs::RdmaEnd> rdma_ends_;
};

using Report = std::function<void(const MeasureProgress&)>;

bench::ProgressSink sink_of(const Report& progress, const std::string& name) {
  return [&progress, name](const bench::Progress& seen) {
    if (!progress || seen.what != bench::Progress::What::pair_done || seen.measurement == nullptr) return;
    const bench::Measurement& one = *seen.measurement;
    const std::string figure = one.ok() ? bench::told(one.value, unit_of(one.metric)) : one.error;
    progress({name, seen.done, seen.total, one.subject() + "  " + figure});
  };
}

Result<std::vector<bench::Measurement>> run_planned(const bench::TcpPlan& plan, Transport transport,
                                                    Ground& ground, const bench::ProgressSink& sink,
                                                    const std::stop_token& stop) {
  if (transport == Transport::rdma && plan.not_to_be_had.empty())
    return bench::verbs::run_rounds(bench::verbs::plan_verbs(plan), ground.probes, ground.rdma_ends(), sink,
                                    stop);
  return bench::run(plan, ground.probes, sink, stop);
}

Result<Done> run_benchmark(Ground& ground, const MeasureInput& input, const ValidationSuite& suite,
                           const MeasureChoice& choice, const Report& progress, const std::stop_token& stop,
                           BenchmarkOutcome& outcome) {
  bench::PlanOptions options;
  options.config_hash = input.config_hash;
  options.limits.flows_per_round = flows_at_once();
  const auto name = [&](std::size_t end) { return ground.probes[end].endpoint.name(); };
  if (choice.affected || choice.among)
    options.wanted = [&](const bench::Pair& pair) {
      const std::string& benchmark = *outcome.benchmark->name;
      if (choice.among && !choice.among(benchmark, name(pair.from), name(pair.to))) return false;
      if (choice.also && choice.also(benchmark, name(pair.from), name(pair.to))) return true;
      return !choice.affected || choice.affected(ground.crossed(pair));
    };
  if (choice.pending)
    options.excluded = [&](const bench::Pair& pair) { return choice.pending(ground.crossed(pair)); };
  const Benchmark& benchmark = *outcome.benchmark;
  TransportChoice transport;
  if (asked_transport(benchmark, suite.transport.value) != Transport::tcp)
    transport = choose_transport(benchmark, suite.transport.value, ground.rdma_ends());
  outcome.transport_why = transport.why;
  if (transport.runs == Transport::rdma) options.limits.flows_per_round = rdma_flows_at_once();
  bench::PlannedBenchmark planned = bench::plan_tcp(benchmark, ground.probes, ground.links, options);
  if (!transport.not_to_be_had.empty()) planned.plan.not_to_be_had = transport.not_to_be_had;
  outcome.rounds = planned.plan.rounds.size() + planned.plan.group_rounds.size();
  if (outcome.rounds > 0) {
    TRY(outcome.measurements, input.traffic ? input.traffic(planned.plan, ground.probes)
                                            : run_planned(planned.plan, transport.runs, ground,
                                                          sink_of(progress, planned.plan.benchmark), stop));
    bench::explain(outcome.measurements, ground.probes, ground.links);
  }
  for (const bench::Measurement& one : outcome.measurements)
    if (one.trouble != bench::Trouble::transport) outcome.transport = one.transport;
  outcome.coverage = bench::coverage(planned, outcome.measurements, ground.probes, ground.links);
  if (const auto baseline = input.baselines.find(suite.metadata.name.value);
      baseline != input.baselines.end())
    bench::attach(baseline->second, outcome.measurements);
  return Done{};
}

// By what was measured: verdicts and suspects.
void judge_suite(SuiteOutcome& suite) {
  std::vector<bench::Verdict> verdicts;
  suite.suspects.clear();
  for (BenchmarkOutcome& outcome : suite.benchmarks) {
    outcome.verdict = bench::judge(*outcome.benchmark, outcome.measurements);
    std::vector<std::size_t> slow;
    for (const bench::SloVerdict& slo : outcome.verdict.slo)
      slow.insert(slow.end(), slo.violating.begin(), slo.violating.end());
    bench::join(suite.suspects, bench::suspects(outcome.measurements, slow));
    // A benchmark of which nothing was affected says nothing: it has no part in the verdict.
    if (!outcome.measurements.empty()) verdicts.push_back(outcome.verdict.verdict);
  }
  suite.verdict = bench::all_of(verdicts);
}

FabricIndex fabric_index(const Catalog& catalog, const ValidationSuite& suite) {
  for (std::size_t i = 0; i < catalog.fabrics.size(); ++i)
    if (catalog.fabrics[i].metadata.name.value == suite.fabric.value) return static_cast<FabricIndex>(i);
  return kNone;
}

Result<SuiteOutcome> run_suite(const MeasureInput& input, const ValidationSuite& suite,
                               const MeasureChoice& choice, const Report& progress,
                               const std::stop_token& stop) {
  SuiteOutcome result;
  result.suite = &suite;
  const FabricIndex index = fabric_index(input.catalog, suite);
  if (index == kNone)
    return Error{ErrorKind::invalid_spec,
                 "ValidationSuite/" + suite.metadata.name.value + " names no fabric that there is"};
  Ground ground(input, index);
  for (const Benchmark& benchmark : suite.benchmarks) {
    if (!choice.benchmark.empty() && benchmark.name.value != choice.benchmark) continue;
    BenchmarkOutcome outcome;
    outcome.benchmark = &benchmark;
    TRY_DONE(run_benchmark(ground, input, suite, choice, progress, stop, outcome));
    result.benchmarks.push_back(std::move(outcome));
  }
  judge_suite(result);
  return result;
}

}  // namespace

Result<std::vector<SuiteOutcome>> measure(const MeasureInput& input, const MeasureChoice& choice,
                                          const std::function<void(const MeasureProgress&)>& progress,
                                          const std::stop_token& stop) {
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
  if (!benchmark_found)
    return Error{ErrorKind::invalid_spec, "no benchmark is called '" + choice.benchmark + "'"};
  return outcomes;
}

Result<Done> measure_once_more(const MeasureInput& input, MeasureChoice choice,
                               const std::function<bool(const bench::Measurement&)>& wants,
                               const std::function<void(const MeasureProgress&)>& progress,
                               const std::stop_token& stop, std::vector<SuiteOutcome>& outcomes) {
  std::map<std::string, bench::Measurement*> wanted;  // by suite and key
  std::set<std::array<std::string, 3>> pairs;         // a benchmark, and two ends
  std::set<std::string> rings;                        // benchmarks of which a group is wanted
  const auto place = [](const SuiteOutcome& suite, const bench::Measurement& one) {
    return *suite.suite->metadata.name + '|' + bench::baseline_key(one);
  };
  for (SuiteOutcome& suite : outcomes)
    for (BenchmarkOutcome& outcome : suite.benchmarks)
      for (bench::Measurement& one : outcome.measurements) {
        if (!wants(one)) continue;
        wanted[place(suite, one)] = &one;
        if (one.group.empty())
          pairs.insert({one.benchmark, one.from, one.to});
        else
          rings.insert(one.benchmark);
      }
  if (wanted.empty()) return Done{};
  choice.among = [&](const std::string& benchmark, const std::string& from, const std::string& to) {
    return rings.contains(benchmark) || pairs.contains({benchmark, from, to});
  };
  TRY(const std::vector<SuiteOutcome> again, measure(input, choice, progress, stop));
  for (const SuiteOutcome& suite : again)
    for (const BenchmarkOutcome& outcome : suite.benchmarks)
      for (const bench::Measurement& one : outcome.measurements)
        if (const auto old = wanted.find(place(suite, one)); old != wanted.end() && !wants(one))
          *old->second = one;
  for (SuiteOutcome& suite : outcomes) judge_suite(suite);
  return Done{};
}

bench::Verdict verdict_of(const std::vector<SuiteOutcome>& outcomes) {
  std::vector<bench::Verdict> verdicts;
  for (const SuiteOutcome& outcome : outcomes) verdicts.push_back(outcome.verdict);
  return bench::all_of(verdicts);
}

bool cut_short(const std::vector<SuiteOutcome>& outcomes) {
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& outcome : suite.benchmarks)
      for (const bench::Measurement& one : outcome.measurements)
        if (one.trouble == bench::Trouble::cancelled) return true;
  return false;
}

std::size_t measurements_in(std::span<const SuiteOutcome> outcomes) {
  std::size_t all = 0;
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& outcome : suite.benchmarks) all += outcome.measurements.size();
  return all;
}

std::string verdict_sentence(const std::vector<SuiteOutcome>& outcomes) {
  const std::size_t measured = measurements_in(outcomes);
  if (measured == 0) return "nothing to measure: no path is affected that could be judged now";
  std::string out;
  for (const SuiteOutcome& suite : outcomes) {
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      for (const bench::SloVerdict& slo : outcome.verdict.slo) {
        if (slo.verdict == bench::Verdict::pass || outcome.measurements.empty()) continue;
        if (!out.empty()) out += "; ";
        out += fmt::format("{}: {} {} {}, want {}", outcome.benchmark->name.value, to_string(slo.metric),
                           to_string(slo.statistic), slo.have.empty() ? "has no figure" : slo.have, slo.want);
        if (!slo.worst.empty()) out += ", worst " + slo.worst;
        if (slo.have.empty() && !slo.reason.empty()) out += " (" + slo.reason + ")";
      }
    }
  }
  return out.empty() ? fmt::format("all SLOs hold over {} measurements", measured) : out;
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
