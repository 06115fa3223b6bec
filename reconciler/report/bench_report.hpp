// What the suites measured: a table, a pair-by-pair heat map, verdicts, suspects; and as JSON
// (command-line.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/measure/measure.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

std::string bench_text(const std::vector<SuiteOutcome>& outcomes, const Terminal& terminal);
// The same under the cluster's title.
std::string bench_of_text(const std::string& title, const std::vector<SuiteOutcome>& outcomes,
                          const Terminal& terminal);
nlohmann::json bench_json(const std::vector<SuiteOutcome>& outcomes, const std::string& config_hash);

// While it runs, a line each, without its end.
std::string measuring_line(const MeasureProgress& at);
std::string waiting_line(const Error& taken);

}  // namespace lockstep
