// Alerts: what of a service's status people should be told, and when it begins and ends.
//
// Promises: pure: the time is an argument, and may jump. One cause has one alert at most, which keeps its
// start and its id while it is open, however often it is looked at and whatever its message says meanwhile.
// What may pass by itself (drift, a source out of reach, no leadership) opens an alert once it has lasted
// `after`, and ends it as soon as it is over; the rest does at once. What is not known of a device (it can't
// be read, nothing is watched) or of a suite (its run could not be judged) neither opens nor ends its alert.
// Drift under maintenance is none.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/service/service_status.hpp"

namespace lockstep {

enum class AlertKind : std::uint8_t { drift, gate_refused, approval_waiting, slo_broken, stalled };

struct Alert {
  AlertKind kind{};
  std::string cluster{};
  std::string object{};   // "Device/gpu1", "Revision/3f2a...", "ValidationSuite/slo", "Cluster/pod1"
  std::string reason{};   // of `stalled`: "BreakerOpen"; else empty
  std::string message{};  // for a reader
  WallTime since{};       // when its cause began

  std::string_view name() const;      // "LockstepDeviceDrifted": of docs/alerts.md too
  std::string_view severity() const;  // "critical", "warning"
  std::string cause() const;          // what it is the only alert of
  // The same for the same cause with the same start, also after a restart where the start is stored.
  std::string id() const;
};

struct AlertBook {
  std::map<std::string, Alert> open{};   // by cause
  std::map<std::string, Alert> begun{};  // have not lasted long enough yet
};

// A choice: longer than a heal without a gate, and than an agent's restart.
inline constexpr std::chrono::seconds kAlertAfter{30};

AlertBook next_alerts(const AlertBook& before, const ServiceStatus& status, WallTime now,
                      std::chrono::seconds after = kAlertAfter);

struct AlertChange {
  bool opened = false;
  Alert alert;
  WallTime at{};
};
// What was opened and ended between them, in the order of causes.
std::vector<AlertChange> changes_between(const AlertBook& before, const AlertBook& next, WallTime now);

}  // namespace lockstep
