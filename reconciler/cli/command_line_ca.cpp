// The subcommands of the certificate authority.
#include "reconciler/cli/command_arguments.hpp"
#include "reconciler/pki/authority.hpp"

namespace lockstep {
namespace {

void takes_folder(CLI::App* command, std::string& folder) {
  command->add_option("DIR", folder, "Folder of the authority: ca.crt, ca.key and ca.crl")->required();
}

// Each takes one value, so that an argument may follow.
void takes_several(CLI::App* command, const std::string& name, std::vector<std::string>& to,
                   const std::string& label, const std::string& about) {
  command->add_option(name, to, about)->allow_extra_args(false)->option_text(label);
}

void add_issue(CLI::App& ca, Arguments& a) {
  CLI::App* const command =
      add(ca, a, "issue", "Make NAME.crt and NAME.key, for an agent, a service, or a client of them");
  takes_folder(command, a.ca_issue.folder);
  std::map<std::string, PeerRole> roles;
  for (const std::string_view word : kPeerRoles) roles.emplace(word, static_cast<PeerRole>(roles.size()));
  takes_one_of(command, a, "--role", a.ca_issue.role, roles,
               "device: an agent's; controller: may make all calls to agents; reader: those that change "
               "nothing; service: the API of `lockstep serve`; viewer, operator, admin: users of that",
               "ROLE")
      ->required();
  command->add_option("--name", a.ca_issue.name, "Name of the device, service or client")
      ->required()
      ->option_text("NAME");
  takes_several(
      command, "--dns", a.ca_issue.dns, "NAME",
      "Host name at which it is reached (default of a device and a service: its name); may be repeated");
  takes_several(command, "--ip", a.ca_issue.addresses, "ADDRESS",
                "IP address at which it is reached; may be repeated");
  a.ca_issue.days = kCertificateLife.count();
  command->add_option("--days", a.ca_issue.days, "How long it is valid")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{kAuthorityLife.count()}))
      ->capture_default_str();
  takes_text(command, "--out", a.ca_issue.out, "DIR",
             "Folder of both files (default: the authority's); made where it is not there");
  command->add_flag("--renew", a.ca_issue.renew,
                    "Replace both files by new ones; without --dns and --ip, for the same hosts");
  runs(command, a, [&a](const Console& c) { return run_ca_issue(a.ca_issue, c); });
}

}  // namespace

void add_ca_commands(CLI::App& app, Arguments& a) {
  CLI::App* const ca = app.add_subcommand(
      "ca", "A certificate authority for labs and twins, of agents, services and their clients: one folder");
  ca->require_subcommand(1);

  CLI::App* command = add(*ca, a, "init", "Make one: ca.crt, ca.key and an empty ca.crl");
  command->add_option("DIR", a.ca_folder, "Folder of its own; made where it is not there")->required();
  command->add_option("--cluster", a.ca_cluster, "The cluster that its certificates are for")
      ->required()
      ->option_text("NAME");
  runs(command, a, [&a](const Console& c) { return run_ca_init(a.ca_folder, a.ca_cluster, c); });

  add_issue(*ca, a);

  command = add(*ca, a, "revoke", "Add certificates to ca.crl, which is valid for 30 days from then");
  takes_folder(command, a.ca_revoke.folder);
  command->add_option("FILE.crt", a.ca_revoke.files, "Certificates that it issued")->required();
  runs(command, a, [&a](const Console& c) { return run_ca_revoke(a.ca_revoke, c); });

  command = add(*ca, a, "crl", "Renew ca.crl for 30 days");
  takes_folder(command, a.ca_folder);
  runs(command, a, [&a](const Console& c) { return run_ca_crl(a.ca_folder, c); });

  command = add(*ca, a, "show", "What a certificate says: identity, hosts, dates, use, fingerprint");
  command->add_option("FILE", a.ca_file, "A certificate (PEM), of this or of another PKI")->required();
  runs(command, a, [&a](const Console& c) { return run_ca_show(a.ca_file, c); });
}

}  // namespace lockstep
