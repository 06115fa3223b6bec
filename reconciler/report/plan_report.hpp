// The output of `lockstep plan`: the plan, what it does not correct, and leftovers of earlier runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/terminal.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

struct PlanReport {
  std::string title;  // the cluster's
  Plan plan;
  std::vector<DeviceState> states;  // that it was made from
  bool whole = true;                // all of the chosen devices could be observed
  DriftReport differences{};
  DriftReport unmended;
  Unjudged unjudged;
  std::vector<WrittenEntry> left;  // left behind by earlier changes
  std::string apply_refused{};     // the reason; empty: an apply would start
  Deletion deletion{};
  std::string deletion_refused{};  // the reason; empty: an apply may make these deletions
  std::string partial{};           // why an apply needs --partial; empty: it does not
  std::vector<InMaintenance> in_maintenance{};
  Detail detail = Detail::folded;
};

std::string plan_report_text(const PlanReport& report, const Terminal& terminal);
nlohmann::json plan_report_json(const PlanReport& report);

}  // namespace lockstep
