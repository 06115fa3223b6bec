#include "reconciler/pki/certificate_facts.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <array>
#include <cstdio>
#include <ctime>

#include "reconciler/pki/openssl_objects.hpp"
#include "reconciler/pki/peer_names.hpp"

namespace lockstep {
namespace {

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const int size = ASN1_STRING_length(address);
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (size != 4 && size != 16) return "malformed";
  ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), out.data(),
              static_cast<socklen_t>(out.size()));
  return out.data();
}

// `uris`: those of the certificate.
Result<Done> read_names(const X509* certificate, CertificateFacts& out, std::vector<std::string>& uris) {
  int found = 0;
  const Object<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, &found, nullptr)));
  ERR_clear_error();
  if (!names && found != -1)
    return Error{ErrorKind::denied, "the certificate's alternative names are malformed"};
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) out.dns.push_back(text_of(name->d.dNSName));
    if (name->type == GEN_IPADD) out.addresses.push_back(address_text(name->d.iPAddress));
    if (name->type == GEN_URI) uris.push_back(text_of(name->d.uniformResourceIdentifier));
  }
  return Done{};
}

std::vector<std::string> uses_of(const X509* certificate) {
  std::vector<std::string> out;
  const Object<EXTENDED_KEY_USAGE> uses(
      static_cast<EXTENDED_KEY_USAGE*>(X509_get_ext_d2i(certificate, NID_ext_key_usage, nullptr, nullptr)));
  for (int i = 0; uses && i < sk_ASN1_OBJECT_num(uses.get()); ++i) {
    const ASN1_OBJECT* const use = sk_ASN1_OBJECT_value(uses.get(), i);
    std::array<char, 80> number{};  // the longest in use are some 50 characters
    OBJ_obj2txt(number.data(), static_cast<int>(number.size()), use, 1);
    const int known = OBJ_obj2nid(use);
    out.emplace_back(known == NID_undef ? number.data() : OBJ_nid2sn(known));
  }
  ERR_clear_error();
  return out;
}

std::string distinguished_name(const X509_NAME* name) {
  const Object<BIO> out(BIO_new(BIO_s_mem()));
  if (!out || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253) < 0) return "";
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return "";
  std::string out = "sha256:";
  for (unsigned int i = 0; i < size; ++i) {
    std::array<char, 3> digits{};
    (void)std::snprintf(digits.data(), digits.size(), "%02x", digest.at(i));
    out += digits.data();
  }
  return out;
}

}  // namespace

Result<CertificateFacts> facts_of(const X509* certificate) {
  CertificateFacts out;
  std::vector<std::string> uris;
  TRY_DONE(read_names(certificate, out, uris));
  const auto from = time_of(X509_get0_notBefore(certificate));
  const auto until = time_of(X509_get0_notAfter(certificate));
  if (!from || !until) return Error{ErrorKind::denied, "the certificate's dates are malformed"};
  out.from = *from;
  out.until = *until;
  out.uses = uses_of(certificate);
  out.serial = serial_text(X509_get0_serialNumber(certificate));
  out.issuer = distinguished_name(X509_get_issuer_name(certificate));
  out.fingerprint = fingerprint_of(certificate);
  const bool authority = X509_check_ca(const_cast<X509*>(certificate)) == 1;  // changes only what it caches
  if (authority && uris.size() == 1) out.authority_of = cluster_of_authority(uris.front());
  if (!out.authority_of.empty()) return out;
  auto identity = identity_of(certificate);
  ERR_clear_error();
  if (identity)
    out.identity = *std::move(identity);
  else
    out.problem = identity.error().what;
  return out;
}

Result<CertificateFacts> facts_of_file(const std::string& file) {
  TRY(const Object<X509> certificate, read_certificate(file));
  auto out = facts_of(certificate.get());
  if (!out) return wrap(file, std::move(out.error()));
  return out;
}

std::string date_text(std::chrono::sys_seconds at) {
  const std::time_t seconds = at.time_since_epoch().count();
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> out{};
  const std::size_t size = std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {out.data(), size};
}

}  // namespace lockstep
