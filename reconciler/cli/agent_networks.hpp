// The networks of agents that one command reaches: one for the real devices of a cluster, one for each twin.
//
// Credentials are the machine's, never the specs': of real devices ca.crt, controller.crt, controller.key
// and, if there is one, ca.crl in /etc/lockstep/pki or LOCKSTEP_PKI_DIR; of a twin those that it was made
// with.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "drivers/agent/discovery.hpp"
#include "drivers/agent/driver.hpp"
#include "reconciler/session/driver_table.hpp"

namespace lockstep {

class AgentNetworks {
 public:
  // A driver of the target's device through its agent. None: the device has no agent. `offline`: the same
  // driver without a device.
  Result<std::optional<Attached>> attach(const DriverTarget& target, std::string_view driver,
                                         Attached offline);
  // What the target's agent finds on its device. None: the device has no agent.
  Result<std::optional<DiscoveredHost>> discover(const DriverTarget& target, const Call& call);

 private:
  Result<std::shared_ptr<AgentNetwork>> network_of(const DriverTarget& target);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<AgentNetwork>> started_;  // by twin; "": real devices
};

}  // namespace lockstep
