// The output of `lockstep plan`: the plan, what it does not correct, and what earlier runs left.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

struct PlanReport {
  std::string title;  // of the cluster
  Plan plan;
  std::vector<DeviceState> states;  // that it was made from
  bool whole = true;                // all of the chosen devices could be observed
  DriftReport unmended;
  Unjudged unjudged;
  std::vector<WrittenEntry> left;  // behind, by earlier changes
  std::string apply_refused{};     // why; empty: an apply would begin
  Deletion deletion{};
  std::string deletion_refused{};  // why; empty: an apply may take that away
  std::string partial{};           // why an apply has to say --partial; empty: it need not
  std::vector<InMaintenance> in_maintenance{};
};

std::string plan_report_text(const PlanReport& report, const Terminal& terminal);
nlohmann::json plan_report_json(const PlanReport& report);

}  // namespace lockstep
