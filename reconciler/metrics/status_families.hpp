// What a service's status says, as families of metrics in Prometheus' form.
//
// Promises: pure. Nothing has a label with more values than the cluster has devices, or the specs suites;
// digests and messages are no labels, and of revisions only the newest, the last good and the watched one are
// named. Each device is in exactly one condition of lockstep_devices.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "reconciler/service/service_status.hpp"

namespace lockstep {

// `devices`: as last watched; null: nothing was watched yet.
std::vector<prometheus::MetricFamily> status_families(const ServiceStatus& status, const Snapshot* devices);

}  // namespace lockstep
