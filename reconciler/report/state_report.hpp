// The output of `lockstep state`: the contents of a state directory, a backup that was made, one that was
// restored, what was adopted.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/machines.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/session/stored_state.hpp"

namespace lockstep {

std::string state_text(const OpenedCluster& cluster, const StoredState& state, const Terminal& terminal);
nlohmann::json state_json(const OpenedCluster& cluster, const StoredState& state);

std::string backup_text(const OpenedCluster& cluster, const Backup& backup);
nlohmann::json backup_json(const OpenedCluster& cluster, const Backup& backup);

// `file`: the backup that was restored.
std::string restored_text(const OpenedCluster& cluster, const std::string& file, const Restored& restored);
nlohmann::json restored_json(const OpenedCluster& cluster, const std::string& file, const Restored& restored);

std::string adopted_text(const OpenedCluster& cluster, const Adopted& adopted);
nlohmann::json adopted_json(const OpenedCluster& cluster, const Adopted& adopted);

}  // namespace lockstep
