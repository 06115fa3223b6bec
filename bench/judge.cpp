#include "bench/judge.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

namespace lockstep::bench {
namespace {

double limit_of(const Bound& bound) {
  if (bound.of != Bound::Of::absolute || bound.unit == Bound::Unit::ratio) return bound.ratio.fraction();
  if (bound.unit == Bound::Unit::rate) return static_cast<double>(bound.rate.bits_per_second);
  return static_cast<double>(bound.time.count()) / 1e9;
}

Bound::Unit unit_of(const Bound& bound) {
  return bound.of == Bound::Of::absolute ? bound.unit : Bound::Unit::ratio;
}

Ruling rule_trouble(const Measurement& measurement) {
  switch (measurement.trouble) {
    case Trouble::path:
      if (measurement.cpu_limited)
        return {Verdict::unknown, std::nullopt, measurement.cpu_limit() + "; " + measurement.error};
      return {Verdict::fail, std::nullopt, measurement.error};
    case Trouble::wrong: return {Verdict::fail, std::nullopt, "wrong result: " + measurement.error};
    case Trouble::transport: return {Verdict::unknown, std::nullopt, "not to be had: " + measurement.error};
    case Trouble::tool: return {Verdict::unknown, std::nullopt, "not measured: " + measurement.error};
    case Trouble::cancelled: return {Verdict::unknown, std::nullopt, "stopped before it was measured"};
    case Trouble::none: break;
  }
  return {};
}

// The divisor of the figure; nullopt with the reason in `why`.
std::optional<double> reference_of(const Measurement& measurement, const Bound& bound, Statistic statistic,
                                   std::string& why) {
  if (bound.of == Bound::Of::absolute) return 1.0;
  if (bound.of == Bound::Of::nominal) {
    if (measurement.nominal && *measurement.nominal > 0) return measurement.nominal;
    why = "no nominal figure for it";
    return std::nullopt;
  }
  if (!measurement.accepted) {
    why = "no baseline yet";
    return std::nullopt;
  }
  const Figure before = figure(*measurement.accepted, statistic);
  if (before.value && *before.value > 0) return before.value;
  why = "baseline: " + (before.value ? "it is zero" : before.why_not);
  return std::nullopt;
}

// Whether `a` takes precedence over `b`: a failure before an unknown before a pass; then the worse figure;
// none is worst.
bool decides(const Ruling& a, const Ruling& b, bool at_least) {
  constexpr std::array<int, 3> weight{0, 2, 1};  // pass, fail, unknown
  const int wa = weight[static_cast<std::size_t>(a.verdict)];
  const int wb = weight[static_cast<std::size_t>(b.verdict)];
  if (wa != wb) return wa > wb;
  if (a.figure.has_value() != b.figure.has_value()) return !a.figure.has_value();
  if (!a.figure) return false;
  return at_least ? *a.figure < *b.figure : *a.figure > *b.figure;
}

}  // namespace

bool at_least(const Slo& slo) { return slo.at_least.said || !slo.at_most.said; }

std::string want_of(const Slo& slo) { return (at_least(slo) ? ">= " : "<= ") + format(*bound_of(slo)); }

std::string told(double value, Bound::Unit unit) {
  std::array<char, 64> text{};
  const auto print = [&](double number, const char* suffix) {
    (void)std::snprintf(text.data(), text.size(), "%.1f%s", number, suffix);
    return std::string(text.data());
  };
  if (unit == Bound::Unit::ratio) return print(value * 100, "%");
  if (unit == Bound::Unit::rate) {
    if (value >= 1e9) return print(value / 1e9, "Gbps");
    return value >= 1e6 ? print(value / 1e6, "Mbps") : print(value / 1e3, "Kbps");
  }
  if (value >= 1) return print(value, "s");
  if (value >= 1e-3) return print(value * 1e3, "ms");
  return print(value * 1e6, "us");
}

Ruling rule(const Slo& slo, const Measurement& measurement) {
  const Bound& bound = *bound_of(slo);
  if (!measurement.ok()) return rule_trouble(measurement);
  Ruling ruling;
  const Figure seen = figure(measurement.seen, *slo.statistic);
  if (!seen.value) {
    ruling.reason = seen.why_not;
    return ruling;
  }
  const std::optional<double> reference = reference_of(measurement, bound, *slo.statistic, ruling.reason);
  ruling.wants_baseline = !reference && bound.of == Bound::Of::baseline && !measurement.accepted;
  if (!reference) return ruling;
  ruling.figure = *seen.value / *reference;
  const double limit = limit_of(bound);
  const bool holds = at_least(slo) ? *ruling.figure >= limit : *ruling.figure <= limit;
  if (holds) {
    ruling.verdict = Verdict::pass;
  } else if (measurement.cpu_limited) {
    ruling.reason = measurement.cpu_limit();
  } else {
    ruling.verdict = Verdict::fail;
  }
  return ruling;
}

std::string told(const Slo& slo, const Ruling& ruling) {
  return ruling.figure ? told(*ruling.figure, unit_of(*bound_of(slo))) : std::string{};
}

SloVerdict judge(const Slo& slo, std::span<const Measurement> measurements) {
  SloVerdict made;
  made.metric = *slo.metric;
  made.statistic = *slo.statistic;
  made.want = want_of(slo);
  made.reason = "nothing was measured";
  std::optional<Ruling> worst;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& measurement = measurements[i];
    if (measurement.metric != made.metric) continue;
    Ruling ruling = rule(slo, measurement);
    if (ruling.verdict == Verdict::fail) made.violating.push_back(i);
    if (worst && !decides(ruling, *worst, at_least(slo))) continue;
    worst = std::move(ruling);
    made.worst = measurement.subject();
  }
  if (!worst) return made;
  made.verdict = worst->verdict;
  made.have = told(slo, *worst);
  made.reason = worst->reason;
  if (made.verdict == Verdict::fail && made.reason.empty())
    made.reason = made.worst + " has " + made.have + ", wanted " + made.want;
  return made;
}

BenchmarkVerdict judge(const Benchmark& benchmark, std::span<const Measurement> measurements) {
  BenchmarkVerdict made;
  made.name = *benchmark.name;
  std::vector<Verdict> verdicts;
  for (const Slo& slo : benchmark.slo) {
    made.slo.push_back(judge(slo, measurements));
    verdicts.push_back(made.slo.back().verdict);
  }
  made.verdict = all_of(verdicts);
  return made;
}

Verdict all_of(std::span<const Verdict> verdicts) {
  const auto any = [&](Verdict verdict) {
    return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end();
  };
  if (any(Verdict::fail)) return Verdict::fail;
  return any(Verdict::unknown) ? Verdict::unknown : Verdict::pass;
}

}  // namespace lockstep::bench
