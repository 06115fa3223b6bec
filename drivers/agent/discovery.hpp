// Discovery of a device by its agent (docs/agents.md, call `discover`).
//
// Contract: as AgentNetwork::call; changes nothing. `unsupported`: the agent is older than the call.
// `refused`: its answer is none of the protocol.
#pragma once

#include "drivers/agent/network.hpp"
#include "drivers/linux/discover.hpp"

namespace lockstep {

Result<DiscoveredHost> discover_by_agent(AgentNetwork& network, const AgentAddress& agent, const Call& call);

}  // namespace lockstep
