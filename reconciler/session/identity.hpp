// Identity of a real cluster, independent of the clone of its specs: its name, and a UUID in allocations.lock
// beside them. Its state directory is found by both. (A twin belongs to its folder.)
//
// Promises: the first run that takes the cluster's lock assigns the UUID, before anything is stored and
// before a device is written to; a folder without a lock file has none, so that two copies of an example are
// two clusters. State that was stored under the folder's path, by a lockstep before UUIDs or for a
// measurement before the first apply, is moved to the cluster completely. Numbers added to the file since the
// specs were read are never dropped.
// Refuses (conflict): an allocations.lock that has changed since the specs were read in a way that changes
// the numbers or the cluster; running while another process changes what is stored under the folder's path.
#pragma once

#include <string>

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/store/file_lock.hpp"

namespace lockstep {

// Reads the UUID again, assigns one if there is none, and moves the state there: state_directory() is right
// from then on. `command`: shown to others who find the cluster locked meanwhile.
Result<Done> settle_identity(OpenedCluster& cluster, const std::string& command, WallTime now);

// Writes the allocated numbers, if the file lacks any. A twin writes nothing beside its specs.
Result<Done> write_numbers(const OpenedCluster& cluster);

}  // namespace lockstep
