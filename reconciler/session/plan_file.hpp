// A plan on disk: `plan --out` writes it, `apply plan.json` reads it. It names the specs that it was made
// from, since the ground that it stands on (the digests) is checked against what they say now.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

struct PlanFile {
  ClusterSource source;
  Plan plan;
};

// One argument that ends in .json: specs are YAML.
bool is_plan_file(const std::vector<std::string>& arguments);
Result<PlanFile> read_plan_file(const std::string& file);
// Whole or not at all: written beside and renamed.
Result<Done> write_plan_file(const std::string& file, const ClusterSource& source, const Plan& plan);

}  // namespace lockstep
