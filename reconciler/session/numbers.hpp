// A cluster's numbers (addresses, ASNs, router ids) from one run to the next: allocations.lock beside the
// specs for real devices, and for a twin a part of its store, which goes with the twin.
//
// Promises: a twin's numbers start as those of the real cluster, from the lock beside its specs; from its
// first apply on they are its own, and change as little as the real cluster's do. Nothing of a twin is
// written beside its specs. Refuses: stored numbers that can't be read.
#pragma once

#include <optional>

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/store/blobs.hpp"

namespace lockstep {

// `directory`: of the twin's store. None: it has no numbers of its own yet.
Result<std::optional<AllocationLock>> numbers_of_twin(const std::string& directory);

Result<Done> keep_numbers(const OpenedCluster& cluster, Blobs& blobs);

}  // namespace lockstep
