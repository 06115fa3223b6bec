// What each status and each observation says of the conditions of the cluster and of a device.
//
// Promises: pure. The first reason that holds is the one that is shown: what stops the service before what
// only delays it.
#pragma once

#include <string>
#include <vector>

#include "reconciler/service/conditions.hpp"
#include "reconciler/service/service_status.hpp"

namespace lockstep::api {

// Ready: the service leads, and nothing differs. Stalled: it needs somebody. Reconciling: it is at it.
std::vector<ConditionRow> cluster_rows();
// Ready: observed completely, and nothing differs. Reachable. `lifetime`: how long an observation proves it.
std::vector<ConditionRow> device_rows(std::chrono::seconds lifetime);

struct NamedLook {
  std::string type;
  Look look;
};
std::vector<NamedLook> looks_at_cluster(const ServiceStatus& status);
std::vector<NamedLook> looks_at_device(const DeviceStatus& device);

}  // namespace lockstep::api
