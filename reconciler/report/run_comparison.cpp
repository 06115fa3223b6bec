// Compares a bench with an earlier run.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/report/run_report.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

std::string benchmark_of(const RunFigure& figure) { return figure.suite + "/" + figure.benchmark; }

// The ratio of the new figure to the earlier one, larger is better; 0: it failed, or is not known.
double goodness(const ComparedFigure& one) {
  const std::optional<double> was = value_of(one.was, one.statistic);
  const std::optional<double> now = value_of(one.now, one.statistic);
  if (!was || !now || *was <= 0 || *now <= 0) return 0;
  return is_floor(one.now.metric) ? *now / *was : *was / *now;
}

std::optional<double> ratio(const ComparedFigure& one) {
  const std::optional<double> was = value_of(one.was, one.statistic);
  const std::optional<double> now = value_of(one.now, one.statistic);
  return was && now && *was > 0 ? std::optional(*now / *was) : std::nullopt;
}

Shown trend_text(Trend trend, const Terminal& terminal) {
  switch (trend) {
    case Trend::worse: return terminal.paint(Ink::red, "worse");
    case Trend::better: return terminal.paint(Ink::green, "better");
    case Trend::unknown: return terminal.paint(Ink::yellow, "unknown");
    case Trend::alike: break;
  }
  return {};
}

// The conditions that differ between the compared runs, one line each.
std::string differences_text(const RunComparison& comparison, const Terminal& terminal) {
  std::map<std::string, std::vector<std::string>> differs;
  std::map<std::string, std::vector<std::string>> unknown;
  std::string lines;
  for (const ContextDifference& one : comparison.differs) {
    const bool told = !one.then.empty() && !one.now.empty();
    if (told && (one.of.empty() || one.what == "transport"))
      lines += compose("  differs: {}{}: {} then, {} now\n", one.what, one.of.empty() ? "" : " of " + one.of,
                       one.then, one.now);
    else
      (told ? differs : unknown)[one.what].push_back(one.of);
  }
  for (const auto& [what, devices] : differs)
    lines += compose("  differs: {} of {}\n", what, fold_hostlist(devices));
  for (const auto& [what, devices] : unknown)
    lines +=
        compose("  not known: {}{}\n", what, devices.front().empty() ? "" : " of " + fold_hostlist(devices));
  if (lines.empty())
    return terminal.paint(Ink::dim, "  under the same configuration, boots and versions") + "\n";
  return lines;
}

constexpr std::size_t kRowsMax = 8;  // as in bench_text

std::string figures_text(std::vector<const ComparedFigure*> all, const Terminal& terminal) {
  const auto place = [](const ComparedFigure* one) {
    return one->trend == Trend::worse ? 0 : one->trend == Trend::unknown ? 2 : 1;
  };
  std::stable_sort(all.begin(), all.end(), [&](const ComparedFigure* a, const ComparedFigure* b) {
    return place(a) != place(b) ? place(a) < place(b) : goodness(*a) < goodness(*b);
  });
  Table table({{"between"}, {"metric"}, {"then", true}, {"now", true}, {"now/then", true}, {""}});
  const std::size_t shown = std::min(all.size(), kRowsMax);
  for (std::size_t i = 0; i < shown; ++i) {
    const ComparedFigure& one = *all[i];
    const std::optional<double> of = ratio(one);
    table.add({subject_of(one.now), fmt::format("{} {}", to_string(one.now.metric), to_string(one.statistic)),
               recorded_figure_text(one.was, one.statistic), recorded_figure_text(one.now, one.statistic),
               of ? fmt::format("{:.2f}", *of) : "", trend_text(one.trend, terminal)});
  }
  std::string out = table.render(terminal, "    ");
  if (shown < all.size())
    out += terminal.paint(Ink::dim, compose("    ... and {} more", all.size() - shown)) + "\n";
  return out;
}

std::string only_text(const char* where, const std::vector<std::string>& series) {
  if (series.empty()) return "";
  std::string out = compose("  only {}: ", where);
  for (std::size_t i = 0; i < std::min(series.size(), kRowsMax); ++i)
    out += compose("{}{}", i == 0 ? "" : "; ", series[i]);
  if (series.size() > kRowsMax) out += compose("; and {} more", series.size() - kRowsMax);
  return out + "\n";
}

std::size_t count(const RunComparison& comparison, Trend trend) {
  return static_cast<std::size_t>(
      std::ranges::count(comparison.figures, trend, [](const ComparedFigure& one) { return one.trend; }));
}

}  // namespace

std::string recorded_figure_text(const RunFigure& figure, Statistic statistic) {
  const std::optional<double> value = value_of(figure, statistic);
  return value ? bench::told(*value, unit_of(figure.metric)) : why_no_value(figure, statistic);
}

nlohmann::json subject_json(const RunFigure& figure) {
  Json out{{"suite", figure.suite},
           {"benchmark", figure.benchmark},
           {"transport", figure.transport},
           {"metric", to_string(figure.metric)},
           {"unit", figure.unit}};
  if (figure.group.empty()) {
    out["from"] = figure.from;
    out["to"] = figure.to;
  } else {
    out["group"] = figure.group;
    out["bytesPerRank"] = figure.bytes;
  }
  return out;
}

std::string comparison_text(const RunComparison& comparison, const Terminal& terminal) {
  std::string out =
      terminal.paint(Ink::bold, fmt::format("compared with run {}", comparison.then.number)) +
      compose(" ({}, {} by {})\n", run_text(comparison.then), comparison.then.at, comparison.then.author) +
      differences_text(comparison, terminal);
  std::map<std::string, std::vector<const ComparedFigure*>> by_benchmark;
  for (const ComparedFigure& one : comparison.figures) by_benchmark[benchmark_of(one.now)].push_back(&one);
  for (const auto& [name, figures] : by_benchmark)
    out += compose("  {}\n", terminal.paint(Ink::cyan, name)) + figures_text(figures, terminal);
  out += only_text("then", comparison.only_then) + only_text("now", comparison.only_now);
  return out + compose("  {} of {} worse, {} better, by more than the noise measured and 5%\n",
                       count(comparison, Trend::worse), counted(comparison.figures.size(), "figure"),
                       count(comparison, Trend::better));
}

nlohmann::json comparison_json(const RunComparison& comparison) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json differs = Json::array();
  for (const ContextDifference& one : comparison.differs)
    differs.push_back({{"what", one.what},
                       {"of", one.of},
                       {"then", text_or_null(one.then)},
                       {"now", text_or_null(one.now)}});
  Json figures = Json::array();
  for (const ComparedFigure& one : comparison.figures) {
    Json figure = subject_json(one.now);
    figure["statistic"] = to_string(one.statistic);
    const auto tell = [&](const char* name, const RunFigure& of) {
      const std::optional<double> value = value_of(of, one.statistic);
      figure[name] = value ? Json(*value) : Json();
      if (!value) figure[std::string(name) + "Why"] = why_no_value(of, one.statistic);
    };
    tell("then", one.was);
    tell("now", one.now);
    const std::optional<double> of = ratio(one);
    figure["ratio"] = of ? Json(*of) : Json();
    figure["trend"] = to_string(one.trend);
    figures.push_back(std::move(figure));
  }
  return {{"run", run_json(comparison.then)},
          {"differs", differs},
          {"figures", figures},
          {"onlyThen", comparison.only_then},
          {"onlyNow", comparison.only_now},
          {"worse", count(comparison, Trend::worse)},
          {"better", count(comparison, Trend::better)}};
}

}  // namespace lockstep
