// Status: differences by kind (drifted, not applied, overruled, unmanaged, effect, finding, allowed) as plain
// data, and the resulting exit code.
//
// Promises: what could not be observed is never counted as in sync; exit codes as in command-line.md: 0 in
// sync, 2 drift or changes that wait for a window, 1 error, 3 incomplete. Devices in maintenance are listed
// separately and do not affect the exit code.
#pragma once

#include <cstddef>
#include <cstdint>
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
  std::string reason;  // of notApplied, overruled, allowed; of drifted: why its device refuses the correction
  bool by_hand = false;  // of notApplied: it was read, differs, and requires manual action
  bool flapping = false;
  std::string maintenance{};  // of the device; empty: it is in service
  // A difference on the device itself, not in what specs or drivers can express.
  bool differs() const { return state == DriftState::drifted || state == DriftState::effect || by_hand; }
  // A difference that should be reported to the user.
  bool is_difference() const { return differs() && maintenance.empty(); }
};

struct Unobserved {
  std::string device;
  std::string path;  // empty: the whole device
  std::string why;
  PlanOrigin origin{};  // the line that sets the entry, or that names the device
  std::string maintenance{};
  bool whole = false;  // nothing of the device was read
};

// Indices of a report's items and unobserved.
struct Findings {
  std::vector<std::size_t> items;
  std::vector<std::size_t> unobserved;
  std::size_t size() const { return items.size() + unobserved.size(); }
};

struct Problem {
  enum class Kind : std::uint8_t {
    unreachable,  // a device could not be observed
    daemon,
    port,
    cabling,  // ports are connected to others than the specs define
    setting,  // not written yet, or changed by another writer
    symptom,  // an effect without a known cause
    unread,   // an entry that could not be read
  };
  Kind kind = Kind::symptom;
  Findings cause;
  Findings explains;
};

struct DriftReport {
  std::size_t devices = 0;
  std::size_t observed = 0;  // read completely
  std::size_t in_sync = 0;
  std::size_t drifted = 0;         // devices with differences, except those that wait
  std::size_t waiting = 0;         // devices whose differences all wait for a window
  std::size_t in_maintenance = 0;  // devices, with any findings: neither drifted nor waiting
  std::size_t excused = 0;         // of those, the ones that were not read completely
  std::vector<DriftEntry> items;
  std::vector<Unobserved> unobserved;
  std::vector<Problem> problems{};  // of a whole cluster, those that explain most first (causes.hpp)
  std::size_t count(DriftState state) const;
  std::size_t differences() const;
  int exit_code() const;
};

struct ReportChoice {
  bool unmanaged = false;  // unmanaged entries
  bool overruled = true;
  // Why a device's differences must wait; empty: they need not. Such differences are not applied, not
  // drifted.
  std::function<std::string(const FleetDevice&)> waits{};
};

DriftReport drift_report(const Fleet& fleet, const std::vector<DeviceState>& states, const Origins& origins,
                         const Sources& sources, const ReportChoice& choice = {});
// The same for one device of the fleet.
DriftReport device_report(const Fleet& fleet, std::size_t device, const DeviceState& state,
                          const Origins& origins, const Sources& sources, const ReportChoice& choice = {});

}  // namespace lockstep
