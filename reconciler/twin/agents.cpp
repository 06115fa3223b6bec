#include "reconciler/twin/agents.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "reconciler/pki/authority.hpp"
#include "reconciler/twin/management.hpp"
#include "reconciler/twin/places.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

constexpr const char* kControllerName = "lockstep";
constexpr std::size_t kCertificateMax = std::size_t{64} << 10;  // one certificate: about 1 KiB
constexpr std::chrono::days kOffBy{
    1};  // chosen: far beyond what clocks differ by while they are synchronized

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
      kAgentPort, at.agent_dir + "/" + kAuthorityCertificate, device.name, device.name,
      authority_file(twin, kAuthorityList), at.agent_dir, record.layout.cluster, record.lldp);
}

std::string certificate_of(const std::string& cluster, const std::string& device) {
  return places(cluster, device).agent_dir + "/" + device + ".crt";
}

bool is_there(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

// A random UUID (RFC 4122) in the kernel's form: 36 characters.
Result<std::string> random_uuid() {
  constexpr std::size_t kUuid = 36;
  const FileText read = read_named("/proc/sys/kernel/random/uuid", kUuid + 1);
  if (!read || read.text.size() < kUuid) return Error{ErrorKind::refused, "make a UUID: " + read.why};
  return read.text.substr(0, kUuid);
}

// A boot id that is new with each namespace, and a machine id that stays (machine-id(5): without dashes).
Result<Done> prepare_ids(const std::string& folder) {
  TRY(const std::string boot, random_uuid());
  TRY_DONE(replace_file(folder + "/" + kBootIdFile, boot + "\n"));
  const std::string machine_file = folder + "/" + kMachineIdFile;
  if (is_there(machine_file)) return Done{};
  TRY(std::string machine, random_uuid());
  std::erase(machine, '-');
  return replace_file(machine_file, machine + "\n");
}

}  // namespace

Result<Done> prepare_agent(const TwinRecord& record, const TwinDevice& device) {
  const std::string& cluster = record.layout.cluster;
  const DevicePlaces at = places(cluster, device.name);
  TRY_DONE(make_folder(at.agent_dir, {::geteuid(), 0700}));
  TRY_DONE(issue_agent_certificate(cluster, device.name));
  TRY_DONE(set_authority_dates(cluster, device.name, AuthorityDates::as_made));
  TRY_DONE(prepare_ids(at.agent_dir));
  return replace_file(at.agent_dir + "/agent.yaml", agent_config(record, device), {.mode = 0600});
}

Result<Done> issue_agent_certificate(const std::string& cluster, const std::string& device) {
  CertificateRequest request{.role = PeerRole::device, .name = device};
  request.addresses = {management_address(device)};
  request.out = places(cluster, device).agent_dir;
  request.renew = is_there(certificate_of(cluster, device));
  TRY_DONE(issue_certificate(twin_places(cluster).pki, request, now()));
  return Done{};
}

Result<Done> revoke_agent_certificate(const std::string& cluster, const std::string& device) {
  TRY_DONE(revoke_certificates(twin_places(cluster).pki, {certificate_of(cluster, device)}, now()));
  return Done{};
}

Result<Done> set_authority_dates(const std::string& cluster, const std::string& device,
                                 AuthorityDates dates) {
  const std::string own = places(cluster, device).agent_dir + "/" + kAuthorityCertificate;
  const std::string pki = twin_places(cluster).pki;
  if (dates == AuthorityDates::as_made) {
    const FileText made = read_named(pki + "/" + kAuthorityCertificate, kCertificateMax);
    if (!made) return Error{ErrorKind::refused, pki + ": " + made.why};
    return replace_file(own, made.text);
  }
  const bool later = dates == AuthorityDates::not_yet_valid;
  TRY(const std::string text, dated_authority(pki, later ? Validity{now() + kOffBy, now() + kAuthorityLife}
                                                         : Validity{now() - kAuthorityLife, now() - kOffBy}));
  return replace_file(own, text);
}

Result<Done> prepare_authority(const TwinRecord& record) {
  const TwinPlaces at = twin_places(record.layout.cluster);
  TRY_DONE(make_folder(at.supervisor_dir + "/agents", {::geteuid(), 0700}));
  if (is_there(authority_file(at, kAuthorityCertificate))) return Done{};
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
