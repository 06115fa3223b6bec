// Judge: measurements against SLOs, as "What the numbers mean" of the spec language defines.
//
// Promises: pure; the worst pair, size or group decides and is named; `have` is told in the terms of the
// bound
// ("96.0%", "11.3us", "940.0Mbps"). A pair that the fabric did not carry, or a wrong result, fails. Unknown,
// with its reason: too few samples, a bound broken by an endpoint that was bound by its CPU (one that held in
// spite of that has held: want of CPU only worsens a figure), no baseline, a transport or workload not to be
// had, a probe that failed. A proven failure outweighs an unknown; an unknown outweighs a pass.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measurement.hpp"

namespace lockstep::bench {

enum class Verdict : std::uint8_t { pass, fail, unknown };
constexpr auto words(Verdict) { return std::to_array<std::string_view>({"pass", "fail", "unknown"}); }

struct SloVerdict {
  Metric metric = Metric::bandwidth;
  Statistic statistic = Statistic::min;
  std::string want;  // ">= 90% of nominal"
  std::string have;  // of the worst: "96.0%"; empty where nothing could be said
  Verdict verdict = Verdict::unknown;
  std::string reason;                  // why it is not a pass, in one sentence
  std::string worst;                   // Measurement::subject() of the one that decided
  std::vector<std::size_t> violating;  // indices of measurements that break it
};

struct BenchmarkVerdict {
  std::string name;
  Verdict verdict = Verdict::unknown;
  std::vector<SloVerdict> slo;
};

// One measurement against one SLO.
struct Ruling {
  Verdict verdict = Verdict::unknown;
  std::optional<double> figure;  // in the terms of the bound: a share of nominal, seconds, ...
  std::string reason;            // why it is not a pass, where that is not the figure
  bool wants_baseline = false;   // unknown for want of one, and of nothing else
};
Ruling rule(const Slo& slo, const Measurement& measurement);
// "96.0%", in the terms of the bound; empty: no figure.
std::string told(const Slo& slo, const Ruling& ruling);
bool at_least(const Slo& slo);        // of two bounds that are said neither or both: the lower one
std::string want_of(const Slo& slo);  // ">= 90% of nominal"

// `measurements` are those of one benchmark; those of other metrics are ignored.
SloVerdict judge(const Slo& slo, std::span<const Measurement> measurements);
BenchmarkVerdict judge(const Benchmark& benchmark, std::span<const Measurement> measurements);

// Fail if any fails, else unknown if any is, else pass. Nothing to judge is a pass: a benchmark without SLO
// only shows figures.
Verdict all_of(std::span<const Verdict> verdicts);
// `--strict`: an unknown fails the gate.
constexpr Verdict strict(Verdict verdict) { return verdict == Verdict::unknown ? Verdict::fail : verdict; }

// "96.0%", "11.3us", "940.0Mbps": a figure in the unit of a bound.
std::string told(double value, Bound::Unit unit);

}  // namespace lockstep::bench
