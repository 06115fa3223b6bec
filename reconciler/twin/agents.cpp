#include "reconciler/twin/agents.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "reconciler/pki/authority.hpp"
#include "reconciler/twin/management.hpp"
#include "reconciler/twin/places.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

constexpr const char* kControllerName = "lockstep";

std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string authority_file(const TwinPlaces& at, const char* name) { return at.pki + "/" + name; }

std::string agent_config(const TwinRecord& record, const TwinDevice& device) {
  const TwinPlaces twin = twin_places(record.layout.cluster);
  const DevicePlaces at = places(record.layout.cluster, device.name);
  return fmt::format(
      "apiVersion: lockstep.dev/v1alpha1\n"
      "kind: AgentConfig\n"
      "spec:\n"
      "  cluster: \"{}\"\n"
      "  device: \"{}\"\n"
      "  drivers: [{}]\n"
      "  listen: \"[{}]:{}\"\n"
      "  tls: {{ca: \"{}\", certificate: \"{}.crt\", key: \"{}.key\", revoked: \"{}\"}}\n"
      "  journal: \"{}/journal\"\n"
      "  twin: {{id: \"{}\", lldp: {}}}\n",
      record.name, device.name, device.routing ? "linux, frr" : "linux", management_address(device.name),
      kAgentPort, authority_file(twin, kAuthorityCertificate), device.name, device.name,
      authority_file(twin, kAuthorityList), at.agent_dir, record.layout.cluster, record.lldp);
}

}  // namespace

Result<Done> prepare_agent(const TwinRecord& record, const TwinDevice& device) {
  const DevicePlaces at = places(record.layout.cluster, device.name);
  TRY_DONE(make_folder(at.agent_dir, {::geteuid(), 0700}));
  CertificateRequest request{.role = PeerRole::device, .name = device.name};
  request.addresses = {management_address(device.name)};
  request.out = at.agent_dir;
  TRY_DONE(issue_certificate(twin_places(record.layout.cluster).pki, request, now()));
  return replace_file(at.agent_dir + "/agent.yaml", agent_config(record, device), {.mode = 0600});
}

Result<Done> prepare_authority(const TwinRecord& record) {
  const TwinPlaces at = twin_places(record.layout.cluster);
  TRY_DONE(make_folder(at.supervisor_dir + "/agents", {::geteuid(), 0700}));
  if (::access(authority_file(at, kAuthorityCertificate).c_str(), F_OK) == 0) return Done{};
  TRY_DONE(make_authority(at.pki, record.name, now()));
  TRY_DONE(issue_certificate(at.pki, {.role = PeerRole::controller, .name = kControllerName}, now()));
  return Done{};
}

TlsFiles controller_credentials(const std::string& cluster) {
  const TwinPlaces at = twin_places(cluster);
  return {.ca = authority_file(at, kAuthorityCertificate),
          .certificate = at.pki + "/" + kControllerName + ".crt",
          .key = at.pki + "/" + kControllerName + ".key",
          .revoked = authority_file(at, kAuthorityList)};
}

}  // namespace lockstep
