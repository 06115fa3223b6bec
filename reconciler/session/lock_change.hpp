// How allocations.lock beside a real cluster's specs differs from the numbers that the specs are given now.
//
// Promises: none of it means that the file is what an apply would write: the specs in git have all their
// numbers, and whoever applies them gives out no other.
#pragma once

#include <string>
#include <vector>

#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

struct LockChange {
  bool identifies = false;  // the file lacks the cluster's UUID, or has its former name
  // Of what, in order: "Fabric/backend asn/leaf leaf2".
  std::vector<std::string> given;  // the file has no number
  // Only with ClusterSource::renumber: else a number stays with its name, also once nothing has that name.
  std::vector<std::string> changed;  // the file has another number
  std::vector<std::string> freed;    // the file has a number, and the specs need none
  bool empty() const { return !identifies && given.empty() && changed.empty() && freed.empty(); }
};

LockChange lock_change(const OpenedCluster& cluster);

}  // namespace lockstep
