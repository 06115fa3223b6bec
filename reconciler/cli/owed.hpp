// Changes of earlier runs that were written and never judged, as the commands tell them and take them on.
//
// Promises: what an apply does not take on stays owed, and is told with the reason; what another process is
// about to measure is told as its own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/cli/console.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/engine/journal.hpp"

namespace lockstep {

// "change 7 (begun 2026-11-21T10:05:26Z by ann) on leaf[0-1]".
std::string owed_sentence(const OwedChange& owed);
nlohmann::json owed_json(const std::vector<OwedChange>& owed);

// What no benchmark has judged. `under_way`: of the process that changes the cluster now, which will measure
// it.
struct Unjudged {
  std::string writer;  // "process 7 since 2026-11-21T10:05:26Z (lockstep apply)"; empty: nobody
  std::vector<OwedChange> under_way;
  std::vector<OwedChange> left;
};
Result<Unjudged> unjudged(const std::string& directory, const Journal& journal);
std::string unjudged_text(const Unjudged& all, const Terminal& terminal);

// What a run was cut off from, told; its open tickets are for this run's fresh look to settle.
Result<Done> tell_in_flight(Journal& journal, const Console& console);

struct OwedChoice {
  bool measures = true;           // this run has a gate
  std::vector<std::string> only;  // devices that this run may write; empty: all
};
// What this run's gate answers for. Without a ValidationSuite nothing is left that could judge it: settled.
Result<std::vector<OwedChange>> take_owed(const OpenedCluster& cluster, Journal& journal,
                                          const OwedChoice& choice, const Console& console);

}  // namespace lockstep
