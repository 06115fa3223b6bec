#include "reconciler/measure/measure.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include "bench/verbs/rounds.hpp"
#include "reconciler/measure/gate_pairs.hpp"

namespace lockstep {
namespace {

// Flows that one machine can drive at once without measuring its own CPU: two per core (a sender and a
// receiver each).
std::size_t flows_at_once() {
  return std::max<std::size_t>(2, std::size_t{2} * std::thread::hardware_concurrency());
}
// Each end polls, which occupies a core while it runs.
std::size_t rdma_flows_at_once() { return std::max<std::size_t>(1, std::thread::hardware_concurrency() / 2); }

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

PreparedBenchmark prepare(Ground& ground, const MeasureInput& input, const ValidationSuite& suite,
                          const Benchmark& benchmark) {
  PreparedBenchmark out{.benchmark = &benchmark};
  if (asked_transport(benchmark, suite.transport.value) != Transport::tcp)
    out.transport = choose_transport(benchmark, suite.transport.value, ground.rdma_ends());
  out.options.config_hash = input.config_hash;
  out.options.limits.flows_per_round =
      out.transport.runs == Transport::rdma ? rdma_flows_at_once() : flows_at_once();
  return out;
}

Result<BenchmarkOutcome> run_benchmark(Ground& ground, const MeasureInput& input,
                                       const ValidationSuite& suite, PreparedBenchmark& one,
                                       const Report& progress, const std::stop_token& stop) {
  BenchmarkOutcome outcome;
  outcome.benchmark = one.benchmark;
  outcome.transport_why = one.transport.why;
  bench::TcpPlan& plan = one.planned.plan;
  if (!one.transport.not_to_be_had.empty()) plan.not_to_be_had = one.transport.not_to_be_had;
  outcome.rounds = plan.rounds.size() + plan.group_rounds.size();
  if (outcome.rounds > 0) {
    TRY(outcome.measurements, input.traffic ? input.traffic(plan, ground.probes)
                                            : run_planned(plan, one.transport.runs, ground,
                                                          sink_of(progress, plan.benchmark), stop));
    bench::explain(outcome.measurements, ground.probes, ground.links);
  }
  for (const bench::Measurement& measurement : outcome.measurements)
    if (measurement.trouble != bench::Trouble::transport) outcome.transport = measurement.transport;
  outcome.coverage = bench::coverage(one.planned, outcome.measurements, ground.probes, ground.links);
  if (const auto baseline = input.baselines.find(suite.metadata.name.value);
      baseline != input.baselines.end())
    bench::attach(baseline->second, outcome.measurements);
  return outcome;
}

// Computes verdicts and suspects from the measurements.
void judge_suite(SuiteOutcome& suite) {
  std::vector<bench::Verdict> verdicts;
  suite.suspects.clear();
  for (BenchmarkOutcome& outcome : suite.benchmarks) {
    outcome.verdict = bench::judge(*outcome.benchmark, outcome.measurements);
    std::vector<std::size_t> slow;
    for (const bench::SloVerdict& slo : outcome.verdict.slo)
      slow.insert(slow.end(), slo.violating.begin(), slo.violating.end());
    bench::join(suite.suspects, bench::suspects(outcome.measurements, slow));
    // A benchmark of which nothing was affected has no part in the verdict.
    if (!outcome.measurements.empty()) verdicts.push_back(outcome.verdict.verdict);
  }
  suite.verdict = bench::all_of(verdicts);
}

// Shared by all suites of one measurement.
struct Run {
  const MeasureInput& input;
  const MeasureChoice& choice;
  const Report& progress;
  const std::stop_token& stop;
  BusyHosts busy{};
  std::size_t controls_left = 0;
};

void plan_suite(Run& run, Ground& ground, std::optional<GatePairs>& gate,
                std::vector<PreparedBenchmark>& all) {
  GatePairs::Wanted wanted;
  const auto name = [&](std::size_t end) { return ground.probes[end].endpoint.name(); };
  if (run.choice.among)
    wanted = [&](const PreparedBenchmark& one, const bench::Pair& pair) {
      return run.choice.among(*one.benchmark->name, name(pair.from), name(pair.to));
    };
  if (gate && run.choice.gate->controls > 0) return gate->plan_controls(all, run.controls_left);
  if (gate) return gate->plan(all, wanted);
  for (PreparedBenchmark& one : all) {
    if (wanted) one.options.wanted = [&](const bench::Pair& pair) { return wanted(one, pair); };
    one.planned = bench::plan_tcp(*one.benchmark, ground.probes, ground.links, one.options);
  }
}

Result<SuiteOutcome> run_suite(Run& run, const ValidationSuite& suite) {
  SuiteOutcome result;
  result.suite = &suite;
  const FabricIndex index = fabric_index(run.input.catalog, suite);
  if (index == kNone)
    return Error{ErrorKind::invalid_spec,
                 "ValidationSuite/" + suite.metadata.name.value + " names no fabric that there is"};
  Ground ground(run.input, index);
  std::vector<PreparedBenchmark> all;
  for (const Benchmark& benchmark : suite.benchmarks)
    if (run.choice.benchmark.empty() || benchmark.name.value == run.choice.benchmark)
      all.push_back(prepare(ground, run.input, suite, benchmark));
  std::optional<GatePairs> gate;
  if (run.choice.gate) gate.emplace(ground, suite, *run.choice.gate, run.busy);
  plan_suite(run, ground, gate, all);
  for (PreparedBenchmark& one : all) {
    one.planned.plan.flows = run.choice.flows;
    TRY(BenchmarkOutcome outcome, run_benchmark(ground, run.input, suite, one, run.progress, run.stop));
    result.benchmarks.push_back(std::move(outcome));
  }
  // A repetition of some pairs does not change the coverage of the others.
  if (gate && run.choice.gate->controls == 0 && !run.choice.among)
    result.gate = gate->coverage(all, result.benchmarks);
  for (std::size_t i = 0; gate && i < all.size(); ++i)
    if (result.benchmarks[i].measurements.empty())
      result.benchmarks[i].left_out = gate->why_left_out(*all[i].benchmark, i);
  judge_suite(result);
  return result;
}

}  // namespace

FabricIndex fabric_index(const Catalog& catalog, const ValidationSuite& suite) {
  for (std::size_t i = 0; i < catalog.fabrics.size(); ++i)
    if (catalog.fabrics[i].metadata.name.value == suite.fabric.value) return static_cast<FabricIndex>(i);
  return kNone;
}

Result<std::vector<SuiteOutcome>> measure(const MeasureInput& input, const MeasureChoice& choice,
                                          const std::function<void(const MeasureProgress&)>& progress,
                                          const std::stop_token& stop) {
  std::vector<SuiteOutcome> outcomes;
  Run run{input, choice, progress, stop};
  if (choice.gate) run.busy = busy_hosts(input);
  if (choice.gate) run.controls_left = choice.gate->controls;
  bool benchmark_found = choice.benchmark.empty();
  for (const ValidationSuite& suite : input.catalog.validation_suites) {
    if (!choice.suite.empty() && suite.metadata.name.value != choice.suite) continue;
    TRY(SuiteOutcome outcome, run_suite(run, suite));
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
  std::set<std::string> rings;                        // benchmarks with a group to repeat
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

BusyHosts busy_hosts(const MeasureInput& input) {
  BusyHosts out;
  const std::vector<TopologyDevice>& devices = input.compiled.topology.devices;
  for (DeviceIndex device = 0; input.busy && device < devices.size(); ++device)
    if (devices[device].role == DeviceRole::host)
      if (std::string why = input.busy(device); !why.empty()) out.emplace(device, std::move(why));
  return out;
}

std::string left_out_sentence(std::span<const SuiteOutcome> outcomes) {
  std::set<std::string> busy;
  std::size_t pairs = 0;
  std::uint32_t wave = 0;
  for (const SuiteOutcome& suite : outcomes) {
    wave = std::max(wave, suite.gate.measured_later);
    busy.insert(suite.gate.busy.begin(), suite.gate.busy.end());
    pairs += suite.gate.left_out;
  }
  std::string out;
  if (!busy.empty())
    out = busy.size() == 1 ? *busy.begin() + " runs jobs and was not measured"
                           : fmt::format("{} hosts run jobs and were not measured", busy.size());
  if (pairs > 0)
    out += fmt::format("{}the budget left no time for {} pair{}", out.empty() ? "" : "; ", pairs,
                       pairs == 1 ? "" : "s");
  if (wave > 0)
    out += fmt::format("{}what wave {} changes, too, is measured with it", out.empty() ? "" : "; ", wave);
  return out;
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
