// A driver under the host policy of the machine that it changes: the one way by which the program attaches
// drivers to its own machine.
//
// Promises: apply() writes nothing at all where any of the changes is refused, whoever planned them; cure()
// refuses alike; what is refused is known beforehand (Attached::permission). The policy is read anew with
// each observation, apply and cure, so that an edit holds at once. Reading the machine needs nobody's
// permission.
#pragma once

#include <functional>
#include <string>

#include "drivers/driver.hpp"
#include "drivers/host_policy/policy.hpp"

namespace lockstep {

// Who wants what done here.
struct PolicedFor {
  std::string device;
  std::string cluster;
  DriverName driver;
};

using ReadHostPolicy = std::function<HostPolicy()>;

Attached under_host_policy(Attached inner, PolicedFor whom, ReadHostPolicy read);

}  // namespace lockstep
