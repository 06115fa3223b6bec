#include "reconciler/service/service_config.hpp"

#include <utility>

#include "specs/files/read_file.hpp"
#include "specs/files/secret_file.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/config_file.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kServiceKind = "ServiceConfig";
// As systemd tells the process where they are; no other variable is replaced.
constexpr std::string_view kCredentials = "${CREDENTIALS_DIRECTORY}/";
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

constexpr Field git_fields[] = {
    field<&ServiceGit::repository>("repository",
                                   "https:// or ssh:// address, or absolute path, of the repository",
                                   {.required = true, .form = Form::filled}),
    field<&ServiceGit::branch>("branch", "the branch", {.form = Form::filled, .otherwise = "main"}),
    field<&ServiceGit::tag>("tag", "the tag, instead of a branch", {.form = Form::filled}),
    field<&ServiceGit::commit>("commit", "the commit, instead of a branch", {.form = Form::filled}),
    field<&ServiceGit::path>("path", "the folder of the specs in it", {.form = Form::filled}),
    field<&ServiceGit::username>("username", "over https, with passwordFile", {.form = Form::filled}),
    field<&ServiceGit::password_file>("passwordFile", "file whose first line is the password or token",
                                      {.form = Form::filled}),
    field<&ServiceGit::ca_file>("caFile", "PEM file of the authorities, instead of the system's",
                                {.form = Form::filled}),
    field<&ServiceGit::ssh_key_file>("sshKeyFile", "the private key, over ssh", {.form = Form::filled}),
    field<&ServiceGit::ssh_known_hosts_file>("sshKnownHostsFile", "the server's host keys, over ssh",
                                             {.form = Form::filled}),
    field<&ServiceGit::signers_file>(
        "signersFile", "allowed signers (ssh-keygen(1)): a commit that none of them signed is refused",
        {.form = Form::filled}),
};
constexpr Field tls_fields[] = {
    field<&ServiceTls::ca>("ca", "PEM file of the authorities whose users are accepted", {.required = true}),
    field<&ServiceTls::certificate>("certificate", "PEM file with the service's certificate and its chain",
                                    {.required = true}),
    field<&ServiceTls::key>("key", "PEM file with its private key", {.required = true}),
    field<&ServiceTls::revoked>("revoked", "PEM file with the authorities' certificate revocation list"),
};
constexpr Field webhook_fields[] = {
    field<&ServiceWebhooks::github>("github", "file with the secret that GitHub signs with"),
    field<&ServiceWebhooks::gitlab>("gitlab", "file with the token that GitLab sends"),
    field<&ServiceWebhooks::gitea>("gitea", "file with the secret that Gitea signs with"),
};
constexpr Field api_fields[] = {
    field<&ServiceApiSpec::cluster>("cluster", "the cluster whose users' certificates are accepted",
                                    {.form = Form::name}),
    field<&ServiceApiSpec::listen>("listen", "ADDRESS:PORT, or unix:PATH", {.not_empty = true}),
    field<&ServiceApiSpec::tls>("tls", "its certificate; TCP needs it, but on loopback"),
    field<&ServiceApiSpec::tokens_file>("tokensFile",
                                        "file of tokens: name:role:SHA-256 of the token, one a line"),
    field<&ServiceApiSpec::audit_file>("auditFile", "file to which each action is added"),
    field<&ServiceApiSpec::webhooks>("webhooks", "secrets of the forges that tell of a push"),
};
constexpr Field alert_webhook_fields[] = {
    field<&ServiceAlertWebhook::url>("url", "http:// or https:// address that takes its events",
                                     {.required = true}),
    field<&ServiceAlertWebhook::secret_file>("secretFile", "file with the secret that they are signed with",
                                             {.required = true, .form = Form::filled}),
};
constexpr Field alert_fields[] = {
    field<&ServiceAlertsSpec::alertmanager>("alertmanager", "http:// or https:// addresses of Alertmanagers",
                                            {.not_empty = true}),
    field<&ServiceAlertsSpec::webhook>("webhook", "who is told each opening and end of an alert"),
    field<&ServiceAlertsSpec::ca_file>("caFile", "PEM file of their authorities, instead of the system's",
                                       {.form = Form::filled}),
    field<&ServiceAlertsSpec::after>("after", "how long what may pass by itself must last to be told",
                                     {.least = 0, .most = kDay, .range = "0s to 1d", .otherwise = "30s"}),
};
constexpr Field service_fields[] = {
    field<&ServiceSpec::git>("git", "the repository of the specs"),
    field<&ServiceSpec::folder>("folder", "the folder of the specs, instead of a repository",
                                {.form = Form::filled}),
    field<&ServiceSpec::interval>("interval", "how often the source is looked at",
                                  {.least = kSecond, .most = kDay, .range = "1s to 1d", .otherwise = "60s"}),
    field<&ServiceSpec::resync>(
        "resync", "how often all devices are read",
        {.least = 10 * kSecond, .most = kDay, .range = "10s to 1d", .otherwise = "10m"}),
    field<&ServiceSpec::measure>("measure", "whether benchmarks gate each change"),
    field<&ServiceSpec::strict>("strict", "whether a gate that can't judge fails"),
    field<&ServiceSpec::api>("api", "how people and programs reach it"),
    field<&ServiceSpec::alerts>("alerts", "whom it tells by itself what it needs people for"),
};
constexpr Field document_fields[] = {
    field<&ServiceDocument::api_version>("apiVersion", "lockstep.dev/v1alpha1", {.required = true}),
    field<&ServiceDocument::kind>("kind", "ServiceConfig", {.required = true}),
    field<&ServiceDocument::spec>("spec", "how the service works", {.required = true}),
};

void check_service_document(const ServiceDocument& document, Span, Reporter& reporter) {
  check_config_head(document.api_version, document.kind, kServiceKind, reporter);
}

Span span_of_said(const Said<std::string>& said) {
  return {said.at, static_cast<std::uint32_t>(said->size())};
}

void check_service_git(const ServiceGit& git, Span, Reporter& reporter) {
  const Said<std::string>* first = nullptr;
  for (const Said<std::string>* const one : {&git.branch, &git.tag, &git.commit}) {
    if (!one->said) continue;
    if (first != nullptr)
      reporter.error(code::fields_conflict, span_of_said(*one), "more than one of branch, tag and commit",
                     "write one of them");
    first = one;
  }
}

void check_service(const ServiceSpec& spec, Span whole, Reporter& reporter) {
  if (spec.git.said && spec.folder.said)
    reporter.error(code::fields_conflict, span_of_said(spec.folder), "specs from git and from a folder",
                   "write one of them");
  if (!spec.git.said && !spec.folder.said)
    reporter.error(code::missing_field, whole, "nothing says where the specs are", "write git or folder");
}

void check_service_api(const ServiceApiSpec& spec, Span whole, Reporter& reporter) {
  if (spec.tls.said && !spec.cluster.said)
    reporter.error(code::missing_field, whole, "nothing says which cluster's users are accepted",
                   "write cluster, as their certificates have it: lockstep://CLUSTER/operator/NAME");
}

// The rest is libcurl's to judge.
void check_receiver(const Said<std::string>& url, Reporter& reporter) {
  const std::size_t scheme = url->starts_with("https://") ? 8 : url->starts_with("http://") ? 7 : 0;
  const std::string_view rest = std::string_view(*url).substr(scheme);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (scheme == 0 || host.empty() || url->find_first_of(" \t\r\n") != url->npos)
    reporter.error(code::wrong_type, span_of_said(url), "this is no address of a receiver",
                   "write https://HOST/PATH or http://HOST:PORT");
  else if (host.find('@') != host.npos)
    reporter.error(code::secret_written, span_of_said(url), "credentials are written into the address",
                   "let a proxy beside the service add them");
}

void check_service_alerts(const ServiceAlertsSpec& spec, Span whole, Reporter& reporter) {
  if (spec.alertmanager.empty() && !spec.webhook.said)
    reporter.error(code::missing_field, whole, "nothing says whom to tell", "write alertmanager or webhook");
  for (const Said<std::string>& one : spec.alertmanager) check_receiver(one, reporter);
  if (spec.webhook.said && spec.webhook->url.said) check_receiver(spec.webhook->url, reporter);
}

// The whole path of a file that the config names.
Result<std::string> beside(const std::string& config, const Said<std::string>& file) {
  if (!file.said) return std::string();
  std::string name = *file;
  if (name.starts_with(kCredentials)) {
    if (credentials_folder().empty())
      return Error{ErrorKind::invalid_spec,
                   config + ": " + name +
                       ": this process was given no credentials; the unit's LoadCredential= "
                       "gives them (systemd.exec(5))"};
    name.replace(0, kCredentials.size(), credentials_folder() + "/");
  }
  return file_beside(config, name);
}

Result<GitSettings> git_of(const std::string& file, const ServiceGit& git) {
  GitSettings out;
  out.address = *git.repository;
  if (git.branch.said) out.reference = {GitReference::Kind::branch, *git.branch};
  if (git.tag.said) out.reference = {GitReference::Kind::tag, *git.tag};
  if (git.commit.said) out.reference = {GitReference::Kind::commit, *git.commit};
  out.path = git.path.or_else("");
  out.username = git.username.or_else("");
  TRY(out.password_file, beside(file, git.password_file));
  TRY(out.ca_file, beside(file, git.ca_file));
  TRY(out.ssh_key_file, beside(file, git.ssh_key_file));
  TRY(out.ssh_known_hosts_file, beside(file, git.ssh_known_hosts_file));
  TRY(out.allowed_signers_file, beside(file, git.signers_file));
  return out;
}

Result<ServiceConfig::Api> api_of(const std::string& file, const ServiceApiSpec& spec) {
  ServiceConfig::Api out;
  out.cluster = spec.cluster.or_else("");
  if (!spec.listen.empty()) out.listen.clear();
  for (const Said<std::string>& one : spec.listen) out.listen.push_back(*one);
  if (spec.tls.said) {
    out.tls.emplace();
    TRY(out.tls->ca, beside(file, spec.tls->ca));
    TRY(out.tls->certificate, beside(file, spec.tls->certificate));
    TRY(out.tls->key, beside(file, spec.tls->key));
    TRY(out.tls->revoked, beside(file, spec.tls->revoked));
  }
  TRY(out.tokens, beside(file, spec.tokens_file));
  TRY(out.audit, beside(file, spec.audit_file));
  if (!spec.webhooks.said) return out;
  for (const auto& [forge, secret] :
       {std::pair{"github", &spec.webhooks->github}, std::pair{"gitlab", &spec.webhooks->gitlab},
        std::pair{"gitea", &spec.webhooks->gitea}}) {
    if (!secret->said) continue;
    TRY(out.webhooks[forge], beside(file, *secret));
  }
  return out;
}

Result<ServiceConfig::Alerts> alerts_of(const std::string& file, const ServiceAlertsSpec& spec) {
  ServiceConfig::Alerts out;
  for (const Said<std::string>& one : spec.alertmanager) out.alertmanagers.push_back(*one);
  if (spec.webhook.said) {
    out.webhook = *spec.webhook->url;
    TRY(out.secret, beside(file, spec.webhook->secret_file));
  }
  TRY(out.ca, beside(file, spec.ca_file));
  if (spec.after.said) out.after = std::chrono::ceil<std::chrono::seconds>(*spec.after);
  return out;
}

}  // namespace

template <>
const Type& struct_type<ServiceAlertWebhook>() {
  static constexpr Type type = object_type<ServiceAlertWebhook>("a receiver of alerts", alert_webhook_fields);
  return type;
}
template <>
const Type& struct_type<ServiceAlertsSpec>() {
  static constexpr Type type = object_type<ServiceAlertsSpec>(
      "a service's alerts", alert_fields, checked<ServiceAlertsSpec, check_service_alerts>);
  return type;
}
template <>
const Type& struct_type<ServiceTls>() {
  static constexpr Type type = object_type<ServiceTls>("a service's certificate", tls_fields);
  return type;
}
template <>
const Type& struct_type<ServiceWebhooks>() {
  static constexpr Type type = object_type<ServiceWebhooks>("a service's webhooks", webhook_fields);
  return type;
}
template <>
const Type& struct_type<ServiceApiSpec>() {
  static constexpr Type type =
      object_type<ServiceApiSpec>("a service's API", api_fields, checked<ServiceApiSpec, check_service_api>);
  return type;
}
template <>
const Type& struct_type<ServiceGit>() {
  static constexpr Type type =
      object_type<ServiceGit>("a service's repository", git_fields, checked<ServiceGit, check_service_git>);
  return type;
}
template <>
const Type& struct_type<ServiceSpec>() {
  static constexpr Type type =
      object_type<ServiceSpec>("a service's spec", service_fields, checked<ServiceSpec, check_service>);
  return type;
}
template <>
const Type& struct_type<ServiceDocument>() {
  static constexpr Type type = object_type<ServiceDocument>("a ServiceConfig", document_fields,
                                                            checked<ServiceDocument, check_service_document>);
  return type;
}

Result<ServiceConfig> parse_service_config(const std::string& file, std::string text) {
  ServiceDocument document;
  TRY_DONE(load_config(file, std::move(text), struct_type<ServiceDocument>(), &document,
                       {.one = "a service has one config",
                        .hint = "write apiVersion, kind: ServiceConfig and spec (docs/service.md)"}));
  const ServiceSpec& spec = *document.spec;
  ServiceConfig out;
  if (spec.git.said) {
    TRY(GitSettings git, git_of(file, *spec.git));
    out.git = std::move(git);
  }
  TRY(out.folder, beside(file, spec.folder));
  if (spec.interval.said) out.interval = std::chrono::ceil<std::chrono::seconds>(*spec.interval);
  if (spec.resync.said) out.resync = std::chrono::ceil<std::chrono::seconds>(*spec.resync);
  out.measure = *spec.measure;
  out.strict = spec.strict.or_else(false);
  TRY(out.api, api_of(file, *spec.api));
  if (spec.alerts.said) {
    TRY(out.alerts, alerts_of(file, *spec.alerts));
  }
  return out;
}

Result<ServiceConfig> read_service_config(const std::string& file) {
  FileText read = read_named(file, kServiceConfigMax);
  if (!read) return Error{ErrorKind::invalid_spec, read.why};
  return parse_service_config(file, std::move(read.text));
}

}  // namespace lockstep
