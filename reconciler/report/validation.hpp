// The output of `lockstep validate` for valid specs, and what it reports as findings for CI.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/report/ci_findings.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

std::string validation_text(const OpenedCluster& cluster);
nlohmann::json validation_json(const OpenedCluster& cluster);

// Errors and warnings (`strict`: as errors), at their line of the repository. Notes are no mistakes: none.
std::vector<CiFinding> validation_findings(const Diagnostics& diagnostics, const Sources& sources,
                                           bool strict);
// The allocations.lock in that folder is stale.
CiFinding stale_lock_finding(const std::string& folder, const std::string& why);

}  // namespace lockstep
