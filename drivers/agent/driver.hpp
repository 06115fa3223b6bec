// A driver of a device behind lockstep-agent: the same calls, made there.
//
// Contract: that of drivers/driver.hpp. Every apply is armed: the agent rolls back what is not settled
// (traits say undoes_itself). Observations carry the epoch of the leader that asks, so that no write of an
// older one follows them. Native words and remedies are worked out here, by the same driver without a device
// (`offline`): neither asks the agent.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "drivers/agent/network.hpp"
#include "drivers/driver.hpp"

namespace lockstep {

struct AgentTarget {
  AgentAddress agent;
  std::string driver;  // "linux"
  // Of the leader; 0: none leads, and nothing is written.
  std::shared_ptr<const std::atomic<std::uint64_t>> epoch;
  Attached offline;
};

Attached make_agent_driver(std::shared_ptr<AgentNetwork> network, AgentTarget target);

}  // namespace lockstep
