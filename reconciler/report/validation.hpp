// The output of `lockstep validate` for valid specs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

std::string validation_text(const OpenedCluster& cluster);
nlohmann::json validation_json(const OpenedCluster& cluster);

}  // namespace lockstep
