// Which RolloutPolicy each device is under: of those that select it, the one with the highest priority,
// whole.
//
// Promises: pure; the others say nothing of that device, not even what the first leaves unsaid. Refuses
// (LS1238): two of equal priority that select one device, both lines named.
#pragma once

#include <cstdint>
#include <vector>

#include "specs/fabric/topology.hpp"
#include "specs/language/catalog.hpp"

namespace lockstep {

// By DeviceIndex: into Catalog::rollout_policies; kNone: no policy selects it.
std::vector<std::uint32_t> rollout_policies(const Catalog& catalog, const Topology& topology,
                                            Diagnostics& diagnostics);

}  // namespace lockstep
