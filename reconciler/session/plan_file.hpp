// A plan on disk: `plan --out` writes it, `apply plan.json` reads it. It approves steps, and records what it
// was made from and for (its aim), so that the plan can be made again: only steps that the specs give now are
// run (reconciler/engine/earlier_plan.hpp).
//
// Promises: written whole or not at all; a file that was edited or truncated anywhere is refused, by a digest
// of its whole content. The digest has no key and does not protect from a completely forged file: for the
// steps, making the plan again does. Nothing protects the aim except the caller, who shows it: a forged file
// can name other specs, as a forged command line can. Signing proves who wrote a file: FILE.sig
// (plan_signature.hpp). Refuses: files that are no plan files; specs without a path (standard input).
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

// Everything that shapes a plan besides the specs' text and the devices.
struct PlanAim {
  ClusterSource source;
  std::string only{};     // devices, a hostlist; empty: all
  std::string cluster{};  // OpenedCluster::state_name
};

struct PlanFile {
  PlanAim aim;
  Plan plan;
  std::string approved_by{};  // who signed it; empty: the signature was not checked
};

// One argument that ends in .json: specs are YAML.
bool is_plan_file(const std::vector<std::string>& arguments);
// If `allowed_signers` is not empty, refuses the file unless one of them signed the bytes that are read.
Result<PlanFile> read_plan_file(const std::string& file, const std::string& allowed_signers = "");
// If `key` is not empty, signs the file with it.
Result<Done> write_plan_file(const std::string& file, const PlanAim& aim, const Plan& plan,
                             const std::string& key = "");

// The plan with absolute file names in its origins, as in plan files, which may be read from anywhere.
Plan with_whole_file_names(Plan plan);

}  // namespace lockstep
