// A driver under the host policy of the machine that it changes: the program attaches drivers to its own
// machine only through this.
//
// Promises: apply() writes nothing at all if any of the changes is refused, whoever planned them; cure()
// does the same; what is refused is known beforehand (Attached::permission). The policy is read again with
// each observation, apply and cure, so that an edit takes effect at once. Reading the machine needs no
// permission.
#pragma once

#include <functional>
#include <string>

#include "drivers/driver.hpp"
#include "drivers/host_policy/policy.hpp"

namespace lockstep {

// The device and cluster that request the changes, and the driver that makes them.
struct PolicedFor {
  std::string device;
  std::string cluster;
  DriverName driver;
};

using ReadHostPolicy = std::function<HostPolicy()>;

Attached under_host_policy(Attached inner, PolicedFor whom, ReadHostPolicy read);

}  // namespace lockstep
