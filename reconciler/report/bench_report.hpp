// Results of the suites: a table, a heat map of pairs, verdicts, suspects; and the same as JSON
// (command-line.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/measure/measure.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

// Suspects of ranks below this are shown: a longer list points to nothing.
constexpr std::size_t kSuspectRanksMost = 3;

// SLOs that fail or can't be judged, and the suspects, one per line; empty: neither.
std::string bench_problems_text(const std::vector<SuiteOutcome>& outcomes, const Terminal& terminal);
std::string bench_text(const std::vector<SuiteOutcome>& outcomes, const Terminal& terminal);
// The same under the cluster's title.
std::string bench_of_text(const std::string& title, const std::vector<SuiteOutcome>& outcomes,
                          const Terminal& terminal);
nlohmann::json bench_json(const std::vector<SuiteOutcome>& outcomes, const std::string& config_hash);

// Progress, one line each, without a newline.
std::string measuring_line(const MeasureProgress& at);
std::string waiting_line(const Error& taken);

}  // namespace lockstep
