#include "reconciler/session/recorded_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "reconciler/store/utc_text.hpp"

namespace lockstep {
namespace {

bool was_carried(const RunFigure& figure) {
  return figure.trouble != bench::Trouble::path && figure.trouble != bench::Trouble::wrong;
}

// As in the gate: higher is better, 0 if nothing got through.
GateFigure gate_figure(const RunFigure& figure, Statistic statistic) {
  GateFigure out;
  out.noise = figure.seen.noise;
  if (!was_carried(figure)) out.figure = 0;
  const std::optional<double> value = value_of(figure, statistic);
  if (value && *value > 0) out.figure = is_floor(figure.metric) ? *value : 1 / *value;
  return out;
}

std::string benchmark_of(const RunFigure& figure) { return figure.suite + "/" + figure.benchmark; }

std::string line_of(const RunHead& head) {
  std::string what(to_string(head.purpose));
  if (head.purpose != RunPurpose::bench) what += fmt::format(" of change {}", head.change);
  return fmt::format("{} ({}, {}, {})", head.number, what, head.at, head.verdict);
}

Error no_such_run(const Runs& runs, const std::string& why) {
  constexpr std::size_t kShown = 5;  // a choice
  const Result<std::vector<RunHead>> newest = runs.newest(kShown);
  if (!newest) return newest.error();
  std::string all;
  for (const RunHead& one : *newest) all += (all.empty() ? "" : ", ") + line_of(one);
  return {ErrorKind::refused, why + (all.empty() ? "; no run is recorded yet" : "; the newest are " + all)};
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

// The findings of a gate after its change: the last figure of each pair, wave by wave; after a rollback those
// measured again.
Result<std::optional<MeasuredRun>> gate_of(const Runs& runs, std::uint64_t change) {
  TRY(const std::vector<RunHead> all, runs.of_change(change));
  const bool undone =
      std::ranges::any_of(all, [](const RunHead& one) { return one.purpose == RunPurpose::again; });
  const RunPurpose wanted = undone ? RunPurpose::again : RunPurpose::after;
  std::optional<MeasuredRun> out;
  std::map<std::string, RunFigure> figures;
  std::map<std::string, RunDevice> devices;
  for (const RunHead& head : all) {
    if (head.purpose != wanted) continue;
    TRY(std::optional<MeasuredRun> run, runs.find(head.number));
    if (!run) continue;
    for (const RunFigure& one : run->figures)
      if (!one.control) figures.insert_or_assign(series_of(one), one);
    for (const RunDevice& one : run->devices) devices.insert_or_assign(one.device, one);
    out = std::move(run);
  }
  if (!out) return out;
  out->figures.clear();
  out->devices.clear();
  for (auto& [series, one] : figures) out->figures.push_back(std::move(one));
  for (auto& [name, one] : devices) out->devices.push_back(std::move(one));
  return out;
}

// The statistics that users and the SLOs judge the metric by. For min and max over pairs, each pair has its
// median.
std::vector<Statistic> statistics_of(const Catalog& catalog, const RunFigure& figure) {
  std::vector<Statistic> out{Statistic::median};
  for (const ValidationSuite& suite : catalog.validation_suites)
    for (const Benchmark& benchmark : suite.benchmarks)
      for (const Slo& slo : benchmark.slo) {
        if (*suite.metadata.name != figure.suite || *benchmark.name != figure.benchmark) continue;
        if (*slo.metric != figure.metric || bench::percent_of(*slo.statistic) == 50) continue;
        if (std::find(out.begin(), out.end(), *slo.statistic) == out.end()) out.push_back(*slo.statistic);
      }
  return out;
}

// Whether lockstep is the same, and each device is in the same boot with the same drivers.
bool is_on(const RunGround& ground, const MeasuredRun& run) {
  return !ground.version.empty() && run.head.version == ground.version &&
         std::ranges::all_of(run.devices, [&ground](const RunDevice& one) {
           const auto found = ground.devices.find(one.device);
           return !one.boot.empty() && found != ground.devices.end() && found->second == one;
         });
}

void add(std::vector<ContextDifference>& all, const std::string& what, const std::string& of,
         const std::string& then, const std::string& now) {
  if (then != now || then.empty()) all.push_back({what, of, then, now});
}

std::vector<ContextDifference> differences(const MeasuredRun& then, const MeasuredRun& now) {
  std::vector<ContextDifference> out;
  add(out, "configuration", "", then.head.config_hash, now.head.config_hash);
  add(out, "version", "", then.head.version, now.head.version);
  add(out, "kernel", "", then.head.kernel, now.head.kernel);
  std::map<std::string, const RunDevice*> known;
  for (const RunDevice& one : then.devices) known[one.device] = &one;
  for (const RunDevice& one : now.devices) {
    const auto found = known.find(one.device);
    if (found == known.end()) continue;
    add(out, "boot", one.device, found->second->boot, one.boot);
    if (found->second->drivers != one.drivers)
      out.push_back({"drivers", one.device, found->second->drivers, one.drivers});
  }
  std::map<std::string, std::string> transports;
  for (const RunFigure& one : then.figures)
    if (one.trouble != bench::Trouble::transport) transports.try_emplace(benchmark_of(one), one.transport);
  for (const RunFigure& one : now.figures) {
    const auto found = transports.find(benchmark_of(one));
    if (found == transports.end() || one.trouble == bench::Trouble::transport) continue;
    if (found->second != one.transport)
      out.push_back({"transport", found->first, found->second, one.transport});
    transports.erase(found);
  }
  return out;
}

}  // namespace

std::string series_of(const RunFigure& figure) {
  return fmt::format("{} {}, {}", benchmark_of(figure), to_string(figure.metric), subject_of(figure));
}

std::optional<double> value_of(const RunFigure& figure, Statistic statistic) {
  return figure.trouble == bench::Trouble::none ? bench::figure(figure.seen, statistic) : std::nullopt;
}

std::string why_no_value(const RunFigure& figure, Statistic statistic) {
  if (figure.trouble != bench::Trouble::none) return figure.why;
  if (value_of(figure, statistic)) return "";
  return fmt::format("too few samples for {} ({})", to_string(statistic), figure.seen.count);
}

Trend trend(const RunFigure& was, const RunFigure& now, Statistic statistic) {
  const GateFigure before = gate_figure(was, statistic);
  const GateFigure after = gate_figure(now, statistic);
  if (!before.figure || !after.figure) return Trend::unknown;
  const double least = 1 - tolerance(before, after);
  if (*after.figure < *before.figure * least) return Trend::worse;
  return *before.figure < *after.figure * least ? Trend::better : Trend::alike;
}

Result<MeasuredRun> find_run(const Runs& runs, const std::string& asked) {
  constexpr std::string_view kChange = "change:";
  std::optional<MeasuredRun> found;
  std::string why = "there is no run '" + asked + "'";
  if (asked == "last") {
    TRY(const std::vector<RunHead> newest, runs.newest(1, RunPurpose::bench));
    if (newest.empty()) return no_such_run(runs, "no bench is recorded, so there is no last one");
    TRY(found, runs.find(newest.front().number));
  } else if (asked.starts_with(kChange)) {
    const auto change = number_in(std::string_view(asked).substr(kChange.size()));
    if (!change) return no_such_run(runs, "'" + asked + "' names no change: change:7 does");
    TRY(found, gate_of(runs, *change));
    why = fmt::format("no gate's run after change {} is recorded", *change);
  } else if (const auto number = number_in(asked)) {
    TRY(found, runs.find(*number));
  } else {
    return no_such_run(runs, "'" + asked + "' is no run: a number, last, or change:N is");
  }
  if (!found) return no_such_run(runs, why);
  if (found->figures.empty() && found->head.measured > 0)
    return no_such_run(runs, fmt::format("the figures of run {} are not kept any more", found->head.number));
  return *std::move(found);
}

RunComparison compare_runs(const MeasuredRun& then, const MeasuredRun& now, const Catalog& catalog) {
  RunComparison out;
  out.then = then.head;
  out.differs = differences(then, now);
  std::map<std::string, const RunFigure*> known;
  for (const RunFigure& one : then.figures) {
    const auto [place, is_new] = known.try_emplace(series_of(one), &one);
    if (!is_new && place->second->control) place->second = &one;
  }
  for (const RunFigure& one : now.figures) {
    const std::string series = series_of(one);
    const auto found = known.find(series);
    if (found == known.end()) {
      out.only_now.push_back(series);
      continue;
    }
    for (const Statistic statistic : statistics_of(catalog, one))
      out.figures.push_back({*found->second, one, statistic, trend(*found->second, one, statistic)});
    known.erase(found);
  }
  for (const auto& [series, one] : known) out.only_then.push_back(series);
  return out;
}

Result<bool> before_stands(const Runs& runs, std::uint64_t change, const RunGround& ground) {
  TRY(const std::vector<RunHead> all, runs.of_change(change));
  const auto before = std::ranges::find(all, RunPurpose::before, &RunHead::purpose);
  if (before == all.end() || before->at < utc_text(ground.now - kBeforeAge)) return false;
  TRY(const std::optional<MeasuredRun> run, runs.find(before->number));
  return run && is_on(ground, *run);
}

}  // namespace lockstep
