// Judge: compares measurements with SLOs, as defined in "What the numbers mean" of the spec language.
//
// Promises: pure; the worst pair, size or group decides and is reported; `have` is in the terms of the bound
// ("96.0%", "11.3us", "940.0Mbps"). A pair whose traffic the fabric did not deliver, or a wrong result,
// fails. Unknown, with the reason: too few samples; a violated bound with an endpoint limited by its CPU (one
// that held is a pass, because lack of CPU only worsens a figure); no baseline; a transport or workload that
// is not available; a probe that failed. A proven failure takes precedence over an unknown, an unknown over a
// pass.
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
  std::string have;  // of the worst: "96.0%"; empty if nothing could be determined
  Verdict verdict = Verdict::unknown;
  std::string reason;                  // why it is not a pass, in one sentence
  std::string worst;                   // Measurement::subject() of the deciding one
  std::vector<std::size_t> violating;  // indices of measurements that violate it
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
  std::string reason;            // why it is not a pass, if the figure is not the reason
  bool wants_baseline = false;   // unknown only because there is no baseline
};
Ruling rule(const Slo& slo, const Measurement& measurement);
// "96.0%", in the terms of the bound; empty: no figure.
std::string told(const Slo& slo, const Ruling& ruling);
bool at_least(const Slo& slo);  // true: the bound is a lower one; if both or neither is set, see bound_of
std::string want_of(const Slo& slo);  // ">= 90% of nominal"

// `measurements` are those of one benchmark; other metrics are ignored.
SloVerdict judge(const Slo& slo, std::span<const Measurement> measurements);
BenchmarkVerdict judge(const Benchmark& benchmark, std::span<const Measurement> measurements);

// Fail if any fails, else unknown if any is, else pass. An empty list is a pass: a benchmark without SLO only
// shows figures.
Verdict all_of(std::span<const Verdict> verdicts);
// `--strict`: an unknown fails the gate.
constexpr Verdict strict(Verdict verdict) { return verdict == Verdict::unknown ? Verdict::fail : verdict; }

// "96.0%", "11.3us", "940.0Mbps": a figure in the unit of a bound.
std::string told(double value, Bound::Unit unit);

}  // namespace lockstep::bench
