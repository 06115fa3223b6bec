// Repeats the profile proofs for the values that overrides set on single devices: shares (LS114), buffers and
// the MTU that they are computed for (LS102), ECN thresholds against PFC (LS103).
#pragma once

#include <vector>

#include "specs/compile/compilation.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

struct OverriddenEntry {
  Path path;
  OriginId origin = 0;  // of the override
};

// `intent` contains the overrides, with the values that they replaced among its overruled entries.
void check_overrides(const Compilation& compilation, DeviceIndex device, const Intent& intent,
                     const std::vector<OverriddenEntry>& overridden);

}  // namespace lockstep
