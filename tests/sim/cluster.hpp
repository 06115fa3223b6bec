// What the specs of a simulated cluster come to: an opened cluster of hosts on pairs of leaves under four
// spines, made in memory, as load_cluster() would hand it to a session.
//
// Promises: the same number of devices gives the same cluster; what can be told from the topology (cables,
// redundancy, capacity) is left to the program to tell.
#pragma once

#include <optional>

#include "reconciler/session/opened_cluster.hpp"

namespace lockstep::simulation {

inline constexpr std::size_t kSpines = 4;

// `devices`: at least 8. `window`: changes may begin within it only. `folder`: where the lock file of the
// allocation is written. There is one policy for all devices, and one suite, which has no benchmarks.
OpenedCluster make_cluster(std::size_t devices, const std::optional<Window>& window,
                           const std::string& folder);

}  // namespace lockstep::simulation
