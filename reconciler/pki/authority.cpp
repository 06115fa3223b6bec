#include "reconciler/pki/authority.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "reconciler/pki/peer_names.hpp"
#include "reconciler/pki/signing.hpp"
#include "reconciler/pki/stored_files.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/files/file_error.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/files/secret_file.hpp"

namespace lockstep {
namespace {

std::string in(const std::string& folder, const char* file) { return folder + "/" + file; }

// Before the folder is closed to others: it may be one that others use, such as /etc.
Result<Done> check_unused(const std::string& folder) {
  if (file_is_there(in(folder, kAuthorityCertificate)))
    return Error{ErrorKind::refused, folder + " has a certificate authority already"};
  std::error_code failed;
  const std::filesystem::directory_iterator content(folder, failed);
  if (failed == std::errc::no_such_file_or_directory) return Done{};
  if (failed) return file_error(folder, failed.value());
  if (content == std::filesystem::directory_iterator()) return Done{};
  return Error{ErrorKind::refused, folder + " is not empty (" + content->path().filename().string() +
                                       "); a certificate authority needs a folder of its own"};
}

// Released with the descriptor.
Result<Descriptor> lock(const std::string& folder) {
  Descriptor out(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out) return file_error(folder, errno);
  if (::flock(out.number(), LOCK_EX) == 0) return out;
  if (errno == EINTR)
    return Error{ErrorKind::cancelled, folder + ": interrupted while another command uses it"};
  return file_error(folder, errno);
}

struct Authority {
  Object<X509> certificate;
  Object<EVP_PKEY> key;
  std::string cluster;
  std::chrono::sys_seconds until;
  Signer signer() const { return {certificate.get(), key.get()}; }
};

Result<Authority> open_authority(const std::string& folder) {
  const std::string file = in(folder, kAuthorityCertificate);
  Authority out;
  TRY(out.certificate, read_certificate(file));
  TRY(out.key, read_private_key(in(folder, kAuthorityKey)));
  TRY(const CertificateFacts facts, facts_of(out.certificate.get()));
  if (facts.authority_of.empty())
    return Error{ErrorKind::denied,
                 file + ": is no certificate of an authority that \"lockstep ca init\" has made"};
  if (X509_check_private_key(out.certificate.get(), out.key.get()) != 1) {
    ERR_clear_error();
    return Error{ErrorKind::denied,
                 in(folder, kAuthorityKey) + ": is not the key of the certificate in " + file};
  }
  out.cluster = facts.authority_of;
  out.until = facts.until;
  return out;
}

Result<std::string> list_pem(const RevocationListContents& contents, const Signer& signer) {
  TRY(const Object<X509_CRL> list, sign_revocation_list(contents, signer));
  return pem_of(list.get());
}

struct Pair {
  std::string certificate;
  std::string key;
};

Result<Pair> pair_in(const std::string& folder, const std::string& name) {
  TRY(std::string certificate, file_in(folder, name + ".crt"));
  TRY(std::string key, file_in(folder, name + ".key"));
  return Pair{std::move(certificate), std::move(key)};
}

// The certificate that is replaced; none: nothing is there. Only a certificate tells whose key would be lost.
Result<std::optional<CertificateFacts>> replaced(const Pair& pair, const PeerIdentity& identity, bool renew) {
  if (!file_is_there(pair.certificate)) {
    if (!file_is_there(pair.key)) return std::optional<CertificateFacts>{};
    return Error{ErrorKind::refused, pair.key + " is there without its certificate " + pair.certificate +
                                         ", as an interrupted command leaves it; remove it"};
  }
  if (!renew)
    return Error{ErrorKind::refused, pair.certificate + " is there already; run with --renew to replace it"};
  TRY(CertificateFacts facts, facts_of_file(pair.certificate));
  if (facts.identity != identity)
    return Error{ErrorKind::refused,
                 pair.certificate + " is of " +
                     (facts.identity ? facts.identity->text() : "nobody that Lockstep knows") + ", not of " +
                     identity.text() + "; it is left alone"};
  TRY_DONE(check_secret_file(pair.key, "private key"));  // a file that is replaced keeps its mode
  return std::optional<CertificateFacts>(std::move(facts));
}

Result<Done> check_hosts(const CertificateContents& contents) {
  for (const std::string& one : contents.dns) TRY_DONE(check_dns_name(one));
  for (const std::string& one : contents.addresses) TRY_DONE(check_address(one));
  return Done{};
}

Result<Done> check_life(std::chrono::days life, const Authority& authority, std::chrono::sys_seconds now) {
  if (life.count() < 1) return Error{ErrorKind::invalid_spec, "a certificate is valid for at least one day"};
  if (now + life <= authority.until) return Done{};
  const auto left = std::chrono::floor<std::chrono::days>(authority.until - now).count();
  constexpr std::size_t kDate = std::string_view("2026-11-21").size();
  const std::string ends =
      "the authority's own certificate ends on " + date_text(authority.until).substr(0, kDate);
  if (left < 1) return Error{ErrorKind::invalid_spec, ends + "; make a new authority"};
  return Error{ErrorKind::invalid_spec, std::to_string(life.count()) + " days are too long: " + ends +
                                            "; at most " + std::to_string(left) + " days are left"};
}

Result<CertificateContents> contents_of(const CertificateRequest& request, const PeerIdentity& identity,
                                        const std::optional<CertificateFacts>& former,
                                        std::chrono::sys_seconds now) {
  const bool is_server = identity.role == PeerRole::device || identity.role == PeerRole::service;
  CertificateContents out{.common_name = identity.name,
                          .uris = {identity.text()},
                          .dns = request.dns,
                          .addresses = request.addresses,
                          .from = now - kClockSkew,
                          .until = now + request.life,
                          .use = is_server ? "serverAuth" : "clientAuth"};
  if (former && out.dns.empty() && out.addresses.empty()) {
    out.dns = former->dns;
    out.addresses = former->addresses;
  }
  if (is_server && out.dns.empty()) out.dns = {identity.name};
  TRY_DONE(check_hosts(out));
  return out;
}

Result<IssuedCertificate> issue_to(const Pair& pair, const CertificateContents& contents,
                                   const Signer& signer) {
  TRY(const Object<EVP_PKEY> key, new_private_key());
  TRY(const Object<X509> certificate, sign_certificate(contents, key.get(), signer));
  TRY(CertificateFacts facts, facts_of(certificate.get()));
  TRY(std::string key_text, pem_of(key.get()));
  TRY(std::string text, pem_of(certificate.get()));
  TRY_DONE(store_files({{pair.key, std::move(key_text), kPrivateMode}, {pair.certificate, std::move(text)}}));
  return IssuedCertificate{pair.certificate, pair.key, std::move(facts)};
}

// The list as it is, if it is this authority's.
Result<Object<X509_CRL>> own_list(const std::string& file, const Authority& authority) {
  auto list = read_revocation_list(file);
  if (!list)
    return wrap(
        "the revocation list can't be read; restore it from a copy: a new one would forget what was revoked",
        std::move(list.error()));
  if (X509_CRL_verify(list->get(), authority.key.get()) == 1) return list;
  ERR_clear_error();
  return Error{ErrorKind::denied, file + ": was not signed by this authority; restore it from a copy"};
}

bool is_revoked(X509_CRL* list, X509* certificate) {
  X509_REVOKED* entry = nullptr;
  return X509_CRL_get0_by_cert(list, &entry, certificate) == 1;
}

// Those of the files that are not on the list yet, each once.
Result<std::vector<Object<X509>>> to_revoke(const std::vector<std::string>& files, const Authority& authority,
                                            X509_CRL* list) {
  std::vector<Object<X509>> out;
  for (const std::string& file : files) {
    TRY(Object<X509> certificate, read_certificate(file));
    const bool issued = X509_verify(certificate.get(), authority.key.get()) == 1;
    ERR_clear_error();
    if (!issued) return Error{ErrorKind::refused, file + ": was not issued by this authority"};
    if (X509_cmp(certificate.get(), authority.certificate.get()) == 0)
      return Error{ErrorKind::refused, file +
                                           ": is the authority's own certificate; remove it as \"ca\" from "
                                           "agents and controllers instead"};
    bool known = is_revoked(list, certificate.get());
    for (const auto& one : out) known = known || X509_cmp(one.get(), certificate.get()) == 0;
    if (!known) out.push_back(std::move(certificate));
  }
  return out;
}

Result<RevocationList> facts_of_list(const std::string& file, X509_CRL* list, std::size_t added) {
  const auto from = time_of(X509_CRL_get0_lastUpdate(list));
  const auto until = time_of(X509_CRL_get0_nextUpdate(list));
  if (!from || !until) return Error{ErrorKind::denied, file + ": its dates are malformed"};
  RevocationList out{
      .file = file, .revoked = {}, .added = added, .number = number_of(list), .from = *from, .until = *until};
  const STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(list);
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* const one = sk_X509_REVOKED_value(entries, i);
    const auto at = time_of(X509_REVOKED_get0_revocationDate(one));
    out.revoked.push_back(
        {serial_text(X509_REVOKED_get0_serialNumber(one)), at.value_or(std::chrono::sys_seconds{})});
  }
  return out;
}

}  // namespace

Result<CertificateFacts> make_authority(const std::string& folder, const std::string& cluster,
                                        std::chrono::sys_seconds now) {
  TRY_DONE(check_identity({cluster, PeerRole::device, "x"}));
  TRY_DONE(check_unused(folder));
  TRY_DONE(make_private_folder(folder));
  TRY(const Descriptor held, lock(folder));
  TRY_DONE(check_unused(folder));
  const CertificateContents contents{.common_name = "Lockstep CA of " + cluster,
                                     .uris = {authority_uri(cluster)},
                                     .dns = {},
                                     .addresses = {},
                                     .from = now - kClockSkew,
                                     .until = now + kAuthorityLife,
                                     .authority = true};
  TRY(const Object<EVP_PKEY> key, new_private_key());
  TRY(const Object<X509> certificate, sign_certificate(contents, key.get(), {nullptr, key.get()}));
  TRY(CertificateFacts facts, facts_of(certificate.get()));
  TRY(std::string key_text, pem_of(key.get()));
  TRY(std::string list, list_pem({.former = nullptr,
                                  .added = {},
                                  .revoked_at = now,
                                  .from = now - kClockSkew,
                                  .until = now + kListLife},
                                 {certificate.get(), key.get()}));
  TRY(std::string text, pem_of(certificate.get()));
  TRY_DONE(store_files({{in(folder, kAuthorityKey), std::move(key_text), kPrivateMode},
                        {in(folder, kAuthorityList), std::move(list)},
                        {in(folder, kAuthorityCertificate), std::move(text)}}));
  return facts;
}

Result<std::string> dated_authority(const std::string& folder, const Validity& dates) {
  TRY(const Authority authority, open_authority(folder));
  const Object<X509> copy(X509_dup(authority.certificate.get()));
  const auto is_set = [](ASN1_TIME* time, std::chrono::sys_seconds to) {
    return ASN1_TIME_set(time, to.time_since_epoch().count()) != nullptr;
  };
  if (!copy || !is_set(X509_getm_notBefore(copy.get()), dates.from) ||
      !is_set(X509_getm_notAfter(copy.get()), dates.until) ||
      X509_sign(copy.get(), authority.key.get(), EVP_sha256()) <= 0)
    return openssl_error("make a certificate with other dates");
  return pem_of(copy.get());
}

Result<IssuedCertificate> issue_certificate(const std::string& folder, const CertificateRequest& request,
                                            std::chrono::sys_seconds now) {
  TRY(const Descriptor held, lock(folder));
  TRY(const Authority authority, open_authority(folder));
  const PeerIdentity identity{authority.cluster, request.role, request.name};
  TRY_DONE(check_identity(identity));
  TRY_DONE(check_life(request.life, authority, now));
  const std::string& out = request.out.empty() ? folder : request.out;
  TRY(const Pair pair, pair_in(out, request.name));
  TRY(const auto former, replaced(pair, identity, request.renew));
  TRY(const CertificateContents contents, contents_of(request, identity, former, now));
  if (!file_is_there(out)) TRY_DONE(make_private_folder(out));
  return issue_to(pair, contents, authority.signer());
}

Result<RevocationList> revoke_certificates(const std::string& folder, const std::vector<std::string>& files,
                                           std::chrono::sys_seconds now) {
  TRY(const Descriptor held, lock(folder));
  TRY(const Authority authority, open_authority(folder));
  const std::string file = in(folder, kAuthorityList);
  TRY(const Object<X509_CRL> former, own_list(file, authority));
  TRY(const auto certificates, to_revoke(files, authority, former.get()));
  RevocationListContents contents{.former = former.get(),
                                  .added = {},
                                  .revoked_at = now,
                                  .from = now - kClockSkew,
                                  .until = now + kListLife};
  for (const auto& one : certificates) contents.added.push_back(one.get());
  TRY(const Object<X509_CRL> list, sign_revocation_list(contents, authority.signer()));
  TRY(const std::string text, pem_of(list.get()));
  TRY_DONE(replace_file(file, text));
  return facts_of_list(file, list.get(), contents.added.size());
}

}  // namespace lockstep
