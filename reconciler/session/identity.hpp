// What a real cluster is, from whatever clone of its specs: its name, and a UUID in allocations.lock beside
// them. Its state is found by both. (A twin is its folder's.)
//
// Promises: who takes the cluster's lock first gives it the UUID, before anything is stored of it and before
// a device is written to; a folder without a lock has none, so that two copies of an example are two
// clusters. What was stored under the folder's path, by a lockstep before UUIDs or of a measurement before
// the first apply, becomes the cluster's, whole. Numbers that the file has gained since the specs were read
// are never dropped.
// Refuses (conflict): an allocations.lock that has changed so since the specs were read that the numbers or
// the cluster would be others; while another process changes what is stored under the folder's path.
#pragma once

#include <string>

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/store/file_lock.hpp"

namespace lockstep {

// Reads the UUID again, gives one where there is none, and moves the state there: state_directory() is right
// from then on. `command`: shown to whoever finds the cluster locked meanwhile.
Result<Done> settle_identity(OpenedCluster& cluster, const std::string& command, WallTime now);

// Writes the numbers that were given out, where the file lacks any. A twin writes nothing beside its specs.
Result<Done> write_numbers(const OpenedCluster& cluster);

}  // namespace lockstep
