// The compiled specs of a simulated cluster: an opened cluster of hosts on pairs of leaf switches under four
// spine switches, built in memory, in the form in which load_cluster() passes it to a session.
//
// Promises: the same number of devices gives the same cluster. Data that follows from the topology (cables,
// redundancy, capacity) is left to the program to derive.
#pragma once

#include <optional>

#include "reconciler/session/opened_cluster.hpp"

namespace lockstep::simulation {

inline constexpr std::size_t kSpines = 4;

// `devices`: at least 8. `window`: changes may start only within it. `folder`: where the lock file of the
// allocation is written. There is one policy for all devices, and one suite without benchmarks.
OpenedCluster make_cluster(std::size_t devices, const std::optional<Window>& window,
                           const std::string& folder);

}  // namespace lockstep::simulation
