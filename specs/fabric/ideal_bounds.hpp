// The best that a fabric's links allow, whatever the hash does: detects an SLO that no configuration could
// meet.
//
// Promises: an upper bound with perfect balance; a share of 1 is an endpoint's whole link. Counts links and
// leaves, never host pairs. A workload without a known bound has share 1.
#pragma once

#include <cstdint>
#include <string>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct BestShare {
  double share = 1;          // of an endpoint's own link
  DeviceIndex leaf = kNone;  // the leaf that bounds it
  std::uint64_t speed = 0;   // bit/s of an endpoint's link there
  std::string because;       // "one uplink of leaf0 runs at 100Gbps, a host's link at 400Gbps"
};
// The best that all endpoint pairs (pair workloads) or ranks (collectives) of the workload can achieve at the
// same time. `per_packet`: a flow may use all uplinks at once.
BestShare best_share(const Topology& topology, FabricIndex fabric, Workload workload, PairChoice pairs,
                     bool per_packet);

// The propagation time between the two endpoints that are furthest apart within one rail, nanoseconds.
double least_latency(const Topology& topology, FabricIndex fabric);

}  // namespace lockstep
