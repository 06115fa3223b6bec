// Where a drift report points at, for people's CI: every finding at a line, every file as the repository has
// it.
#pragma once

#include <string>

#include "reconciler/engine/status.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

// The line that wants what was not observed; of a whole device, and of what no line wants any more (onDelete:
// restore), that of its DeviceSet.
void place_in_specs(DriftReport& report, const OpenedCluster& cluster);

// The file relative to the folder above it that has a .git (annotations of GitHub, GitLab and SARIF are
// placed by that); without one, as it was given, and no "./" before it.
std::string in_repository(const std::string& file);
void place_in_repository(DriftReport& report);

}  // namespace lockstep
