// A cluster's numbers (addresses, ASNs, router ids) from one run to the next: allocations.lock beside the
// specs for real devices, and for a twin a part of its store, which goes with the twin.
//
// Promises: a twin's numbers begin as the real cluster's are, by the lock beside its specs; from its first
// apply on they are its own, and move as little as the real cluster's do. Nothing of a twin is written beside
// its specs. Refuses: what is stored and can't be read.
#pragma once

#include <optional>

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/store/blobs.hpp"

namespace lockstep {

// `directory`: of the twin's store. None: it has none of its own yet.
Result<std::optional<AllocationLock>> numbers_of_twin(const std::string& directory);

Result<Done> keep_numbers(const OpenedCluster& cluster, Blobs& blobs);

}  // namespace lockstep
