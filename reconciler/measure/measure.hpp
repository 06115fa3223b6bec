// measure: runs the benchmarks of ValidationSuites with real traffic, over the relevant pairs, and judges
// them.
//
// Promises: what runs follows from specs and topology alone: endpoints, rounds in which no link can be
// oversubscribed under any hash outcome, nominal and ideal figures; a gate measures only its pairs; coverage
// shows what was measured of what was planned. A benchmark that can't run here is in the outcome as unknown,
// with its reason; so is everything not measured before a stop. Refuses: names of suites or benchmarks that
// do not exist.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/baseline.hpp"
#include "bench/judge.hpp"
#include "bench/schedule.hpp"
#include "bench/suspects.hpp"
#include "bench/tcp/run.hpp"
#include "specs/compile/compile.hpp"

namespace lockstep {

// What changes may have affected.
struct TouchedParts {
  std::vector<std::string> devices;   // changed as a whole
  std::vector<std::uint32_t> cables;  // LinkIndex
};

// A pair of one benchmark; without ends: all its rings.
struct NamedPair {
  std::string suite;
  std::string benchmark;
  std::string from;  // "gpu1:rail0"
  std::string to;
};

// What a gate measures: of the pairs that are selected for everything that a run may write (gate_pairs.hpp),
// those that cross `affected`, except those that cross `pending`.
struct GateChoice {
  TouchedParts affected;
  TouchedParts pending;
  TouchedParts whole;
  std::set<DeviceIndex> left_out{};        // hosts that ran jobs when the run first measured
  std::set<DeviceIndex> in_maintenance{};  // pairs that end at one or must cross one are not measured
  std::vector<NamedPair> also{};           // in addition to those over `affected`
  std::uint32_t pending_until = 0;         // the wave that measures the last pairs over `pending`; 0: none
  std::size_t controls = 0;  // not 0: measure instead this many pairs that `whole` can't have affected
  std::optional<std::chrono::milliseconds> budget{};  // of the rounds; none: onChange.budget
};

struct MeasureChoice {
  std::string suite;                 // empty: all
  std::string benchmark;             // empty: all
  std::optional<GateChoice> gate{};  // none: as the suites specify
  // By the benchmark's name and the pair's ends ("gpu1:rail0"), or a ring's hops; empty: all.
  std::function<bool(const std::string& benchmark, const std::string& from, const std::string& to)> among{};
  std::optional<std::uint64_t> flows{};  // see TcpPlan
};

struct MeasureInput {
  const Catalog& catalog;
  const Compiled& compiled;
  // The network namespace in which a device's probe runs; empty text: this one.
  std::function<std::string(const std::string& device)> netns_path;
  // Why nothing can be measured at this device; empty text, or an empty function: it can be measured.
  std::function<std::string(DeviceIndex device)> unreachable;
  std::map<std::string, bench::Baseline> baselines;  // by suite
  std::string config_hash;
  // Replaces the probes in tests; empty: not replaced.
  std::function<Result<std::vector<bench::Measurement>>(const bench::TcpPlan& plan,
                                                        const std::vector<bench::ProbeEndpoint>& ends)>
      traffic{};
  // Why a gate may not measure at this host now: "Slurm job 42"; empty text, or an empty function: it may.
  std::function<std::string(DeviceIndex device)> busy{};
};

using BusyHosts = std::map<DeviceIndex, std::string>;  // with the reason
BusyHosts busy_hosts(const MeasureInput& input);

// kNone: the suite names no existing fabric.
FabricIndex fabric_index(const Catalog& catalog, const ValidationSuite& suite);

struct BenchmarkOutcome {
  const Benchmark* benchmark = nullptr;
  std::string transport;      // the one that ran; empty: none
  std::string transport_why;  // if the suite left the choice open
  std::vector<bench::Measurement> measurements;
  std::string
      left_out;  // for a gate that measured nothing: why the affected pairs were left out; empty: none were
  bench::BenchmarkVerdict verdict;
  bench::Coverage coverage;
  std::size_t rounds = 0;
};

// What a gate's pairs did not cover.
struct GateCoverage {
  std::vector<std::string> busy;       // hosts that run jobs
  std::size_t left_out = 0;            // pairs for which the budget left no time
  std::vector<std::string> uncovered;  // affected links, one way, that no pair with a figure crosses; and why
  // Affected links, one way, that no pair of this suite could cross, regardless of jobs and maintenance.
  std::vector<std::string> by_design;
  bool judges = false;               // some benchmark has an SLO; otherwise it is no gate
  std::uint32_t measured_later = 0;  // the wave with which pairs left out as incomplete are measured; 0: none
};

struct SuiteOutcome {
  const ValidationSuite* suite = nullptr;
  std::vector<BenchmarkOutcome> benchmarks;
  GateCoverage gate;
  std::size_t rounds_after = 0;  // additional rounds of a gate, which confirmed or cleared a result
  std::vector<bench::Suspect> suspects;
  bench::Verdict verdict = bench::Verdict::unknown;
};

struct MeasureProgress {
  std::string benchmark;
  std::size_t done = 0;
  std::size_t total = 0;
  std::string last;  // "gpu1:rail0 -> gpu2:rail0  938Mbps"
};

Result<std::vector<SuiteOutcome>> measure(const MeasureInput& input, const MeasureChoice& choice,
                                          const std::function<void(const MeasureProgress&)>& progress,
                                          const std::stop_token& stop);

// Repeats the measurements for which `wants` is true, under this choice. A repeated measurement replaces the
// first one if `wants` is then false for it, and everything is judged again.
Result<Done> measure_once_more(const MeasureInput& input, MeasureChoice choice,
                               const std::function<bool(const bench::Measurement&)>& wants,
                               const std::function<void(const MeasureProgress&)>& progress,
                               const std::stop_token& stop, std::vector<SuiteOutcome>& outcomes);

// Whether it was stopped before everything was measured.
bool cut_short(const std::vector<SuiteOutcome>& outcomes);

bench::Verdict verdict_of(const std::vector<SuiteOutcome>& outcomes);

// The number of measurements, whatever their results.
std::size_t measurements_in(std::span<const SuiteOutcome> outcomes);

// "3 hosts run jobs and were not measured; the budget left no time for 12 pairs; what wave 3 changes,
// too, is measured with it"; empty: nothing was left out.
std::string left_out_sentence(std::span<const SuiteOutcome> outcomes);

// One line for a gate: "pairs: bandwidth min 41.0% (want >= 90% of nominal), worst gpu1:rail0 -> gpu2:rail1".
std::string verdict_sentence(const std::vector<SuiteOutcome>& outcomes);

// SHA-256 over all desired entries: identifies the configuration that a measurement was taken under.
std::string config_hash(const Compiled& compiled);

}  // namespace lockstep
