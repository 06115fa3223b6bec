#include "reconciler/cli/agent_networks.hpp"

#include <unistd.h>

#include <cstdlib>

#include "reconciler/twin/agents.hpp"
#include "reconciler/twin/management.hpp"
#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {

constexpr const char* kCredentials = "/etc/lockstep/pki";

TlsFiles own_credentials() {
  const char* const said = std::getenv("LOCKSTEP_PKI_DIR");
  const std::string folder = said != nullptr && *said != '\0' ? said : kCredentials;
  const std::string revoked = folder + "/ca.crl";
  return {.ca = folder + "/ca.crt",
          .certificate = folder + "/controller.crt",
          .key = folder + "/controller.key",
          .revoked = ::access(revoked.c_str(), F_OK) == 0 ? revoked : ""};
}

Result<AgentEndpoint> endpoint_of(const DriverTarget& target) {
  if (target.twin) return AgentEndpoint{.host = management_address(target.device), .port = kAgentPort};
  return parse_agent_url(target.named(*target.connect.agent));
}

bool has_agent(const DriverTarget& target) {
  return target.twin ? target.twin->agents : target.connect.agent.said;
}

}  // namespace

Result<std::shared_ptr<AgentNetwork>> AgentNetworks::network_of(const DriverTarget& target) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<AgentNetwork>& network = started_[target.twin ? target.twin->cluster : ""];
  if (network && network->cluster() == target.cluster) return network;
  AgentNetwork::Options options;
  options.cluster = target.cluster;
  options.files = target.twin ? controller_credentials(target.twin->cluster) : own_credentials();
  if (target.twin) options.netns_path = places(target.twin->cluster, kController).netns_path;
  TRY(network, AgentNetwork::start(std::move(options)));
  return network;
}

Result<std::optional<Attached>> AgentNetworks::attach(const DriverTarget& target, std::string_view driver,
                                                      Attached offline) {
  if (!has_agent(target)) return std::optional<Attached>{};
  TRY(AgentEndpoint endpoint, endpoint_of(target));
  TRY(std::shared_ptr<AgentNetwork> network, network_of(target));
  return std::optional<Attached>(
      make_agent_driver(std::move(network), {.agent = {target.device, std::move(endpoint)},
                                             .driver = std::string(driver),
                                             .epoch = target.epoch,
                                             .offline = std::move(offline)}));
}

Result<std::optional<DiscoveredHost>> AgentNetworks::discover(const DriverTarget& target, const Call& call) {
  if (!has_agent(target)) return std::optional<DiscoveredHost>{};
  TRY(AgentEndpoint endpoint, endpoint_of(target));
  TRY(const std::shared_ptr<AgentNetwork> network, network_of(target));
  TRY(DiscoveredHost found, discover_by_agent(*network, {target.device, std::move(endpoint)}, call));
  return std::optional<DiscoveredHost>(std::move(found));
}

}  // namespace lockstep
