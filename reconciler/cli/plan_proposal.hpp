// Plans of specs that others propose to a service: each is made by a process of its own, which is this
// program with kPlanProposalWord.
//
// Promises: what is proposed is data. It is loaded from a folder of its own, and nothing is read outside of
// it (load.hpp); devices are asked only where the specs in force have them, and at no other address: one that
// is new, or whose `connect` differs, is reported as not observed, with the reason. Nothing is written, on
// devices or in the store. Memory and time are bounded by the kernel, and end with that process, whatever the
// specs are. Refused: specs of another cluster than the service's, and those whose numbers are not all in
// allocations.lock.
#pragma once

#include <string>

#include "reconciler/api/proposed_specs.hpp"
#include "reconciler/service/specs_feed.hpp"

namespace lockstep {

inline constexpr const char* kPlanProposalWord = "plan-proposal";

// `cache`: a folder of this user alone, for the specs while they are planned.
api::Planner make_planner(SpecsAim aim, const std::string& cache);

// That process: what make_planner() asks is on standard input, the answer on standard output.
int plan_proposal_main();

}  // namespace lockstep
