// What the suites measured: a table, a pair-by-pair heat map, verdicts, suspects; and as JSON
// (command-line.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "reconciler/measure/measure.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

std::string bench_text(const std::vector<SuiteOutcome>& outcomes, const Terminal& terminal);
nlohmann::json bench_json(const std::vector<SuiteOutcome>& outcomes, const std::string& config_hash);

// How many there are, whatever came of them.
std::size_t measurements_in(std::span<const SuiteOutcome> outcomes);

// One line for a gate: "pairs: bandwidth min 41.0% (want >= 90% of nominal), worst gpu1:rail0 -> gpu2:rail1".
std::string verdict_sentence(const std::vector<SuiteOutcome>& outcomes);

}  // namespace lockstep
