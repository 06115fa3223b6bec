// /etc/lockstep/serve.yaml: where a service's specs come from, and how it works.
//
//   apiVersion: lockstep.dev/v1alpha1
//   kind: ServiceConfig
//   spec:
//     git:                                  # or `folder: /srv/specs`
//       repository: https://git.example.org/fabric.git   # https, ssh, or an absolute path
//       branch: main                        # the default; or `tag`, or `commit`
//       path: pod1                          # the folder of the specs; default: all of the repository
//       username: lockstep
//       passwordFile: ${CREDENTIALS_DIRECTORY}/git-token   # a credential of systemd; other files are
//                                           # relative to this file's folder
//       signersFile: allowed_signers        # ssh-keygen(1): a commit that none of them signed is refused
//     interval: 60s                         # between looks; a webhook or `lockstep reconcile` is at once
//     resync: 10m                           # between reads of all devices
//     measure: true                         # benchmarks gate each change
//     api:
//       cluster: pod1                       # needed with tls: whose users' certificates are accepted
//       listen: ["unix:/run/lockstep/service/api.sock", "[::]:7445"]   # the first is the default
//       tls: {ca: ca.crt, certificate: api.crt, key: api.key, revoked: ca.crl}   # for all but loopback
//       tokensFile: tokens                  # name:role:SHA-256 of the token, one a line
//       auditFile: /var/log/lockstep/audit.jsonl      # default: audit.jsonl beside kept.cbor
//       webhooks: {github: github-secret}   # or gitlab, gitea: files with the secret
//     alerts:                               # what the service itself tells, to whom
//       alertmanager: ["https://alertmanager.example.org"]   # each of them
//       webhook: {url: "https://hooks.example.org/lockstep", secretFile: webhook-secret}
//       caFile: ca.crt                      # of both; default: the system's authorities
//       after: 30s                          # how long what may pass by itself must last
//
// Promises: nothing in the specs' repository changes any of it. Credentials are names of files, never values.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/agent/tls.hpp"
#include "reconciler/source/folder_source.hpp"
#include "reconciler/source/git_source.hpp"
#include "specs/language/struct_types.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

inline constexpr const char* kServiceConfigFile = "/etc/lockstep/serve.yaml";
// Where a service listens, and a client looks for it, if nothing else is said.
inline constexpr const char* kServiceSocket = "unix:/run/lockstep/service/api.sock";
inline constexpr std::size_t kServiceConfigMax = 64 << 10;  // bytes; the file has some twenty lines

// The fields as they are written.
struct ServiceGit {
  Said<std::string> repository;
  Said<std::string> branch;
  Said<std::string> tag;
  Said<std::string> commit;
  Said<std::string> path;
  Said<std::string> username;
  Said<std::string> password_file;
  Said<std::string> ca_file;
  Said<std::string> ssh_key_file;
  Said<std::string> ssh_known_hosts_file;
  Said<std::string> signers_file;
};
struct ServiceTls {
  Said<std::string> ca;
  Said<std::string> certificate;
  Said<std::string> key;
  Said<std::string> revoked;
};
struct ServiceWebhooks {
  Said<std::string> github;
  Said<std::string> gitlab;
  Said<std::string> gitea;
};
struct ServiceApiSpec {
  Said<std::string> cluster;
  std::vector<Said<std::string>> listen;
  Said<ServiceTls> tls;
  Said<std::string> tokens_file;
  Said<std::string> audit_file;
  Said<ServiceWebhooks> webhooks;
};
struct ServiceAlertWebhook {
  Said<std::string> url;
  Said<std::string> secret_file;
};
struct ServiceAlertsSpec {
  std::vector<Said<std::string>> alertmanager;
  Said<ServiceAlertWebhook> webhook;
  Said<std::string> ca_file;
  Said<Duration> after;
};
struct ServiceSpec {
  Said<ServiceGit> git;
  Said<std::string> folder;
  Said<Duration> interval;
  Said<Duration> resync;
  Said<bool> measure{.value = true};
  Said<bool> strict;
  Said<ServiceApiSpec> api;
  Said<ServiceAlertsSpec> alerts;
};
struct ServiceDocument {
  Said<std::string> api_version;
  Said<std::string> kind;
  Said<ServiceSpec> spec;
};
template <>
const Type& struct_type<ServiceGit>();
template <>
const Type& struct_type<ServiceTls>();
template <>
const Type& struct_type<ServiceWebhooks>();
template <>
const Type& struct_type<ServiceApiSpec>();
template <>
const Type& struct_type<ServiceAlertWebhook>();
template <>
const Type& struct_type<ServiceAlertsSpec>();
template <>
const Type& struct_type<ServiceSpec>();
template <>
const Type& struct_type<ServiceDocument>();

struct ServiceConfig {
  std::optional<GitSettings> git{};  // without its cache
  std::string folder{};              // absolute; where `git` is not set
  std::chrono::seconds interval{60};
  std::chrono::seconds resync{600};
  bool measure = true;
  bool strict = false;  // a gate that can't judge fails
  struct Api {
    std::string cluster{};
    std::vector<std::string> listen{kServiceSocket};
    std::optional<TlsFiles> tls{};
    std::string tokens{};                           // file; empty: none
    std::string audit{};                            // file; empty: in the state's folder
    std::map<std::string, std::string> webhooks{};  // file with the secret by "github", "gitlab", "gitea"
  };
  Api api{};
  struct Alerts {
    std::vector<std::string> alertmanagers{};
    std::string webhook{};  // URL; empty: none
    std::string secret{};   // file, of the webhook
    std::string ca{};       // file; empty: the system's
    std::optional<std::chrono::seconds> after{};
  };
  std::optional<Alerts> alerts{};
};

// Errors name file, line and column, and what would be right.
Result<ServiceConfig> parse_service_config(const std::string& file, std::string text);
Result<ServiceConfig> read_service_config(const std::string& file);

}  // namespace lockstep
