// Which RolloutPolicy applies to each device: of those that select it, the one with the highest priority, as
// a whole.
//
// Promises: pure; the other policies do not apply to that device, not even for fields that the first leaves
// unset. Refuses (LS1238): two policies of equal priority that select one device, with both lines.
#pragma once

#include <cstdint>
#include <vector>

#include "specs/fabric/topology.hpp"
#include "specs/language/catalog.hpp"

namespace lockstep {

// By DeviceIndex: index into Catalog::rollout_policies; kNone: no policy selects the device.
std::vector<std::uint32_t> rollout_policies(const Catalog& catalog, const Topology& topology,
                                            Diagnostics& diagnostics);

}  // namespace lockstep
