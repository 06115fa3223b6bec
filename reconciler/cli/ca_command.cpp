// `lockstep ca`: an own certificate authority, and what a certificate says.
#include <chrono>
#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/pki/authority.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

std::chrono::sys_seconds time_now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string role_of(const CertificateFacts& facts) {
  if (!facts.identity) return facts.authority_of.empty() ? "" : "authority";
  return std::string(kPeerRoles.at(static_cast<std::size_t>(facts.identity->role)));
}

std::string state_of(const CertificateFacts& facts) {
  const auto now = time_now();
  return now < facts.from ? "notYetValid" : now > facts.until ? "expired" : "valid";
}

std::string state_text(const CertificateFacts& facts) {
  const std::string state = state_of(facts);
  return state == "notYetValid" ? "not yet valid" : state;
}

std::string listed(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : ", ") + one;
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json certificate_json(const std::string& file, const CertificateFacts& facts) {
  const auto& identity = facts.identity;
  Json out{{"kind", "Certificate"},
           {"file", file},
           {"identity", identity ? Json(identity->text()) : Json()},
           {"cluster", text_or_null(identity ? identity->cluster : facts.authority_of)},
           {"role", text_or_null(role_of(facts))},
           {"name", identity ? Json(identity->name) : Json()},
           {"dns", facts.dns},
           {"addresses", facts.addresses},
           {"uses", facts.uses},
           {"notBefore", date_text(facts.from)},
           {"notAfter", date_text(facts.until)},
           {"state", state_of(facts)},
           {"serial", facts.serial},
           {"issuer", facts.issuer},
           {"fingerprint", facts.fingerprint}};
  if (!facts.problem.empty()) out["problem"] = facts.problem;
  return out;
}

// Fingerprints and names are compared and copied: they are never shortened.
std::string rows_of(const std::vector<std::pair<const char*, std::string>>& rows, const Console& console) {
  Table table({{"field"}, {"says"}});
  for (const auto& [field, text] : rows)
    if (!text.empty()) table.add({field, text});
  return table.rows(console.out().whole(), "  ");
}

// `key`: its file, where it is known.
std::string certificate_text(const std::string& file, const std::string& key, const CertificateFacts& facts,
                             const Console& console) {
  std::string title = printable(file);
  if (facts.identity) title = facts.identity->text();
  if (!facts.authority_of.empty()) title = "authority of cluster " + facts.authority_of;
  std::string out = console.out().paint(Ink::bold, title) + "\n";
  if (!facts.problem.empty())
    out += console.out().paint(Ink::yellow, facts.problem) + ": no agent and no controller accepts it\n";
  return out + rows_of({{"file", file},
                        {"key", key},
                        {"role", role_of(facts)},
                        {"DNS names", listed(facts.dns)},
                        {"IP addresses", listed(facts.addresses)},
                        {"use", listed(facts.uses)},
                        {"not before", date_text(facts.from)},
                        {"not after", date_text(facts.until)},
                        {"state", state_text(facts)},
                        {"serial number", facts.serial},
                        {"issuer", facts.issuer},
                        {"fingerprint", facts.fingerprint}},
                       console);
}

// Without files, the list is renewed.
int revoke(const std::string& folder, const std::vector<std::string>& files, const Console& console) {
  const Result<RevocationList> list = revoke_certificates(folder, files, time_now());
  if (!list) return console.fail(list.error());
  if (!console.is_text()) {
    Json revoked = Json::array();
    for (const RevokedSerial& one : list->revoked)
      revoked.push_back({{"serial", one.serial}, {"at", date_text(one.at)}});
    console.print_document({{"kind", "RevocationList"},
                            {"file", list->file},
                            {"number", list->number},
                            {"added", list->added},
                            {"thisUpdate", date_text(list->from)},
                            {"nextUpdate", date_text(list->until)},
                            {"revoked", std::move(revoked)}});
    return kExitInSync;
  }
  console.print(
      compose("{}: {} added, {} in all\n", list->file, counted(list->added, "certificate"),
              list->revoked.size()) +
      compose("Copy it to agents and controllers: with this list they accept nobody after {}. Run \"lockstep "
              "ca crl {}\" before then.\n",
              date_text(list->until), folder));
  return kExitInSync;
}

}  // namespace

int run_ca_init(const std::string& folder, const std::string& cluster, const Console& console) {
  const Result<CertificateFacts> made = make_authority(folder, cluster, time_now());
  if (!made) return console.fail(made.error());
  const std::string certificate = folder + "/" + kAuthorityCertificate;
  const std::string key = folder + "/" + kAuthorityKey;
  const std::string list = folder + "/" + kAuthorityList;
  if (!console.is_text()) {
    console.print_document({{"kind", "CertificateAuthority"},
                            {"cluster", cluster},
                            {"certificate", certificate},
                            {"key", key},
                            {"revocationList", list},
                            {"notBefore", date_text(made->from)},
                            {"notAfter", date_text(made->until)},
                            {"fingerprint", made->fingerprint}});
    return kExitInSync;
  }
  console.print(console.out().paint(Ink::bold, "authority of cluster " + cluster) + "\n" +
                rows_of({{"certificate", certificate},
                         {"key", key},
                         {"revocation list", list},
                         {"not after", date_text(made->until)},
                         {"fingerprint", made->fingerprint}},
                        console) +
                "Whoever has the key can be any device, controller, user and service of this cluster.\n");
  return kExitInSync;
}

int run_ca_issue(const CaIssueOptions& options, const Console& console) {
  const CertificateRequest request{.role = options.role,
                                   .name = options.name,
                                   .dns = options.dns,
                                   .addresses = options.addresses,
                                   .life = std::chrono::days(options.days),
                                   .out = options.out,
                                   .renew = options.renew};
  const Result<IssuedCertificate> issued = issue_certificate(options.folder, request, time_now());
  if (!issued) return console.fail(issued.error());
  if (console.is_text()) {
    console.print(certificate_text(issued->certificate, issued->key, issued->facts, console));
  } else {
    Json document = certificate_json(issued->certificate, issued->facts);
    document["key"] = issued->key;
    console.print_document(document);
  }
  return kExitInSync;
}

int run_ca_revoke(const CaRevokeOptions& options, const Console& console) {
  return revoke(options.folder, options.files, console);
}

int run_ca_crl(const std::string& folder, const Console& console) { return revoke(folder, {}, console); }

int run_ca_show(const std::string& file, const Console& console) {
  const Result<CertificateFacts> facts = facts_of_file(file);
  if (!facts) return console.fail(facts.error());
  if (console.is_text())
    console.print(certificate_text(file, "", *facts, console));
  else
    console.print_document(certificate_json(file, *facts));
  return kExitInSync;
}

}  // namespace lockstep
