// The field tables of ValidationSuite, and the rules between its fields.
#include "specs/language/validation_suite.hpp"

#include <algorithm>
#include <map>

#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t day = 86400 * second;

constexpr Field slo_fields[] = {
    field<&Slo::metric>("metric", "bandwidth, latency, busbw or stepSkew", {.required = true}),
    field<&Slo::statistic>("statistic", "which of the samples is judged", {.required = true}),
    field<&Slo::at_least>("atLeast", "the lowest value that holds"),
    field<&Slo::at_most>("atMost", "the highest value that holds"),
};
constexpr Field benchmark_fields[] = {
    field<&Benchmark::name>("name", "the benchmark's name, unique in the suite",
                            {.required = true, .form = Form::name}),
    field<&Benchmark::workload>("workload", "what runs", {.required = true}),
    field<&Benchmark::transport>("transport", "auto, rdma or tcp", {.otherwise = "the suite's"}),
    field<&Benchmark::pairs>("pairs", "all, same-rail, cross-leaf, ring or sample(N)", {.otherwise = "all"}),
    field<&Benchmark::duration>("duration", "of one round",
                                {.least = second / 100,
                                 .most = day,
                                 .range = "10ms to 1d",
                                 .otherwise = "1500ms; 10s for collectives"}),
    field<&Benchmark::direction>("direction", "one, or both at once", {.otherwise = "one"}),
    field<&Benchmark::sizes>("sizes", "bytes per rank",
                             {.not_empty = true, .least = 1, .range = "more than 0B", .otherwise = "[1MiB]"}),
    field<&Benchmark::repeats>(
        "repeats", "how often each pair is measured",
        {.least = 3, .most = 1000, .why = "a pair is judged by the median of at least 3", .otherwise = "3"}),
    field<&Benchmark::iterations>(
        "iterations", "after warm-up, for each size",
        {.least = 1, .most = 1'000'000, .otherwise = "as many as the SLOs' statistics need"}),
    field<&Benchmark::slo>("slo", "what must hold"),
};
constexpr Field change_fields[] = {
    field<&OnChange::scope>("scope", "affected (pairs whose path crosses the change), or all",
                            {.otherwise = "affected"}),
    field<&OnChange::budget>("budget", "the longest that the suite's rounds may take",
                             {.least = second, .most = day, .range = "1s to 1d", .otherwise = "5min"}),
    field<&OnChange::on_violation>("onViolation", "rollback, quarantine or alert", {.otherwise = "rollback"}),
};
constexpr Field schedule_fields[] = {
    field<&OnSchedule::every>(
        "every", "the interval",
        {.required = true, .least = 60 * second, .most = 366 * day, .range = "1min to 366d"}),
    field<&OnSchedule::when>("when", "idle: only where no job runs", {.otherwise = "idle"}),
    field<&OnSchedule::budget>(
        "budget", "the longest that a run may take",
        {.least = second, .most = 366 * day, .range = "1s to 366d", .otherwise = "30min"}),
    field<&OnSchedule::on_violation>("onViolation", "quarantine or alert", {.otherwise = "alert"}),
};
constexpr Field fields[] = {
    field<&ValidationSuite::fabric>("fabric", "the Fabric that is measured",
                                    {.required = true, .form = Form::name}),
    field<&ValidationSuite::transport>("transport", "auto: rdma where every endpoint has it, else tcp",
                                       {.otherwise = "auto"}),
    field<&ValidationSuite::benchmarks>("benchmarks", "what runs, and what must hold",
                                        {.required = true, .not_empty = true}),
    field<&ValidationSuite::on_change>("onChange", "what runs again after a change"),
    field<&ValidationSuite::on_schedule>("onSchedule", "what `lockstep serve` measures by the clock"),
};

// Bounds that no link can meet, or every link does. 100% of nominal is what links can carry; a baseline was
// measured, and an equally good figure meets it.
void check_extent(const Slo& slo, const Said<Bound>& bound, Reporter& reporter) {
  constexpr std::uint64_t whole = 1'000'000;
  const bool floor = is_floor(*slo.metric);
  const auto wrong = [&](std::string_view why, std::string hint) {
    reporter.error(code::slo_mismatch, {bound.at, 1}, in_quotes(format(*bound)) + " " + std::string(why),
                   std::move(hint));
  };
  const bool zero = bound->unit == Bound::Unit::rate   ? bound->rate.bits_per_second == 0
                    : bound->unit == Bound::Unit::time ? bound->time.count() == 0
                                                       : bound->ratio.parts_per_million == 0;
  if (zero)
    return floor ? wrong("bounds nothing: whatever is measured holds", "write what must be reached")
                 : wrong("is what nothing can meet", "write what must not be exceeded");
  if (bound->of == Bound::Of::absolute) return;
  if (floor && bound->ratio.parts_per_million > whole)
    return wrong("is more than the whole, which nothing can meet", "write 100% or less");
  if (!floor && bound->ratio.parts_per_million < whole)
    wrong("is less than the baseline itself, which would not hold", "write 100% or more");
}

void check_direction(const Slo& slo, Reporter& reporter) {
  const bool floor = is_floor(*slo.metric);
  const Said<Bound>& wrong = floor ? slo.at_most : slo.at_least;
  if (wrong.at.line == 0) return;
  reporter.error(
      code::slo_mismatch, {wrong.at, 1},
      std::string(to_string(*slo.metric)) + (floor ? " has a lowest value that holds, not a highest"
                                                   : " has a highest value that holds, not a lowest"),
      floor ? "did you mean 'atLeast'?" : "did you mean 'atMost'?");
}

void check_bound(const Slo& slo, const Said<Bound>& bound, Reporter& reporter) {
  if (!bound.said || !slo.metric.said) return;
  const std::size_t before = reporter.count();
  if (bound->of == Bound::Of::nominal && unit_of(*slo.metric) != Bound::Unit::rate)
    reporter.error(code::slo_mismatch, {bound.at, 1},
                   std::string(to_string(*slo.metric)) + " has no nominal value",
                   "nominal is what links can carry; compare with baseline or write an amount");
  if (bound->of == Bound::Of::absolute && bound->unit != unit_of(*slo.metric))
    reporter.error(code::slo_mismatch, {bound.at, 1},
                   in_quotes(format(*bound)) + " is not a bound for " + std::string(to_string(*slo.metric)),
                   unit_of(*slo.metric) == Bound::Unit::rate
                       ? "write 90% of nominal, 95% of baseline or 40Gbps"
                   : unit_of(*slo.metric) == Bound::Unit::time ? "write 12us or 110% of baseline"
                                                               : "write 5% or 110% of baseline");
  const Said<Bound>& right = is_floor(*slo.metric) ? slo.at_least : slo.at_most;
  if (reporter.count() == before && &bound == &right) check_extent(slo, bound, reporter);
}

void check_slo(const Slo& slo, Span span, Reporter& reporter) {
  const bool least = slo.at_least.at.line != 0;  // written, even if it could not be read
  const bool most = slo.at_most.at.line != 0;
  if (least == most) reporter.error(code::slo_mismatch, span, "an SLO needs one of atLeast and atMost");
  if (least != most && slo.metric.said) check_direction(slo, reporter);
  check_bound(slo, slo.at_least, reporter);
  check_bound(slo, slo.at_most, reporter);
}

// An amount and a share of nominal are known in advance, so that one of two is the stricter; a future
// baseline is not.
void check_written_once(const Benchmark& benchmark, Reporter& reporter) {
  std::map<std::tuple<Metric, Statistic, bool>, Position> known;
  for (const Slo& slo : benchmark.slo) {
    const Said<Bound>& bound = bound_of(slo);
    if (!slo.metric.said || !slo.statistic.said || !bound.said) continue;
    const bool of_baseline = bound->of == Bound::Of::baseline;
    const auto [at, fresh] = known.try_emplace({*slo.metric, *slo.statistic, of_baseline}, bound.at);
    if (fresh) continue;
    reporter.error(code::written_twice, {bound.at, 1},
                   std::string(to_string(*slo.statistic)) + " of " + std::string(to_string(*slo.metric)) +
                       " is bounded twice" + (of_baseline ? " against the baseline" : ""),
                   "keep the stricter bound; one of baseline may stand beside it",
                   {{at->second, "first bounded here"}});
  }
}

// Only groups use the size; a pair streams, or sends messages of a fixed size.
void check_sizes(const Benchmark& benchmark, Reporter& reporter) {
  const bool of_groups = std::ranges::count(metrics_of(*benchmark.workload), Metric::busbw) > 0;
  if (of_groups || benchmark.sizes.empty()) return;
  reporter.error(
      code::fields_conflict, {benchmark.sizes.front().at, 1},
      std::string(to_string(*benchmark.workload)) + " has no sizes: they are bytes per rank of a collective",
      "leave sizes out, or choose a collective such as ring-allreduce",
      {{benchmark.workload.at, "the workload is set here"}});
}

void check_benchmark(const Benchmark& benchmark, Span, Reporter& reporter) {
  check_written_once(benchmark, reporter);
  if (!benchmark.workload.said) return;
  check_sizes(benchmark, reporter);
  const std::span<const Metric> measured = metrics_of(*benchmark.workload);
  std::vector<std::string_view> names;
  for (const Metric one : measured) names.push_back(to_string(one));
  for (const Slo& slo : benchmark.slo) {
    if (!slo.metric.said || std::find(measured.begin(), measured.end(), *slo.metric) != measured.end())
      continue;
    const std::string_view wanted = to_string(*slo.metric);
    reporter.error(code::slo_mismatch, {slo.metric.at, static_cast<std::uint32_t>(wanted.size())},
                   std::string(to_string(*benchmark.workload)) + " does not measure " + std::string(wanted),
                   names.size() == 1 ? "did you mean '" + std::string(names[0]) + "'?"
                                     : "write " + std::string(names[0]) + " or " + std::string(names[1]),
                   {{benchmark.workload.at, "the workload is set here"}});
  }
}

void check_suite(const ValidationSuite& suite, Span, Reporter& reporter) {
  std::map<std::string_view, Position> names;
  for (const Benchmark& one : suite.benchmarks) {
    if (!one.name.said) continue;
    const auto [at, fresh] = names.emplace(*one.name, one.name.at);
    if (!fresh)
      reporter.error(code::written_twice, {one.name.at, 1},
                     "benchmark " + in_quotes(*one.name) + " is written twice", "",
                     {{at->second, "first written here"}});
  }
}

void check_schedule(const OnSchedule& one, Span, Reporter& reporter) {
  if (one.on_violation.said && *one.on_violation == OnViolation::rollback)
    reporter.error(code::fields_conflict, {one.on_violation.at, 1},
                   "nothing was changed that a schedule could roll back", "write quarantine or alert");
}

}  // namespace

Bound::Unit unit_of(Metric metric) {
  switch (metric) {
    case Metric::bandwidth:
    case Metric::busbw: return Bound::Unit::rate;
    case Metric::latency: return Bound::Unit::time;
    case Metric::step_skew: return Bound::Unit::ratio;
  }
  return Bound::Unit::ratio;
}

bool is_floor(Metric metric) { return unit_of(metric) == Bound::Unit::rate; }

std::string_view bound_pattern_of(Metric metric) {
  switch (metric) {
    case Metric::bandwidth:
    case Metric::busbw:
      return "^(?=.*[1-9])((0*[0-9]{0,2}([.][0-9]*)?|0*100([.]0*)?)% of "
             "(nominal|baseline)|[0-9.]+[KMGT]?bps)$";
    case Metric::latency:
      return "^(?=.*[1-9])(0*[1-9][0-9]{2,}([.][0-9]*)?% of baseline|[0-9.]+(ns|us|ms|s|min|m|h|d))$";
    case Metric::step_skew: return "^(?=.*[1-9])(0*[1-9][0-9]{2,}([.][0-9]*)?% of baseline|[0-9.]+%)$";
  }
  return {};
}

std::span<const Metric> metrics_of(Workload workload) {
  static constexpr Metric pair_bandwidth[] = {Metric::bandwidth};
  static constexpr Metric pair_latency[] = {Metric::latency};
  static constexpr Metric collective[] = {Metric::busbw, Metric::step_skew};
  switch (workload) {
    case Workload::write_bandwidth:
    case Workload::read_bandwidth:
    case Workload::stream: return pair_bandwidth;
    case Workload::write_latency:
    case Workload::request_response: return pair_latency;
    case Workload::ring_allreduce:
    case Workload::tree_allreduce:
    case Workload::all_to_all:
    case Workload::incast:
    case Workload::barrier: return collective;
  }
  return {};
}

template <>
const Type& struct_type<Slo>() {
  static constexpr Type type = object_type<Slo>("an SLO", slo_fields, checked<Slo, check_slo>,
                                                "one of atLeast and atMost is required");
  return type;
}
template <>
const Type& struct_type<Benchmark>() {
  static constexpr Type type =
      object_type<Benchmark>("a benchmark", benchmark_fields, checked<Benchmark, check_benchmark>);
  return type;
}
template <>
const Type& struct_type<OnChange>() {
  static constexpr Type type = object_type<OnChange>("onChange", change_fields);
  return type;
}
template <>
const Type& struct_type<OnSchedule>() {
  static constexpr Type type =
      object_type<OnSchedule>("onSchedule", schedule_fields, checked<OnSchedule, check_schedule>);
  return type;
}
template <>
const Type& struct_type<ValidationSuite>() {
  static constexpr Type type =
      object_type<ValidationSuite>("a ValidationSuite", fields, checked<ValidationSuite, check_suite>);
  return type;
}

}  // namespace lockstep
