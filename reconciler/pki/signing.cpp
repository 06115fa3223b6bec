#include "reconciler/pki/signing.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "reconciler/pki/peer_names.hpp"

namespace lockstep {
namespace {

constexpr long kVersion3 = 2;            // of certificates (RFC 5280 4.1.2.1)
constexpr long kListVersion2 = 1;        // of revocation lists (5.1.2.1)
constexpr int kSerialBits = 128;         // at most 20 octets, at least 64 random bits (RFC 5280 4.1.2.2)
constexpr std::size_t kCommonName = 64;  // ub-common-name (RFC 5280 A.1)

std::string common_name(const std::string& wanted) {
  if (wanted.size() <= kCommonName) return wanted;
  return wanted.substr(0, kCommonName - 3) + "...";
}

std::time_t seconds(std::chrono::sys_seconds at) { return at.time_since_epoch().count(); }

bool set_serial(X509* certificate) {
  const Object<BIGNUM> number(BN_new());
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_name(GENERAL_NAMES* names, int kind, const std::string& bytes) {
  Object<GENERAL_NAME> name(GENERAL_NAME_new());
  ASN1_STRING* const text = ASN1_STRING_type_new(kind == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
  if (!name || text == nullptr || ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size())) != 1) {
    ASN1_STRING_free(text);
    return false;
  }
  GENERAL_NAME_set0_value(name.get(), kind, text);
  if (sk_GENERAL_NAME_push(names, name.get()) <= 0) return false;
  (void)name.release();
  return true;
}

bool add_names(X509* certificate, const CertificateContents& contents) {
  const Object<GENERAL_NAMES> names(GENERAL_NAMES_new());
  bool good = names != nullptr;
  for (const std::string& one : contents.uris) good = good && add_name(names.get(), GEN_URI, one);
  for (const std::string& one : contents.dns) good = good && add_name(names.get(), GEN_DNS, one);
  for (const std::string& one : contents.addresses)
    good = good && add_name(names.get(), GEN_IPADD, address_bytes(one));
  return good && X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

// `issuer` and `subject` are what "hash" and "keyid" refer to.
Object<X509_EXTENSION> extension(int nid, const char* value, X509* issuer, X509* subject) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, subject, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  return Object<X509_EXTENSION>(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
}

bool add_extensions(X509* certificate, const CertificateContents& contents, X509* issuer) {
  struct Wanted {
    int nid;
    const char* value;
  };
  std::vector<Wanted> wanted;
  if (contents.authority) {
    wanted = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
              {NID_key_usage, "critical,keyCertSign,cRLSign"},
              {NID_subject_key_identifier, "hash"}};
  } else {
    wanted = {{NID_basic_constraints, "critical,CA:FALSE"},
              {NID_key_usage, "critical,digitalSignature"},
              {NID_subject_key_identifier, "hash"},
              {NID_authority_key_identifier, "keyid:always"}};
  }
  if (!contents.use.empty()) wanted.push_back({NID_ext_key_usage, contents.use.c_str()});
  for (const Wanted& one : wanted) {
    const auto made = extension(one.nid, one.value, issuer, certificate);
    if (!made || X509_add_ext(certificate, made.get(), -1) != 1) return false;
  }
  return add_names(certificate, contents);
}

bool fill(X509* certificate, const CertificateContents& contents, EVP_PKEY* key, const Signer& signer) {
  const std::string name = common_name(contents.common_name);
  X509* const issuer = signer.certificate == nullptr ? certificate : signer.certificate;
  return X509_set_version(certificate, kVersion3) == 1 && set_serial(certificate) &&
         ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(contents.from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(contents.until)) != nullptr &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
         add_extensions(certificate, contents, issuer) &&
         X509_sign(certificate, signer.key, EVP_sha256()) > 0;
}

bool add_revoked(X509_CRL* list, const ASN1_INTEGER* serial, const ASN1_TIME* at) {
  Object<X509_REVOKED> one(X509_REVOKED_new());
  // The two setters copy what they get, and take it as not const.
  if (!one || X509_REVOKED_set_serialNumber(one.get(), const_cast<ASN1_INTEGER*>(serial)) != 1 ||
      X509_REVOKED_set_revocationDate(one.get(), const_cast<ASN1_TIME*>(at)) != 1 ||
      X509_CRL_add0_revoked(list, one.get()) != 1)
    return false;
  (void)one.release();
  return true;
}

bool add_former(X509_CRL* list, const X509_CRL* former) {
  if (former == nullptr) return true;
  const STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(const_cast<X509_CRL*>(former));
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    Object<X509_REVOKED> copy(X509_REVOKED_dup(sk_X509_REVOKED_value(entries, i)));
    if (!copy || X509_CRL_add0_revoked(list, copy.get()) != 1) return false;
    (void)copy.release();
  }
  return true;
}

bool add_list_extensions(X509_CRL* list, long number, X509* issuer) {
  const Object<ASN1_INTEGER> text(ASN1_INTEGER_new());
  const auto key = extension(NID_authority_key_identifier, "keyid:always", issuer, nullptr);
  return text && key && ASN1_INTEGER_set(text.get(), number) == 1 &&
         X509_CRL_add1_ext_i2d(list, NID_crl_number, text.get(), 0, 0) == 1 &&
         X509_CRL_add_ext(list, key.get(), -1) == 1;
}

bool fill(X509_CRL* list, const RevocationListContents& contents, const Signer& signer) {
  const Object<ASN1_TIME> revoked(ASN1_TIME_set(nullptr, seconds(contents.revoked_at)));
  const Object<ASN1_TIME> from(ASN1_TIME_set(nullptr, seconds(contents.from)));
  const Object<ASN1_TIME> until(ASN1_TIME_set(nullptr, seconds(contents.until)));
  const long number = contents.former == nullptr ? 1 : number_of(contents.former) + 1;
  bool good = revoked && from && until && X509_CRL_set_version(list, kListVersion2) == 1 &&
              X509_CRL_set_issuer_name(list, X509_get_subject_name(signer.certificate)) == 1 &&
              X509_CRL_set1_lastUpdate(list, from.get()) == 1 &&
              X509_CRL_set1_nextUpdate(list, until.get()) == 1 && add_former(list, contents.former);
  for (const X509* const one : contents.added)
    good = good && add_revoked(list, X509_get0_serialNumber(one), revoked.get());
  return good && add_list_extensions(list, number, signer.certificate) && X509_CRL_sort(list) == 1 &&
         X509_CRL_sign(list, signer.key, EVP_sha256()) > 0;
}

}  // namespace

Result<Object<EVP_PKEY>> new_private_key() {
  ERR_clear_error();
  Object<EVP_PKEY> out(EVP_EC_gen("P-256"));
  if (!out) return openssl_error("no new private key");
  return out;
}

Result<Object<X509>> sign_certificate(const CertificateContents& contents, EVP_PKEY* key,
                                      const Signer& signer) {
  ERR_clear_error();
  Object<X509> out(X509_new());
  if (!out || !fill(out.get(), contents, key, signer)) return openssl_error("can't sign a certificate");
  return out;
}

Result<Object<X509_CRL>> sign_revocation_list(const RevocationListContents& contents, const Signer& signer) {
  ERR_clear_error();
  Object<X509_CRL> out(X509_CRL_new());
  if (!out || !fill(out.get(), contents, signer)) return openssl_error("can't sign a revocation list");
  return out;
}

long number_of(const X509_CRL* list) {
  const Object<ASN1_INTEGER> number(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(list, NID_crl_number, nullptr, nullptr)));
  ERR_clear_error();
  const long out = number ? ASN1_INTEGER_get(number.get()) : 0;
  return out < 0 ? 0 : out;
}

}  // namespace lockstep
