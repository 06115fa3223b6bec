// The devices of an opened cluster with their drivers: those of the twin, or of this machine (connect:
// {local: true}).
//
// Promises: every device of the specs is in the fleet; one that nothing here can reach has no driver, and the
// engine reports it as such. Refuses: a twin that is not up.
#pragma once

#include <memory>
#include <vector>

#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {

struct AttachedFleet {
  std::vector<std::unique_ptr<Attached>> drivers;  // own what the fleet points to
  Fleet fleet;
  std::vector<Policy> policies;                 // of Catalog::rollout_policies, in order
  std::vector<std::uint32_t> policy_of_device;  // by index into the fleet; kNone: under none

  // The policy that a device is under; null: none.
  const Policy* policy_for(const FleetDevice& device) const;
};

// The twin of these specs, as it runs; refused: it is not up, can't be asked, or lacks one of their devices.
Result<TwinReport> running_twin(const OpenedCluster& cluster);

Result<AttachedFleet> attach_fleet(const OpenedCluster& cluster);

// `only`: a hostlist; the answer: indices into the fleet; empty for an empty hostlist.
Result<std::vector<std::size_t>> chosen_devices(const Fleet& fleet, const std::string& only);

}  // namespace lockstep
