// The locations in a drift report for CI: every finding has a line, every file its path in the repository.
#pragma once

#include <string>

#include "reconciler/engine/status.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

// The line that sets what was not observed; for a whole device, and for entries that no line sets any more
// (onDelete: restore), the line of its DeviceSet.
void place_in_specs(DriftReport& report, const OpenedCluster& cluster);

// The file or folder relative to the nearest folder that has a .git, itself or above it (annotations of
// GitHub, GitLab and SARIF are placed by that path); without one, as given, without a leading "./".
std::string in_repository(const std::string& file);
void place_in_repository(DriftReport& report);

}  // namespace lockstep
