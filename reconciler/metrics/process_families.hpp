// What every Prometheus client tells of its process: CPU time, memory, descriptors, start.
//
// Promises: the names and meanings that Prometheus' clients agree on
// (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics). What /proc does not tell is
// left out. One more: the allocated heap, in which a leak shows long before it does in resident memory.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace lockstep {

std::vector<prometheus::MetricFamily> process_families();

}  // namespace lockstep
