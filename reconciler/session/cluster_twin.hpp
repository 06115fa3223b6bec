// The twin of an opened cluster: its layout, and whether it is up with that layout.
#pragma once

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {

TwinLayout layout_of(const OpenedCluster& cluster);

// The twin of these specs, as it runs; refused: it is not up, can't be asked, or lacks one of their devices.
Result<TwinReport> running_twin(const OpenedCluster& cluster);

}  // namespace lockstep
