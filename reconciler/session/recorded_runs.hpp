// Recorded runs, for reading: finds the run that a user names, compares two of them, and decides whether what
// was measured before a change is still comparable.
//
// Promises: a figure is worse or better than another by the gate's tolerance (engine/gate.hpp), in the
// direction of its metric; figures of one subject are compared even if their conditions differ, and the
// differences are reported. Refuses (not_found is `refused`): an unknown run, listing the newest ones.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/session/run_record.hpp"

namespace lockstep {

enum class Trend : std::uint8_t { alike, worse, better, unknown };
constexpr auto words(Trend) {
  return std::to_array<std::string_view>({"alike", "worse", "better", "unknown"});
}

// "slo/pairs bandwidth, gpu1:rail0 -> gpu2:rail0": identifies the same subject in two runs. The transport is
// not part of it: that is context.
std::string series_of(const RunFigure& figure);
// None: it has no such statistic; why_no_value() has the reason.
std::optional<double> value_of(const RunFigure& figure, Statistic statistic);
std::string why_no_value(const RunFigure& figure, Statistic statistic);
// Unknown: one of them has no value; a figure without any traffic is worse than every other.
Trend trend(const RunFigure& was, const RunFigure& now, Statistic statistic);

// "12", "last" (the newest bench), "change:7" (what the gate of change 7 measured after it, wave by wave).
Result<MeasuredRun> find_run(const Runs& runs, const std::string& asked);

struct ComparedFigure {
  RunFigure was;
  RunFigure now;
  Statistic statistic = Statistic::median;
  Trend trend = Trend::unknown;
};
struct ContextDifference {
  std::string what;  // "configuration", "boot", "drivers", "transport", "version", "kernel"
  std::string of;    // "gpu1", "slo/pairs"; empty: of the whole run
  std::string then;  // empty: unknown
  std::string now;
};
struct RunComparison {
  RunHead then;
  std::vector<ContextDifference> differs;
  std::vector<ComparedFigure> figures;  // by median, and by the statistics of SLOs
  std::vector<std::string> only_then;   // series_of()
  std::vector<std::string> only_now;
};
// `catalog`: of the suites, whose SLOs name the statistics.
RunComparison compare_runs(const MeasuredRun& then, const MeasuredRun& now, const Catalog& catalog);

// A choice (ARCHITECTURE.md, "The gate").
inline constexpr std::chrono::minutes kBeforeAge{30};
struct RunGround {
  std::string version;
  RunDevices devices;
  WallTime now;
};
// Whether what was measured before this change is comparable with what is measured now: it is not older than
// kBeforeAge, each device that its traffic may have crossed is in the same boot with the same drivers, and
// the lockstep version is the same. Each figure names its transport itself (GateFigure::terms).
Result<bool> before_stands(const Runs& runs, std::uint64_t change, const RunGround& ground);

}  // namespace lockstep
