// Recorded runs, read: which one a person means, two of them compared, and whether what was measured before a
// change still stands.
//
// Promises: a figure is worse or better than another by the gate's tolerance (engine/gate.hpp), as seen by
// its metric; figures of one subject are compared whatever they were taken under, and what differs there is
// said. Refuses (not_found is `refused`): a run that there is not, with the newest that there are.
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

// "slo/pairs bandwidth, gpu1:rail0 -> gpu2:rail0": what is one and the same thing in two runs. Not the
// transport: that is context.
std::string series_of(const RunFigure& figure);
// None: no such statistic of it, with the reason in words.
std::optional<double> value_of(const RunFigure& figure, Statistic statistic);
std::string why_no_value(const RunFigure& figure, Statistic statistic);
// Unknown: one of them has no value; what was not carried at all is worse than all that was.
Trend trend(const RunFigure& was, const RunFigure& now, Statistic statistic);

// "12", "last" (the newest bench), "change:7" (what the gate of change 7 found after it, wave by wave).
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
  std::vector<ComparedFigure> figures;  // by median, and by what SLOs ask for
  std::vector<std::string> only_then;   // series_of()
  std::vector<std::string> only_now;
};
// `catalog`: of the suites, whose SLOs name the statistics.
RunComparison compare_runs(const MeasuredRun& then, const MeasuredRun& now, const Catalog& catalog);

// shared/design has it: engine.md, section 1.
inline constexpr std::chrono::minutes kBeforeAge{30};
struct RunGround {
  std::string version;
  RunDevices devices;
  WallTime now;
};
// Whether what was measured before this change may be compared with what is measured now: it is not older
// than kBeforeAge, each device that its traffic may have crossed is in the same boot under the same drivers,
// and lockstep the same. Each figure names its transport itself (GateFigure::terms).
Result<bool> before_stands(const Runs& runs, std::uint64_t change, const RunGround& ground);

}  // namespace lockstep
