// measure: the benchmarks of ValidationSuites, on real traffic, over the pairs that matter, judged.
//
// Promises: what runs follows from specs and topology alone: endpoints, rounds in which no link can be
// oversubscribed under any hash outcome, nominal and ideal figures; in a gate only its pairs; coverage says
// what was measured of what was to be. A benchmark that can't run here is in the outcome with its reason, as
// unknown; so is what was not measured when it was stopped. Refuses: suites or benchmarks by a name that does
// not exist.
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

// What changes can have touched.
struct TouchedParts {
  std::vector<std::string> devices;   // changed as a whole
  std::vector<std::uint32_t> cables;  // LinkIndex
};

// Of one benchmark; without ends: all its rings.
struct NamedPair {
  std::string suite;
  std::string benchmark;
  std::string from;  // "gpu1:rail0"
  std::string to;
};

// What a gate measures: pairs that are selected for all that a run may write (gate_pairs.hpp), and of them
// those over `affected`, but for those over `pending`.
struct GateChoice {
  TouchedParts affected;
  TouchedParts pending;
  TouchedParts whole;
  std::set<DeviceIndex> left_out{};        // hosts that ran jobs when the run first measured
  std::set<DeviceIndex> in_maintenance{};  // of what ends at one or can't but cross one nothing is measured
  std::vector<NamedPair> also{};           // besides those over `affected`
  std::uint32_t pending_until = 0;         // the wave with which the last over `pending` is measured; 0: none
  std::size_t controls = 0;  // not 0: in place of these so many pairs that `whole` can't have touched
};

struct MeasureChoice {
  std::string suite;                 // empty: all
  std::string benchmark;             // empty: all
  std::optional<GateChoice> gate{};  // none: what the suites say
  // By the benchmark's name and the pair's ends ("gpu1:rail0"), or a ring's hops; empty: all.
  std::function<bool(const std::string& benchmark, const std::string& from, const std::string& to)> among{};
  std::optional<std::uint64_t> flows{};  // as TcpPlan's
};

struct MeasureInput {
  const Catalog& catalog;
  const Compiled& compiled;
  // The network namespace in which a device's probe runs; empty text: this one.
  std::function<std::string(const std::string& device)> netns_path;
  // Why nothing can be measured at this device; empty text, or none of these: it can.
  std::function<std::string(DeviceIndex device)> unreachable;
  std::map<std::string, bench::Baseline> baselines;  // by suite
  std::string config_hash;
  // Measures in place of the probes, for tests; empty: it is not replaced.
  std::function<Result<std::vector<bench::Measurement>>(const bench::TcpPlan& plan,
                                                        const std::vector<bench::ProbeEndpoint>& ends)>
      traffic{};
  // Why a gate may not measure at this host now: "Slurm job 42"; empty text, or none of these: it may.
  std::function<std::string(DeviceIndex device)> busy{};
};

using BusyHosts = std::map<DeviceIndex, std::string>;  // with the reason
BusyHosts busy_hosts(const MeasureInput& input);

// kNone: it names none that there is.
FabricIndex fabric_index(const Catalog& catalog, const ValidationSuite& suite);

struct BenchmarkOutcome {
  const Benchmark* benchmark = nullptr;
  std::string transport;      // the one that ran; empty: none
  std::string transport_why;  // where the suite left the choice
  std::vector<bench::Measurement> measurements;
  std::string
      left_out;  // of a gate that measured nothing of it: why, of what was affected; empty: nothing was
  bench::BenchmarkVerdict verdict;
  bench::Coverage coverage;
  std::size_t rounds = 0;
};

// What a gate's pairs left out.
struct GateCoverage {
  std::vector<std::string> busy;       // hosts that run jobs
  std::size_t left_out = 0;            // pairs for which onChange.budget left no time
  std::vector<std::string> uncovered;  // affected links, one way, that no pair with a figure crosses; and why
  // Affected links, one way, that no pair of this suite could cross, whoever runs jobs or is in maintenance.
  std::vector<std::string> by_design;
  bool judges = false;  // some benchmark has an SLO: else it is no gate
  std::uint32_t measured_later =
      0;  // the wave with which what was left out as half done is measured; 0: none
};

struct SuiteOutcome {
  const ValidationSuite* suite = nullptr;
  std::vector<BenchmarkOutcome> benchmarks;
  GateCoverage gate;
  std::size_t rounds_after = 0;  // later rounds of a gate, which confirmed or cleared some of it
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

// Measures once more what `wants` says of what was measured under this choice; what it then no longer says it
// of takes the place of what was measured first, and all is judged again.
Result<Done> measure_once_more(const MeasureInput& input, MeasureChoice choice,
                               const std::function<bool(const bench::Measurement&)>& wants,
                               const std::function<void(const MeasureProgress&)>& progress,
                               const std::stop_token& stop, std::vector<SuiteOutcome>& outcomes);

// Whether it was stopped before all was measured.
bool cut_short(const std::vector<SuiteOutcome>& outcomes);

bench::Verdict verdict_of(const std::vector<SuiteOutcome>& outcomes);

// How many there are, whatever came of them.
std::size_t measurements_in(std::span<const SuiteOutcome> outcomes);

// "3 hosts run jobs and were not measured; onChange.budget left no time for 12 pairs; what wave 3 changes,
// too, is measured with it"; empty: nothing was left out.
std::string left_out_sentence(std::span<const SuiteOutcome> outcomes);

// One line for a gate: "pairs: bandwidth min 41.0% (want >= 90% of nominal), worst gpu1:rail0 -> gpu2:rail1".
std::string verdict_sentence(const std::vector<SuiteOutcome>& outcomes);

// SHA-256 over everything wanted: what a measurement was taken under.
std::string config_hash(const Compiled& compiled);

}  // namespace lockstep
