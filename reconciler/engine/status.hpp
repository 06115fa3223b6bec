// Status: differences told apart (drifted, not applied, overruled, unmanaged, effect, finding, allowed) as
// plain data, and the exit code that they mean.
//
// Promises: what could not be observed is never counted as in sync; exit codes as in command-line.md: 0 in
// sync, 2 drift or changes that wait for a window, 1 error, 3 incomplete. Devices in maintenance are told
// apart, and decide none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"
#include "specs/language/records.hpp"

namespace lockstep {

struct DriftEntry {
  std::string device;
  Path path;
  Value want;
  Value have;
  DriftState state = DriftState::drifted;
  Disruption disruption = Disruption::none;
  PlanOrigin origin;
  std::string reason;    // of notApplied, overruled, allowed; of drifted: why its device refuses the cure
  bool by_hand = false;  // of notApplied: it was read and differs, and a person has to see to it
  bool flapping = false;
  std::string maintenance{};  // of the device; empty: it is in service
  // Of the device, and not of what specs or drivers can say of it.
  bool differs() const { return state == DriftState::drifted || state == DriftState::effect || by_hand; }
  // So that somebody is to know.
  bool is_difference() const { return differs() && maintenance.empty(); }
};

struct Unobserved {
  std::string device;
  std::string path;  // empty: the whole device
  std::string why;
  PlanOrigin origin{};  // the line that wants the entry, or that names the device
  std::string maintenance{};
};

struct DriftReport {
  std::size_t devices = 0;
  std::size_t observed = 0;  // read whole
  std::size_t in_sync = 0;
  std::size_t drifted = 0;         // devices with differences, but for those that wait
  std::size_t waiting = 0;         // devices of which all that differs waits for a window
  std::size_t in_maintenance = 0;  // devices, whatever is found there: neither drifted nor waiting
  std::size_t excused = 0;         // of those, the ones that were not read whole
  std::vector<DriftEntry> items;
  std::vector<Unobserved> unobserved;
  std::size_t count(DriftState state) const;
  std::size_t differences() const;
  int exit_code() const;
};

struct ReportChoice {
  bool unmanaged = false;  // entries that are there and no spec claims
  bool overruled = true;
  // Why a device's differences have to wait; empty: they have not. Such are not applied, not drifted.
  std::function<std::string(const FleetDevice&)> waits{};
};

DriftReport drift_report(const Fleet& fleet, const std::vector<DeviceState>& states, const Origins& origins,
                         const Sources& sources, const ReportChoice& choice = {});
// The same for one device of the fleet.
DriftReport device_report(const Fleet& fleet, std::size_t device, const DeviceState& state,
                          const Origins& origins, const Sources& sources, const ReportChoice& choice = {});

}  // namespace lockstep
