// StepObservation: one observation of a step's device: from the step's own driver, and from the others when
// the whole device is read or they are not known yet; merged into one.
//
// Promises: what a driver did not answer for is unread, never absent; if the step's own driver did not
// answer, there is nothing but its error. observe() is for a worker thread, everything else for the engine's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reconciler/engine/observe.hpp"

namespace lockstep {

struct StepSeen {
  Tree have;
  std::string revision;  // of the step's driver
  std::vector<Unread> unread;
  std::string armed;  // of the step's driver
  std::optional<Error> error;
};

class StepObservation {
 public:
  // `own`: the step's driver; null: not known yet. `scope`: the step's rows; none: the whole device.
  StepObservation(const Fleet& fleet, std::size_t device, const Attached* own, Scope scope);

  void observe(const Call& call);
  // Passes what was learned about the drivers to the fleet.
  void teach(Fleet& fleet);
  // Call after teach(): `own` may be known by then.
  StepSeen merged(const Fleet& fleet, const Attached* own);

 private:
  struct DriverRead {
    std::size_t index = 0;  // into FleetDevice::drivers
    Attached* attached = nullptr;
    bool is_known = false;  // its traits are known
    DriverReply reply{};
  };
  const std::size_t device_;
  const Attached* const own_;
  const Scope scope_;
  std::vector<DriverRead> reads_;
};

}  // namespace lockstep
