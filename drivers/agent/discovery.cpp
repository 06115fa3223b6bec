#include "drivers/agent/discovery.hpp"

#include "drivers/agent/wire_discovery.hpp"

namespace lockstep {

Result<DiscoveredHost> discover_by_agent(AgentNetwork& network, const AgentAddress& agent, const Call& call) {
  auto answer = network.call(agent, "discover", "{}", AgentNetwork::Effect::reads, call);
  if (!answer && answer.error().kind == ErrorKind::unsupported)
    return Error{
        ErrorKind::unsupported,
        agent.text() + ": its lockstep-agent does not support `discover`: install this version there",
        std::make_shared<const Error>(std::move(answer.error()))};
  if (!answer) return std::move(answer.error());
  Result<DiscoveredHost> found = wire::decode_discovery(*answer);
  if (!found)
    return Error{ErrorKind::refused, agent.text() + ": discover: " + found.error().what, found.error().cause};
  return found;
}

}  // namespace lockstep
