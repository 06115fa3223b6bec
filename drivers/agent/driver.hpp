// A driver of a device behind lockstep-agent: the same calls, made there.
//
// Contract: that of drivers/driver.hpp. Every apply is armed: the agent rolls back what is not settled
// (traits say undoes_itself). Observations carry the epoch of the leader that asks, so that no write of an
// older one follows them. Native words and remedies are worked out here, by the same driver without a device
// (`offline`), from what was observed (Recall): neither asks the agent. What a driver there can do that one
// without a device can't (restart a daemon) is not offered.
#pragma once

#include <memory>
#include <string>

#include "drivers/agent/network.hpp"
#include "drivers/driver.hpp"
#include "drivers/runtime/current_epoch.hpp"

namespace lockstep {

struct AgentTarget {
  AgentAddress agent;
  std::string driver;  // "linux"
  // Of the leader; null, or its epoch is 0: none leads, and nothing is written. It learns when the agent has
  // accepted another one since.
  std::shared_ptr<CurrentEpoch> epoch;
  Attached offline;
};

Attached make_agent_driver(std::shared_ptr<AgentNetwork> network, AgentTarget target);

}  // namespace lockstep
