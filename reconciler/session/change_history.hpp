// ChangeHistory: what was changed on a cluster and what was measured there, for users: shows which change
// made a figure worse.
//
// Promises: read-only, needs no lock, and creates no file, like StoredState. Each figure of a series is
// compared with the previous one of the same pair, benchmark and transport; each step lists the changes
// between the two, so that a worse figure names its change, or none if lockstep changed nothing. A gate's
// confirming measurement replaces the one that it confirms where it is better. Refuses: a name without
// recorded figures, listing those that exist; an unknown change.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconciler/session/recorded_runs.hpp"

namespace lockstep {

struct HistoryChange {
  ChangeRecord record;
  TouchedDevices touched;
  std::vector<RunHead> runs;  // of its gate, oldest first
  // Not validated yet (OwedChange::subjects); none: it is, or needs not be, or that is not known here.
  std::optional<std::set<std::string>> owed{};
};

// A figure at one run.
struct SeriesPoint {
  std::uint64_t run = 0;
  RunFigure figure;
  std::optional<std::uint64_t> since;  // the run that it is compared with; none: it is the first
  std::optional<double> was;           // in the run `since`
  Trend trend = Trend::unknown;
  std::vector<std::uint64_t> changes;  // between the two runs
};

struct FigureSeries {
  std::string of;
  Metric metric = Metric::bandwidth;
  Statistic statistic = Statistic::median;
  std::vector<RunHead> runs;        // those that have points, oldest first
  std::vector<SeriesPoint> points;  // by run
};

struct HistoryRequest {
  std::size_t newest = 20;         // the newest changes to list; a choice: one screen
  std::string of{};                // "gpu7", "gpu7:rail0", or a group; empty: no series
  std::optional<Metric> metric{};  // none: every recorded metric
  Statistic statistic = Statistic::median;
};
struct ChangeHistory {
  std::vector<HistoryChange> changes;  // newest first
  std::vector<FigureSeries> series;
  std::map<std::uint64_t, ChangeRecord> blamed;  // those that alone made a figure worse
};
Result<ChangeHistory> change_history(const std::string& directory, const HistoryRequest& request);

struct ShownChange {
  HistoryChange change;
  std::vector<RecordedTicket> tickets;
};
Result<ShownChange> shown_change(const std::string& directory, std::uint64_t number);
Result<ShownChange> shown_change(Store& store, std::uint64_t number);

}  // namespace lockstep
