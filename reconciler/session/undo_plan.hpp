// UndoPlan: the plan that restores what was there before a change of the journal.
//
// Promises: a plan like any other, with its order, waves, holds and digest; entries that another writer
// changed since, that a later change wrote, that could not be read, or that are on devices no longer in the
// specs stay as they are, and are reported. Refuses: an unknown change, one that is not over, or one of which
// nothing is left.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

struct UndoPlan {
  Plan plan;
  std::vector<Step> undone;           // the steps of that change, as the journal has them
  std::vector<std::string> left_out;  // "gpu1: interface[rail0]/mtu is not put back to 1500: ..."
};

// For what was observed; the states must outlive the call only.
Result<UndoPlan> undo_plan(const ClusterSession& session, std::uint64_t change,
                           const std::vector<DeviceState>& states);

}  // namespace lockstep
