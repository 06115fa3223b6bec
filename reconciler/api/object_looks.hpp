// What each status and each observation says of the conditions of the cluster and of a device.
//
// Promises: pure. The first reason that holds is the one that is shown: what stops the service before what
// only delays it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "reconciler/service/conditions.hpp"
#include "reconciler/service/service_status.hpp"

namespace lockstep::api {

// Of something that is not so.
struct Why {
  std::string reason;  // CamelCase; empty: it is so
  std::string message;
  bool holds() const { return !reason.empty(); }
  bool operator==(const Why&) const = default;
};

struct NamedLook {
  std::string type;
  Look look;
};

// What stops the service from writing to any device.
Why why_not_writing(const ServiceStatus& status);

// Ready: the service leads, and nothing differs, as was read within `lifetime`: its proof is as old as the
// oldest look at a device. Stalled: it needs somebody. Reconciling: it is at it.
std::vector<ConditionRow> cluster_rows(std::chrono::seconds lifetime);
std::vector<NamedLook> looks_at_cluster(const ServiceStatus& status, WallTime now);

// Ready: observed completely, and nothing differs. Reachable. InSync: its configuration, as far as it can be
// applied. Healthy: it does what it is configured to do. `lifetime`: how long an observation proves these.
// Reconciling: it is being changed, or its differences are going to be corrected; Stalled: they are not,
// without somebody.
std::vector<ConditionRow> device_rows(std::chrono::seconds lifetime);
// Of those that an observation proves.
std::vector<NamedLook> looks_at_device(const DeviceStatus& device);
// Of the two others. `differs`: by the conditions that are shown. `changing`: what is under way there; empty:
// nothing is. `held`: why what differs is not corrected.
std::vector<NamedLook> looks_at_correction(bool differs, const std::string& changing, const Why& held);

// What a service's status says about correcting its devices.
class Corrections {
 public:
  void take(const ServiceStatus& status);
  // What is under way there; empty: nothing is.
  std::string changing(const std::string& device) const;
  // Why differences of the device would stay; `observed` may be null.
  Why held(const NamedDevice& device, const DeviceStatus* observed, bool cordoned) const;

 private:
  void take_plan(const ServiceStatus& status);

  DeviceNames changing_{};  // of the run, or else of the heal, under way
  std::string what_;        // of it
  Why all_{};               // what holds all devices
  std::map<std::string, NotHealed> not_healed_;
  // Of the goal's plan, by device.
  std::map<std::string, Why> by_plan_;
  std::shared_ptr<const GoalPlan> plan_{};
  std::set<std::string> waits_;
};

}  // namespace lockstep::api
