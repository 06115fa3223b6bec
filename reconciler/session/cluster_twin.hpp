// The twin of an opened cluster: its layout, and whether it is up with everything that the layout needs.
#pragma once

#include <string>
#include <vector>

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/store/file_lock.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {

TwinLayout layout_of(const OpenedCluster& cluster);

// Held while a twin is changed or taken down: an apply or a measurement in the meantime would take that for a
// fault. `directory`: of its store.
Result<std::vector<FileLock>> lock_out_others(const std::string& directory, const std::string& command);

// The running twin of these specs. Refused: it is not up or can't be queried. Conflict: it lacks one of their
// devices or cables, or its links have another rate than requested.
Result<TwinReport> running_twin(const OpenedCluster& cluster);

}  // namespace lockstep
