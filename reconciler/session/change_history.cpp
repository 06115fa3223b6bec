#include "reconciler/session/change_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace lockstep {
namespace {

constexpr std::array kMetrics{Metric::bandwidth, Metric::latency, Metric::busbw, Metric::step_skew};

// Changes begun after the previous run, up to this one. What a gate measured after its change belongs to that
// change, whatever was rolled back meanwhile.
std::vector<std::uint64_t> changes_between(const RunHead& before, const RunHead& now) {
  const bool judges = now.purpose == RunPurpose::after || now.purpose == RunPurpose::confirm;
  const std::uint64_t last = judges ? now.change : now.under;
  std::vector<std::uint64_t> out;
  for (std::uint64_t change = before.under + 1; change <= last; ++change) out.push_back(change);
  // Both runs are of one change, wave after wave.
  if (out.empty() && judges && before.change == now.change) out.push_back(now.change);
  return out;
}

// The figures of one pair, run after run.
class Tracks {
 public:
  Tracks(const std::map<std::uint64_t, RunHead>& runs, Statistic statistic)
      : runs_(runs), statistic_(statistic) {}

  void add(std::uint64_t run, const RunFigure& figure) {
    std::vector<SeriesPoint>& track = tracks_[series_of(figure) + " over " + figure.transport];
    const RunHead& head = runs_.at(run);
    const bool confirms = head.purpose == RunPurpose::confirm && !track.empty() &&
                          runs_.at(track.back().run).change == head.change && !figure.control;
    if (confirms) {
      if (trend(track.back().figure, figure, statistic_) != Trend::better) return;
      track.pop_back();
    }
    SeriesPoint point;
    point.run = run;
    point.figure = figure;
    if (const SeriesPoint* const before = last_told(track); before != nullptr) {
      point.since = before->run;
      point.was = value_of(before->figure, statistic_);
      point.trend = trend(before->figure, figure, statistic_);
      point.changes = changes_between(runs_.at(before->run), head);
    }
    track.push_back(std::move(point));
  }

  std::vector<SeriesPoint> points() const {
    std::vector<SeriesPoint> out;
    for (const auto& [series, track] : tracks_) out.insert(out.end(), track.begin(), track.end());
    std::stable_sort(out.begin(), out.end(),
                     [](const SeriesPoint& a, const SeriesPoint& b) { return a.run < b.run; });
    return out;
  }

 private:
  // The last point with a known value: a failed probe in between hides no change.
  const SeriesPoint* last_told(const std::vector<SeriesPoint>& track) const {
    for (auto at = track.rbegin(); at != track.rend(); ++at)
      if (trend(at->figure, at->figure, statistic_) != Trend::unknown) return &*at;
    return nullptr;
  }

  const std::map<std::uint64_t, RunHead>& runs_;
  const Statistic statistic_;
  std::map<std::string, std::vector<SeriesPoint>> tracks_;
};

Result<std::map<std::uint64_t, RunHead>> heads_of(const Runs& runs) {
  TRY(const RunTotals totals, runs.totals());
  TRY(const std::vector<RunHead> all, runs.newest(totals.runs));
  std::map<std::uint64_t, RunHead> out;
  for (const RunHead& one : all) out.emplace(one.number, one);
  return out;
}

Result<std::optional<FigureSeries>> series_in(const Runs& runs, const std::map<std::uint64_t, RunHead>& heads,
                                              Metric metric, const HistoryRequest& request) {
  TRY(const std::vector<FigureOfRun> figures, runs.figures_of(request.of, metric));
  if (figures.empty()) return std::optional<FigureSeries>();
  Tracks tracks(heads, request.statistic);
  for (const FigureOfRun& one : figures)
    if (heads.contains(one.run)) tracks.add(one.run, one.figure);
  FigureSeries out{request.of, metric, request.statistic, {}, tracks.points()};
  for (const SeriesPoint& point : out.points)
    if (out.runs.empty() || out.runs.back().number != point.run) out.runs.push_back(heads.at(point.run));
  return std::optional(std::move(out));
}

Error nothing_of(const HistoryRequest& request) {
  const std::string what = request.metric ? std::string(to_string(*request.metric)) : "figure";
  return {ErrorKind::refused,
          fmt::format("no run has a {} of '{}': `lockstep history` shows which runs there are, and a device, "
                      "an endpoint (gpu7:rail0) or a group is named as `lockstep bench` names it",
                      what, request.of)};
}

// Changes that wrote nothing made nothing worse.
Result<Done> leave_out_idle(const History& history, std::vector<FigureSeries>& all) {
  std::map<std::uint64_t, bool> idle;
  for (FigureSeries& series : all)
    for (SeriesPoint& point : series.points) {
      for (const std::uint64_t change : point.changes) {
        if (idle.contains(change)) continue;
        TRY(const TouchedDevices touched, history.touched(change));
        idle.emplace(change, touched.none());
      }
      std::erase_if(point.changes, [&](std::uint64_t change) { return idle.at(change); });
    }
  return Done{};
}

Result<HistoryChange> with_runs(Store& store, const ChangeRecord& record) {
  HistoryChange out{record, {}, {}, {}};
  TRY(out.touched, store.history().touched(record.change));
  TRY(out.runs, store.runs().of_change(record.change));
  return out;
}

}  // namespace

Result<ChangeHistory> change_history(const std::string& directory, const HistoryRequest& request) {
  TRY(const std::unique_ptr<Store> store, open_store(directory));
  ChangeHistory out;
  TRY(const std::vector<ChangeRecord> newest, store->history().changes(request.newest));
  for (const ChangeRecord& record : newest) {
    TRY(HistoryChange change, with_runs(*store, record));
    out.changes.push_back(std::move(change));
  }
  if (request.of.empty()) return out;
  TRY(const auto heads, heads_of(store->runs()));
  for (const Metric metric : kMetrics) {
    if (request.metric && *request.metric != metric) continue;
    TRY(std::optional<FigureSeries> series, series_in(store->runs(), heads, metric, request));
    if (series) out.series.push_back(*std::move(series));
  }
  if (out.series.empty()) return nothing_of(request);
  TRY_DONE(leave_out_idle(store->history(), out.series));
  for (const FigureSeries& series : out.series)
    for (const SeriesPoint& point : series.points) {
      if (point.trend != Trend::worse || point.changes.size() != 1) continue;
      TRY(const std::optional<ChangeRecord> record, store->history().change(point.changes.front()));
      if (record) out.blamed.emplace(record->change, *record);
    }
  return out;
}

Result<ShownChange> shown_change(const std::string& directory, std::uint64_t number) {
  TRY(const std::unique_ptr<Store> store, open_store(directory));
  return shown_change(*store, number);
}

Result<ShownChange> shown_change(Store& store, std::uint64_t number) {
  TRY(const std::optional<ChangeRecord> record, store.history().change(number));
  if (!record) {
    TRY(const std::vector<ChangeRecord> newest, store.history().changes(1));
    return Error{ErrorKind::refused,
                 newest.empty()
                     ? fmt::format("there is no change {}: nothing was ever changed here", number)
                     : fmt::format("there is no change {}: the newest is {}", number, newest.front().change)};
  }
  ShownChange out;
  TRY(out.change, with_runs(store, *record));
  TRY(out.tickets, store.history().tickets(number));
  return out;
}

}  // namespace lockstep
