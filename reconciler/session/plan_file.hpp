// A plan on disk: `plan --out` writes it, `apply plan.json` reads it. It approves steps, and names what it
// was made from and for (its aim), so that the plan can be made anew: only steps that the specs give now are
// run (reconciler/engine/earlier_plan.hpp).
//
// Promises: written whole or not at all; a file that was edited or cut anywhere is refused, by a digest of
// all that it says. The digest has no key and is no protection from whoever forges a whole file: making the
// plan anew is, for the steps. For the aim nothing is but the caller, who shows it: a forged file can name
// other specs, as a forged command line can. Whoever must know who wrote a file has it signed: FILE.sig
// (plan_signature.hpp).
// Refuses: what is no plan file; specs that no path names (standard input).
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

// All that shapes a plan beside the specs' text and the devices.
struct PlanAim {
  ClusterSource source;
  std::string only{};     // devices, a hostlist; empty: all
  std::string cluster{};  // OpenedCluster::state_name
};

struct PlanFile {
  PlanAim aim;
  Plan plan;
  std::string approved_by{};  // who signed it; empty: nobody looked
};

// One argument that ends in .json: specs are YAML.
bool is_plan_file(const std::vector<std::string>& arguments);
// `allowed_signers` not empty: refused unless one of them signed the bytes that are read.
Result<PlanFile> read_plan_file(const std::string& file, const std::string& allowed_signers = "");
// `key` not empty: signed by it.
Result<Done> write_plan_file(const std::string& file, const PlanAim& aim, const Plan& plan,
                             const std::string& key = "");

// The plan with origins whose files have absolute names: as plan files have them, wherever they are read.
Plan with_whole_file_names(Plan plan);

}  // namespace lockstep
