// What `lockstep plan` reports, from one observation: for the command, and for a service that plans specs of
// others (plan_proposal.hpp).
#pragma once

#include <vector>

#include "reconciler/report/plan_report.hpp"

namespace lockstep {

struct Planned {
  PlanReport report;
  std::vector<NotObserved> not_observed;
  int exit_code = 0;
};
Result<Planned> planned_from(ClusterSession& session, std::vector<DeviceState> states, bool details);

}  // namespace lockstep
