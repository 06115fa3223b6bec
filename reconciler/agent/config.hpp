// /etc/lockstep/agent.yaml: which device of which cluster lockstep-agent is, where it listens, and its
// credentials.
//
//   apiVersion: lockstep.dev/v1alpha1
//   kind: AgentConfig
//   spec:
//     cluster: rail-pod
//     device: gpu1                  # default: the host name
//     drivers: [linux, frr]         # default: [linux]
//     listen: "[::]:7443"           # the default
//     tls: {ca: ca.crt, certificate: agent.crt, key: agent.key, revoked: ca.crl}   # relative to the file's
//     folder journal: /var/lib/lockstep-agent   # the default
//     # On a SONiC switch, with drivers: [sonic]; the journal is then in /host/lockstep-agent, which outlives
//     # an image. Where SONiC has it elsewhere (the defaults are SONiC's):
//     sonic: {databases: database_config.json, config: config_db.json, checkpoints: FOLDER, models: FOLDER}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/agent/tls.hpp"
#include "specs/language/device_set.hpp"
#include "specs/language/struct_types.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

inline constexpr const char* kAgentConfigFile = "/etc/lockstep/agent.yaml";
inline constexpr std::size_t kAgentConfigMax = 64 << 10;  // bytes; the file has a dozen lines
inline constexpr const char* kAgentJournal = "/var/lib/lockstep-agent";
// What SONiC's images have in common; everything else of the root goes with its image (sonic-buildimage,
// files/initramfs-tools/union-mount.j2).
inline constexpr const char* kSonicAgentJournal = "/host/lockstep-agent";

// The fields as they are written.
struct AgentTls {
  Said<std::string> ca;
  Said<std::string> certificate;
  Said<std::string> key;
  Said<std::string> revoked;
};
struct AgentTwin {
  Said<std::string> id;
  Said<bool> lldp{.value = true};
};
struct AgentSonic {
  Said<std::string> databases;
  Said<std::string> config;
  Said<std::string> checkpoints;
  Said<std::string> models;
};
struct AgentSpec {
  Said<std::string> cluster;
  Said<std::string> device;
  std::vector<Said<DriverName>> drivers;
  Said<std::string> listen;
  Said<AgentTls> tls;
  Said<std::string> journal;
  Said<AgentSonic> sonic;
  Said<AgentTwin> twin;
};
struct AgentDocument {
  Said<std::string> api_version;
  Said<std::string> kind;
  Said<AgentSpec> spec;
};
template <>
const Type& struct_type<AgentTls>();
template <>
const Type& struct_type<AgentTwin>();
template <>
const Type& struct_type<AgentSonic>();
template <>
const Type& struct_type<AgentSpec>();
template <>
const Type& struct_type<AgentDocument>();

namespace agent {

struct Config {
  std::string cluster;
  std::string device;
  std::vector<DriverName> drivers;
  std::string listen;
  TlsFiles tls;  // paths are absolute, or relative to the working directory as the file's own path
  std::string journal;
  // Where SONiC has its files; empty: where it ships them.
  struct Sonic {
    std::string databases{};
    std::string config{};
    std::string checkpoints{};
    std::string models{};
  };
  Sonic sonic{};
  // A device of a twin (`lockstep twin up --agents` writes it).
  struct Twin {
    std::string id;
    bool lldp = true;
  };
  std::optional<Twin> twin;
};

// Errors (invalid_spec): all mistakes, each with file:line:column and a hint, in one text of several lines.
Result<Config> parse_config(const std::string& file, std::string text, const std::string& host);
Result<Config> read_config(const std::string& file, const std::string& host);

}  // namespace agent
}  // namespace lockstep
