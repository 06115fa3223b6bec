#include "reconciler/report/bench_rows.hpp"

#include <algorithm>
#include <map>

#include "specs/model/path.hpp"

namespace lockstep {
namespace {

using bench::Measurement;

// As in the judge: only failures of the path or the result count as failed.
HeatCell::State state_of(const Measurement& one) {
  switch (one.trouble) {
    case bench::Trouble::path:
    case bench::Trouble::wrong: return HeatCell::State::failed;
    case bench::Trouble::transport:
    case bench::Trouble::cancelled: return HeatCell::State::not_measured;
    case bench::Trouble::tool: return HeatCell::State::unknown;
    case bench::Trouble::none: break;
  }
  return HeatCell::State::measured;
}

// From the first SLO on this metric that has these terms.
std::optional<Bound> said_bound(const Benchmark& benchmark, Metric metric, Bound::Of of) {
  for (const Slo& slo : benchmark.slo)
    if (*slo.metric == metric && bound_of(slo)->of == of) return *bound_of(slo);
  return std::nullopt;
}

// A figure that meets its bound despite a CPU limit is a pass, as in the judge.
HeatCell cell_of(const Measurement& one, const std::optional<Bound>& time, double good) {
  HeatCell cell{state_of(one), 0, 0};
  const bool shares = time ? one.value > 0 : one.nominal.has_value();
  if (shares) {
    cell.share =
        time ? std::chrono::duration<double>(time->time).count() / one.value : one.value / *one.nominal;
    cell.figure = time ? one.value * 1e6 : cell.share * 100;
  }
  if (cell.state != HeatCell::State::measured) return cell;
  if (!shares) cell.state = HeatCell::State::not_measured;
  if (one.cpu_limited && cell.share < good) cell.state = HeatCell::State::unknown;
  return cell;
}

}  // namespace

std::string figure_text(std::optional<double> value, Metric metric) {
  return value ? bench::told(*value, unit_of(metric)) : "";
}

std::string figure_text(const bench::Distribution& seen, Statistic statistic, Metric metric) {
  return figure_text(bench::figure(seen, statistic).value, metric);
}

std::string ideal_text(const Measurement& one) {
  if (!one.ideal) return "";
  const std::string balanced = figure_text(one.ideal->balanced, one.metric);
  const std::string hashed = figure_text(one.ideal->hash_expected, one.metric);
  return balanced == hashed ? balanced : hashed + " .. " + balanced;
}

bool not_run(const Measurement& one) { return one.trouble == bench::Trouble::cancelled; }

std::string remark_text(const Measurement& one) {
  if (not_run(one)) return "not run: " + one.error;
  if (!one.ok()) return one.error;
  if (one.cpu_limited) return one.cpu_limit();
  return one.note;
}

std::vector<const Measurement*> worst_first(const BenchmarkOutcome& outcome) {
  std::vector<const Measurement*> sorted;
  for (const Measurement& one : outcome.measurements) sorted.push_back(&one);
  const bool low_is_good = !sorted.empty() && unit_of(sorted.front()->metric) != Bound::Unit::rate;
  std::stable_sort(sorted.begin(), sorted.end(), [low_is_good](const Measurement* a, const Measurement* b) {
    if (not_run(*a) != not_run(*b)) return not_run(*b);
    if (a->ok() != b->ok()) return !a->ok();
    return low_is_good ? a->value > b->value : a->value < b->value;
  });
  return sorted;
}

HeatMap heat_map_of(const BenchmarkOutcome& outcome) {
  HeatMap map;
  std::map<std::string, std::size_t> index;
  for (const Measurement& one : outcome.measurements) {
    if (one.from.empty() || one.metric != outcome.measurements.front().metric) return {};
    for (const std::string* const name : {&one.from, &one.to})
      if (index.try_emplace(*name, 0).second) map.names.push_back(*name);
  }
  if (map.names.empty()) return {};
  const Metric metric = outcome.measurements.front().metric;
  std::optional<Bound> time;
  if (unit_of(metric) == Bound::Unit::time) {
    time = said_bound(*outcome.benchmark, metric, Bound::Of::absolute);
    if (!time) return {};
    map.good = 1;
  } else if (const auto share = said_bound(*outcome.benchmark, metric, Bound::Of::nominal)) {
    map.good = share->ratio.fraction();
    map.poor = std::min(map.poor, map.good);
  }
  sort_names(map.names);
  for (std::size_t i = 0; i < map.names.size(); ++i) index[map.names[i]] = i;
  map.cells.assign(map.names.size(), std::vector<HeatCell>(map.names.size()));
  for (const Measurement& one : outcome.measurements)
    map.cells[index[one.from]][index[one.to]] = cell_of(one, time, map.good);
  return map;
}

}  // namespace lockstep
