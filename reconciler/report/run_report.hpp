// Recorded runs and changes, for people and programs: a comparison of a bench with an earlier one, `lockstep
// history` and `lockstep show`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/change_history.hpp"

namespace lockstep {

// "after 13 fail": why a run was made, its number and its result.
std::string run_text(const RunHead& run);
nlohmann::json run_json(const RunHead& run);
// "too few samples for p99 (40)", or as a figure in its unit.
std::string recorded_figure_text(const RunFigure& figure, Statistic statistic);
// The fields that identify a figure, as in `bench -o json`: from, to, or group and bytesPerRank, and the
// rest.
nlohmann::json subject_json(const RunFigure& figure);

// Shown below the report of the bench.
std::string comparison_text(const RunComparison& comparison, const Terminal& terminal);
nlohmann::json comparison_json(const RunComparison& comparison);

std::string history_text(const std::string& title, const ChangeHistory& history, const Terminal& terminal);
nlohmann::json history_json(const std::string& cluster, bool twin, const ChangeHistory& history);

std::string change_text(const std::string& title, const ShownChange& change, const Terminal& terminal);
nlohmann::json change_json(const std::string& cluster, bool twin, const ShownChange& change);

}  // namespace lockstep
