// Which devices a run is about, and which of them are unreachable from this machine.
//
// Promises: a device without a driver is unobserved (exit code 3), never in sync and never "not applied"; a
// run that is limited to some devices (--only) counts and reports only these.
#pragma once

#include <vector>

#include "reconciler/engine/status.hpp"
#include "reconciler/session/attached_fleet.hpp"

namespace lockstep {

// Devices that could not be observed completely, all for the same reason.
struct NotObserved {
  std::string why;
  std::vector<std::string> devices;
};
// For the chosen devices; for all if none is chosen. Ordered by the first device of each reason. Devices in
// maintenance are not listed.
std::vector<NotObserved> not_observed(const Fleet& fleet, const std::vector<DeviceState>& states,
                                      const std::vector<std::size_t>& only);

// Of those devices, the ones of which nothing at all could be read.
std::vector<NotObserved> unreached(const Fleet& fleet, const std::vector<DeviceState>& states,
                                   const std::vector<std::size_t>& only);

// Devices in maintenance, all until the same day for the same reason.
struct InMaintenance {
  std::string why;  // "until 2026-12-01: optics"
  std::vector<std::string> devices;
};
std::vector<InMaintenance> in_maintenance(const Fleet& fleet, const std::vector<std::size_t>& only);

// An error if no device is reachable at all, so that a watch or a benchmark can't start.
Result<Done> reaches_any(const Fleet& fleet);

// The report of the chosen devices; of all, if none is chosen.
DriftReport report_of(const Fleet& fleet, const std::vector<DeviceState>& states,
                      const std::vector<std::size_t>& only, const Origins& origins, const Sources& sources,
                      const ReportChoice& choice);

}  // namespace lockstep
