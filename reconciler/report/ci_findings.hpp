// Findings for CI: what is wrong at a line of the specs, in the formats of code hosts, which show it there.
//
// Promises: one finding is one element of each format, in the same order; all texts are escaped for it. The
// fingerprint of a finding depends only on its identity: code hosts recognise by it what they have shown
// before.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"

namespace lockstep {

struct CiFinding {
  enum class Level : std::uint8_t { critical, error, warning };
  std::string rule;  // "lockstep/drifted", "LS105"
  Level level = Level::error;
  std::string text;
  std::string identity;
  PlanOrigin at{};  // no file: of no line
};

// The `results` of a run (SARIF 2.1.0, 3.14.23).
nlohmann::json sarif_results(const std::vector<CiFinding>& findings);
// A code quality report.
std::string gitlab_findings(const std::vector<CiFinding>& findings);
// One workflow command per line.
std::string github_findings(const std::vector<CiFinding>& findings);

}  // namespace lockstep
