// The twin of an opened cluster: its layout, and whether it is up with what that needs.
#pragma once

#include <string>
#include <vector>

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/store/file_lock.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {

TwinLayout layout_of(const OpenedCluster& cluster);

// Held while a twin is changed or taken down: whoever applies or measures meanwhile would take that for a
// fault. `directory`: of its store.
Result<std::vector<FileLock>> lock_out_others(const std::string& directory, const std::string& command);

// The twin of these specs, as it runs. Refused: it is not up or can't be asked. Conflict: it lacks one of
// their devices or cables, or its links have another rate than was asked for.
Result<TwinReport> running_twin(const OpenedCluster& cluster);

}  // namespace lockstep
