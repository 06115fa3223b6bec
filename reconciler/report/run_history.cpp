// `lockstep history` and `lockstep show`.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/report/earlier_runs.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/run_report.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

std::string runs_text(const std::vector<RunHead>& runs) {
  std::string out;
  for (const RunHead& run : runs) out += (out.empty() ? "" : ", ") + run_text(run);
  return out.empty() ? "not measured" : out;
}

std::string outcome_of(const ChangeRecord& record) {
  return record.ended.empty() ? "in flight" : record.outcome;
}

std::string outcome_text(const ChangeRecord& record) { return outcome_words(outcome_of(record)); }

std::string what_of(const RunHead& run) {
  if (run.purpose == RunPurpose::bench) return "bench";
  return fmt::format("change {}, {}", run.change, to_string(run.purpose));
}

// How many times worse than before; larger is worse.
double loss(const SeriesPoint& point, Statistic statistic) {
  const std::optional<double> now = value_of(point.figure, statistic);
  if (!point.was || !now || *point.was <= 0 || *now <= 0) return 0;
  return is_floor(point.figure.metric) ? *point.was / *now : *now / *point.was;
}

// The figure shown for a run: the one that became worst, else the worst one.
const SeriesPoint* worst_of(const std::vector<const SeriesPoint*>& points, Statistic statistic) {
  const auto worth = [statistic](const SeriesPoint* one) {
    const double value = value_of(one->figure, statistic).value_or(0);
    return std::tuple(one->trend == Trend::worse, one->trend == Trend::worse ? loss(*one, statistic) : 0,
                      is_floor(one->figure.metric) ? -value : value);
  };
  return *std::ranges::max_element(points, {}, worth);
}

std::vector<const SeriesPoint*> points_of(const FigureSeries& series, std::uint64_t run) {
  std::vector<const SeriesPoint*> out;
  for (const SeriesPoint& point : series.points)
    if (point.run == run) out.push_back(&point);
  return out;
}

// The change blamed for it.
std::string blamed_text(const SeriesPoint& point, const ChangeHistory& history) {
  const std::vector<std::uint64_t>& all = point.changes;
  if (all.empty())
    return compose("Lockstep changed nothing between run {} and run {}", point.since.value_or(0), point.run);
  if (all.size() > 1)
    return compose("one of the changes {} to {}, between which nothing was measured", all.front(),
                   all.back());
  const auto known = history.blamed.find(all.front());
  if (known == history.blamed.end()) return compose("change {}", all.front());
  return compose("change {} ({}, begun {} by {}: {})", all.front(), outcome_text(known->second),
                 known->second.begun, known->second.author, known->second.reason);
}

std::string conclusion_text(const FigureSeries& series, const ChangeHistory& history,
                            const Terminal& terminal) {
  std::string out;
  for (const RunHead& run : series.runs) {
    std::vector<const SeriesPoint*> all = points_of(series, run.number);
    const std::size_t of = all.size();
    std::erase_if(all, [](const SeriesPoint* one) { return one->trend != Trend::worse; });
    if (all.empty()) continue;
    const SeriesPoint& worst = *worst_of(all, series.statistic);
    out += compose("  {}: {}; {} {} -> {} ({} of {})\n", terminal.paint(Ink::red, "worse"),
                   blamed_text(worst, history), series_of(worst.figure),
                   worst.was ? bench::told(*worst.was, unit_of(series.metric)) : "",
                   recorded_figure_text(worst.figure, series.statistic), all.size(), counted(of, "figure"));
  }
  if (!out.empty()) return out;
  return "  nothing became worse by more than the noise measured and 5%\n";
}

std::string series_text(const FigureSeries& series, const ChangeHistory& history, const Terminal& terminal) {
  std::string out = terminal.paint(Ink::bold, fmt::format("{} {} of ", to_string(series.metric),
                                                          to_string(series.statistic)) +
                                                  series.of) +
                    "\n";
  Table table({{"run", true}, {"when"}, {"of"}, {"figure", true}, {"to before", true}, {""}, {"between"}});
  for (const RunHead& run : series.runs) {
    const SeriesPoint& point = *worst_of(points_of(series, run.number), series.statistic);
    const std::optional<double> value = value_of(point.figure, series.statistic);
    const bool compared = value && point.was && *point.was > 0;
    const Shown trend = point.trend == Trend::worse    ? terminal.paint(Ink::red, "worse")
                        : point.trend == Trend::better ? terminal.paint(Ink::green, "better")
                                                       : Shown{};
    table.add({std::to_string(run.number), run.at, what_of(run),
               recorded_figure_text(point.figure, series.statistic),
               compared ? fmt::format("{:.2f}", *value / *point.was) : "", trend, series_of(point.figure)});
  }
  return out + table.render(terminal, "  ") + conclusion_text(series, history, terminal);
}

Json change_head_json(const HistoryChange& change) {
  Json runs = Json::array();
  for (const RunHead& run : change.runs) runs.push_back(run_json(run));
  const ChangeRecord& record = change.record;
  return {{"change", record.change},
          {"begun", record.begun},
          {"ended", record.ended.empty() ? Json() : Json(record.ended)},
          {"outcome", outcome_of(record)},
          {"author", record.author},
          {"reason", record.reason},
          {"digest", record.digest},
          {"steps", change.touched.steps},
          {"devices", change.touched.devices},
          {"runs", runs}};
}

Json series_json(const FigureSeries& series) {
  Json runs = Json::array();
  for (const RunHead& run : series.runs) runs.push_back(run_json(run));
  Json points = Json::array();
  for (const SeriesPoint& point : series.points) {
    Json out = subject_json(point.figure);
    const std::optional<double> value = value_of(point.figure, series.statistic);
    out["run"] = point.run;
    out["value"] = value ? Json(*value) : Json();
    if (!value) out["why"] = why_no_value(point.figure, series.statistic);
    out["since"] = point.since ? Json(*point.since) : Json();
    out["was"] = point.was ? Json(*point.was) : Json();
    out["trend"] = to_string(point.trend);
    out["changes"] = point.changes;
    points.push_back(std::move(out));
  }
  return {{"of", series.of},
          {"metric", to_string(series.metric)},
          {"statistic", to_string(series.statistic)},
          {"runs", runs},
          {"points", points}};
}

Json head(std::string_view kind, const std::string& cluster, bool twin) {
  return {{"kind", kind}, {"cluster", cluster}, {"twin", twin}};
}

std::string_view state_of(TicketState state) {
  switch (state) {
    case TicketState::begun: return "unknown";
    case TicketState::kept: return "kept";
    case TicketState::undone: return "undone";
    case TicketState::failed: break;
  }
  return "failed";
}

// Steps that run at the same time begin in any order.
std::vector<const RecordedTicket*> by_step(const ShownChange& change) {
  std::vector<const RecordedTicket*> out;
  for (const RecordedTicket& one : change.tickets) out.push_back(&one);
  std::ranges::stable_sort(out, {}, [](const RecordedTicket* one) { return one->ticket.step; });
  return out;
}

}  // namespace

std::string run_text(const RunHead& run) {
  return compose("{} {} {}", to_string(run.purpose), run.number, run.verdict);
}

nlohmann::json run_json(const RunHead& run) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"run", run.number},
          {"purpose", to_string(run.purpose)},
          {"change", run.purpose == RunPurpose::bench ? Json() : Json(run.change)},
          {"newestChange", run.under},
          {"at", run.at},
          {"command", run.command},
          {"author", run.author},
          {"verdict", run.verdict},
          {"configHash", run.config_hash},
          {"version", text_or_null(run.version)},
          {"kernel", text_or_null(run.kernel)},
          {"figures", run.measured},
          {"figuresKept", run.kept}};
}

std::string history_text(const std::string& title, const ChangeHistory& history, const Terminal& terminal) {
  std::string out = terminal.paint(Ink::bold, "history of " + title) + "\n";
  if (history.changes.empty() && history.series.empty())
    return out + "  no change is recorded here (`twin down` removes the history of a twin)\n";
  Table table({{"change", true},
               {"begun"},
               {"outcome"},
               {"steps", true},
               {"devices"},
               {"measured"},
               {"user"},
               {"command"}});
  for (const HistoryChange& one : history.changes)
    table.add({std::to_string(one.record.change), one.record.begun, outcome_text(one.record),
               std::to_string(one.touched.steps), fold_hostlist(one.touched.devices), runs_text(one.runs),
               one.record.author, one.record.reason});
  out += table.render(terminal, "  ");
  for (const FigureSeries& series : history.series) out += series_text(series, history, terminal);
  return out;
}

nlohmann::json history_json(const std::string& cluster, bool twin, const ChangeHistory& history) {
  Json document = head("History", cluster, twin);
  document["changes"] = Json::array();
  for (const HistoryChange& one : history.changes) document["changes"].push_back(change_head_json(one));
  document["series"] = Json::array();
  for (const FigureSeries& one : history.series) document["series"].push_back(series_json(one));
  return document;
}

std::string change_text(const std::string& title, const ShownChange& change, const Terminal& terminal) {
  const ChangeRecord& record = change.change.record;
  std::string out = terminal.paint(Ink::bold, fmt::format("change {} of ", record.change) + title) +
                    compose(": {}\n  begun {}{} by {}: {}\n  digest {}\n", outcome_text(record), record.begun,
                            record.ended.empty() ? "" : ", ended " + record.ended, record.author,
                            record.reason, record.digest);
  Table table({{"step", true}, {"device"}, {"driver"}, {"setting"}, {"before"}, {"after"}, {""}, {"note"}});
  for (const RecordedTicket* const one : by_step(change))
    for (const Change& write : one->ticket.changes)
      table.add({std::to_string(one->ticket.step), one->ticket.device, one->ticket.driver, write.path.text(),
                 value_text(write.path.row(), write.was), value_text(write.path.row(), write.want),
                 outcome_words(state_of(one->state)), one->note});
  out += table.empty() ? "  nothing was written\n" : table.render(terminal, "  ");
  for (const RunHead& run : change.change.runs)
    out += compose("  measured {}: {}, {}\n", run.at, run_text(run), counted(run.measured, "figure"));
  return out;
}

nlohmann::json change_json(const std::string& cluster, bool twin, const ShownChange& change) {
  Json document = head("Change", cluster, twin);
  document.update(change_head_json(change.change));
  document["writes"] = Json::array();
  for (const RecordedTicket* const one : by_step(change))
    for (const Change& write : one->ticket.changes)
      document["writes"].push_back({{"step", one->ticket.step},
                                    {"device", one->ticket.device},
                                    {"driver", one->ticket.driver},
                                    {"path", write.path.text()},
                                    {"was", to_json(write.was)},
                                    {"want", to_json(write.want)},
                                    {"state", state_of(one->state)},
                                    {"begun", one->begun},
                                    {"note", one->note}});
  return document;
}

}  // namespace lockstep
