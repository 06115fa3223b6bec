// ChangeHistory: what was done to a cluster and what was measured of it, for people: which change made a
// figure worse.
//
// Promises: reads only, needs no lock, and makes nothing, as StoredState. Each figure of a series is compared
// with the one before it of the same pair, benchmark and transport; a step has the changes that lay between
// the two, so that what became worse has its change by name, or none where nothing of ours was done. What a
// gate measured once more to be sure stands for what it confirms, where it is better.
// Refuses: a name of which no figure is recorded, with those that there are; a change that there is not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/session/recorded_runs.hpp"

namespace lockstep {

struct HistoryChange {
  ChangeRecord record;
  TouchedDevices touched;
  std::vector<RunHead> runs;  // of its gate, oldest first
};

// A figure at one run.
struct SeriesPoint {
  std::uint64_t run = 0;
  RunFigure figure;
  std::optional<std::uint64_t> since;  // the run that it is compared with; none: the first
  std::optional<double> was;           // in that run
  Trend trend = Trend::unknown;
  std::vector<std::uint64_t> changes;  // that lay between
};

struct FigureSeries {
  std::string of;
  Metric metric = Metric::bandwidth;
  Statistic statistic = Statistic::median;
  std::vector<RunHead> runs;        // those that have points, oldest first
  std::vector<SeriesPoint> points;  // by run
};

struct HistoryRequest {
  std::size_t newest = 20;         // changes; a choice: a screen
  std::string of{};                // "gpu7", "gpu7:rail0", or a group; empty: no series
  std::optional<Metric> metric{};  // none: each that there is
  Statistic statistic = Statistic::median;
};
struct ChangeHistory {
  std::vector<HistoryChange> changes;  // newest first
  std::vector<FigureSeries> series;
  std::map<std::uint64_t, ChangeRecord> blamed;  // that alone made a figure worse
};
Result<ChangeHistory> change_history(const std::string& directory, const HistoryRequest& request);

struct ShownChange {
  HistoryChange change;
  std::vector<RecordedTicket> tickets;
};
Result<ShownChange> shown_change(const std::string& directory, std::uint64_t number);

}  // namespace lockstep
