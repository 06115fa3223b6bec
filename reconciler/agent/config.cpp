#include "reconciler/agent/config.hpp"

#include <algorithm>
#include <filesystem>

#include "specs/files/read_file.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/config_file.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAgentKind = "AgentConfig";

constexpr Field tls_fields[] = {
    field<&AgentTls::ca>("ca", "PEM file with the certificates of the CA that is trusted",
                         {.required = true}),
    field<&AgentTls::certificate>("certificate", "PEM file with the agent's certificate and its chain",
                                  {.required = true}),
    field<&AgentTls::key>("key", "PEM file with its private key, readable by root alone", {.required = true}),
    field<&AgentTls::revoked>("revoked", "PEM file with the CA's certificate revocation list"),
};
constexpr Field twin_fields[] = {
    field<&AgentTwin::id>("id", "the twin's id", {.required = true}),
    field<&AgentTwin::lldp>("lldp", "whether an lldpd runs in the device"),
};
constexpr Field sonic_fields[] = {
    field<&AgentSonic::databases>("databases", "SONiC's database_config.json: where its Redis databases are"),
    field<&AgentSonic::config>("config", "the config_db.json that SONiC's next boot loads"),
    field<&AgentSonic::checkpoints>("checkpoints", "the folder of `config checkpoint`"),
    field<&AgentSonic::models>("models", "the folder of SONiC's YANG models"),
};
constexpr Field agent_fields[] = {
    field<&AgentSpec::cluster>("cluster", "the cluster's name", {.required = true, .form = Form::name}),
    field<&AgentSpec::device>("device", "the name that specs have for this machine", {.form = Form::name}),
    field<&AgentSpec::drivers>("drivers", "the drivers that it serves", {.not_empty = true}),
    field<&AgentSpec::listen>("listen", "ADDRESS:PORT"),
    field<&AgentSpec::tls>("tls", "its credentials, and whom it trusts", {.required = true}),
    field<&AgentSpec::journal>("journal", "the folder of what it must know after a restart"),
    field<&AgentSpec::sonic>("sonic", "where SONiC has its files"),
    field<&AgentSpec::twin>("twin", "a device of a twin on this machine"),
};
constexpr Field agent_document_fields[] = {
    field<&AgentDocument::api_version>("apiVersion", "lockstep.dev/v1alpha1", {.required = true}),
    field<&AgentDocument::kind>("kind", "AgentConfig", {.required = true}),
    field<&AgentDocument::spec>("spec", "who the agent is", {.required = true}),
};

void check_agent_document(const AgentDocument& document, Span, Reporter& reporter) {
  check_config_head(document.api_version, document.kind, kAgentKind, reporter);
}

bool has_sonic(const AgentSpec& spec) {
  return std::ranges::any_of(
      spec.drivers, [](const Said<DriverName>& one) { return one.said && *one == DriverName::sonic; });
}

void check_agent(const AgentSpec& spec, Span, Reporter& reporter) {
  for (const Said<DriverName>& one : spec.drivers)
    if (one.said && *one != DriverName::linux_kernel && *one != DriverName::frr && *one != DriverName::sonic)
      reporter.error(code::bad_name, {one.at, static_cast<std::uint32_t>(to_string(*one).size())},
                     "an agent has no driver " + in_quotes(to_string(*one)), "it has linux, frr and sonic");
  if (spec.sonic.said && !has_sonic(spec))
    reporter.error(code::no_effect, {spec.sonic.at, 1}, "this agent does not have the driver sonic",
                   "write drivers: [sonic], or leave it out");
}

}  // namespace

template <>
const Type& struct_type<AgentTls>() {
  static constexpr Type type = object_type<AgentTls>("an agent's credentials", tls_fields);
  return type;
}
template <>
const Type& struct_type<AgentTwin>() {
  static constexpr Type type = object_type<AgentTwin>("a device of a twin", twin_fields);
  return type;
}
template <>
const Type& struct_type<AgentSonic>() {
  static constexpr Type type = object_type<AgentSonic>("where SONiC has its files", sonic_fields);
  return type;
}
template <>
const Type& struct_type<AgentSpec>() {
  static constexpr Type type =
      object_type<AgentSpec>("an agent's spec", agent_fields, checked<AgentSpec, check_agent>);
  return type;
}
template <>
const Type& struct_type<AgentDocument>() {
  static constexpr Type type = object_type<AgentDocument>("an AgentConfig", agent_document_fields,
                                                          checked<AgentDocument, check_agent_document>);
  return type;
}

namespace agent {
namespace {

std::string beside(const std::string& config, const Said<std::string>& file) {
  return file.said && !file->empty() ? (fs::path(config).parent_path() / *file).string() : "";
}

Config made_of(const std::string& file, const AgentSpec& spec, const std::string& host) {
  Config out{.cluster = *spec.cluster,
             .device = spec.device.or_else(host),
             .drivers = {},
             .listen = spec.listen.or_else("[::]:7443"),
             .tls = {.ca = beside(file, spec.tls->ca),
                     .certificate = beside(file, spec.tls->certificate),
                     .key = beside(file, spec.tls->key),
                     .revoked = beside(file, spec.tls->revoked)},
             .journal = spec.journal.or_else(has_sonic(spec) ? kSonicAgentJournal : kAgentJournal),
             .sonic = {.databases = beside(file, spec.sonic->databases),
                       .config = beside(file, spec.sonic->config),
                       .checkpoints = beside(file, spec.sonic->checkpoints),
                       .models = beside(file, spec.sonic->models)},
             .twin = {}};
  for (const Said<DriverName>& one : spec.drivers) out.drivers.push_back(*one);
  if (out.drivers.empty()) out.drivers.push_back(DriverName::linux_kernel);
  if (spec.twin.said) out.twin = Config::Twin{*spec.twin->id, *spec.twin->lldp};
  return out;
}

}  // namespace

Result<Config> parse_config(const std::string& file, std::string text, const std::string& host) {
  AgentDocument document;
  TRY_DONE(load_config(file, std::move(text), struct_type<AgentDocument>(), &document,
                       {.one = "an agent has one config",
                        .hint = "write apiVersion, kind: AgentConfig and spec (docs/agents.md)"}));
  return made_of(file, *document.spec, host);
}

Result<Config> read_config(const std::string& file, const std::string& host) {
  FileText read = read_named(file, kAgentConfigMax);
  if (!read) return Error{ErrorKind::invalid_spec, read.why};
  return parse_config(file, std::move(read.text), host);
}

}  // namespace agent
}  // namespace lockstep
