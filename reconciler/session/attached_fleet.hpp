// The devices of an opened cluster with their drivers attached: in the twin, or as defined by their
// `connect`.
//
// Promises: every device of the specs is in the fleet. A device that is unreachable from this machine, or
// that one of its drivers can't be attached to, has no driver and is reported as unobserved with the reason.
// Refuses: a twin that is not up; two devices that are both this machine.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/session/driver_table.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

inline constexpr const char* kWhyUnreached =
    "unreachable from this machine: use `connect: {agent: ...}` or, for this machine, "
    "`connect: {local: true}`; --twin for the twin";

struct AttachedFleet {
  std::vector<std::unique_ptr<Attached>> drivers;  // own what the fleet points to
  Fleet fleet;
  // DriverTarget::epoch of all devices; its owner sets it when it takes leadership.
  std::shared_ptr<CurrentEpoch> epoch = std::make_shared<CurrentEpoch>();
  std::vector<Policy> policies;                 // of Catalog::rollout_policies, in order
  std::vector<std::uint32_t> policy_of_device;  // by index into the fleet; kNone: no policy

  using Jobs = std::function<std::string(const std::string& device, const Call& call)>;
  std::map<DeviceIndex, std::vector<Jobs>> jobs;  // DriverRow::jobs, of reachable devices

  // The jobs on a device; empty: none are known.
  std::string jobs_at(DeviceIndex device) const;
  // The policy that a device is under; null: none.
  const Policy* policy_for(const FleetDevice& device) const;
};

// The fleet points into the cluster, which must outlive it. `first_hops` is called once, for the devices that
// are reached over the network; null: the own path is not known.
Result<AttachedFleet> attach_fleet(const OpenedCluster& cluster, const DriverTable& table,
                                   const FirstHops& first_hops = {},
                                   std::shared_ptr<CurrentEpoch> epoch = {});

// Indices into the fleet, each once, in the order of the names.
Result<std::vector<std::size_t>> chosen_devices(const Fleet& fleet, const std::vector<std::string>& names);

}  // namespace lockstep
