// Which devices a command speaks of, and which of those nothing here reaches.
//
// Promises: a device that no driver is attached to is unobserved (exit code 3), never in sync and never "not
// applied"; a command that was narrowed by --only counts, and complains of, the chosen devices alone.
#pragma once

#include <vector>

#include "reconciler/engine/status.hpp"

namespace lockstep {

inline constexpr const char* kWhyUnreached =
    "nothing here reaches it: `connect: {local: true}` is for this machine, --twin for its twin";

// For every device without a driver: not reachable, and why.
void mark_unreached(const Fleet& fleet, std::vector<DeviceState>& states);

// What can't be begun where no device is reached at all, such as a watch or a benchmark.
Result<Done> reaches_any(const Fleet& fleet);

// The report of the chosen devices; of all, where none is chosen.
DriftReport report_of(const Fleet& fleet, const std::vector<DeviceState>& states,
                      const std::vector<std::size_t>& only, const Origins& origins, const Sources& sources,
                      const ReportChoice& choice);

}  // namespace lockstep
