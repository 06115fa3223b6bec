#include "drivers/agent/tls_verify.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <optional>
#include <vector>

#include "drivers/agent/tls.hpp"

namespace lockstep {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeStoreContext {
  void operator()(X509_STORE_CTX* store) const { X509_STORE_CTX_free(store); }
};

std::string_view view_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string name_of(const X509_NAME* name) {
  const std::unique_ptr<BIO, FreeBio> out(BIO_new(BIO_s_mem()));
  if (!out || name == nullptr || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253) < 0) return "?";
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return one_line(std::string_view(text, static_cast<std::size_t>(size)));
}

std::string day_of(const std::tm& when) {
  std::array<char, 32> out{};
  const std::size_t size = std::strftime(out.data(), out.size(), "%Y-%m-%d", &when);
  return {out.data(), size};
}

std::string day_of(const ASN1_TIME* time) {
  std::tm when{};
  return time != nullptr && ASN1_TIME_to_tm(time, &when) == 1 ? day_of(when) : "an unknown date";
}

std::time_t time_of(const ASN1_TIME* time) {
  std::tm when{};
  return time != nullptr && ASN1_TIME_to_tm(time, &when) == 1 ? ::timegm(&when) : 0;
}

// Of the newest revocation list of its issuer; the end of time: none is looked at.
std::time_t list_valid_until(const SSL* tls, const X509* certificate) {
  constexpr std::time_t kNever = std::numeric_limits<std::time_t>::max();
  X509_STORE* const store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(tls));
  if ((X509_VERIFY_PARAM_get_flags(X509_STORE_get0_param(store)) & X509_V_FLAG_CRL_CHECK) == 0) return kNever;
  const STACK_OF(X509_OBJECT)* const all = X509_STORE_get0_objects(store);
  std::optional<std::time_t> out;
  for (int i = 0; i < sk_X509_OBJECT_num(all); ++i) {
    const X509_CRL* const list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(all, i));
    if (list == nullptr || X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_issuer_name(certificate)) != 0)
      continue;
    const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list);
    out = std::max(out.value_or(0), next == nullptr ? kNever : time_of(next));
  }
  return out.value_or(kNever);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm when{};
  ::gmtime_r(&now, &when);
  return day_of(when);
}

// The identity that it has, or else its subject; that it is true is known only once the chain is verified.
std::string called(const X509* certificate, int depth) {
  if (certificate == nullptr) return "the certificate";
  if (depth > 0) return "the CA certificate " + name_of(X509_get_subject_name(certificate));
  const auto identity = identity_of(certificate);
  return "the certificate of " + (identity ? identity->text() : name_of(X509_get_subject_name(certificate)));
}

std::string list_of_issuer(const X509* certificate) {
  return "the revocation list (CRL) of " +
         (certificate == nullptr ? "its CA" : name_of(X509_get_issuer_name(certificate)));
}

std::string reason_of(X509_STORE_CTX* store) {
  const X509* const certificate = X509_STORE_CTX_get_current_cert(store);
  const X509_CRL* const list = X509_STORE_CTX_get0_current_crl(store);
  const std::string subject = called(certificate, X509_STORE_CTX_get_error_depth(store));
  const int code = X509_STORE_CTX_get_error(store);
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return subject + " expired on " + day_of(X509_get0_notAfter(certificate)) + "; today is " + today() +
             " by this machine's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return subject + " is not valid before " + day_of(X509_get0_notBefore(certificate)) + "; today is " +
             today() + " by this machine's clock";
    case X509_V_ERR_CERT_REVOKED: return subject + " was revoked";
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      return subject + " can't be checked: " + list_of_issuer(certificate) + " is missing";
    case X509_V_ERR_CRL_HAS_EXPIRED:
      return subject + " can't be checked: " + list_of_issuer(certificate) + " expired on " +
             day_of(list == nullptr ? nullptr : X509_CRL_get0_nextUpdate(list));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
      return subject + " was not signed by our CA" +
             (certificate == nullptr ? "" : ", but by " + name_of(X509_get_issuer_name(certificate)));
    case X509_V_ERR_INVALID_PURPOSE: return subject + " does not allow this use (extended key usage)";
    default: return subject + " is invalid: " + X509_verify_cert_error_string(code);
  }
}

void free_reason(void*, void* reason, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::string*>(reason);
}

int reason_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, free_reason);
  return index;
}

const std::string* kept_reason(const SSL* tls) {
  return static_cast<const std::string*>(SSL_get_ex_data(tls, reason_index()));
}

Error not_accepted(const std::string& why) { return Error{ErrorKind::denied, why}; }

// Its certificate, of a chain that was verified.
Result<const X509*> verified(const SSL* tls) {
  const X509* const certificate = SSL_get0_peer_certificate(tls);
  if (certificate == nullptr) return not_accepted("the other end sent no certificate");
  if (SSL_version(tls) != TLS1_3_VERSION) return not_accepted("the other end does not support TLS 1.3");
  const long code = SSL_get_verify_result(tls);
  if (code != X509_V_OK)
    return not_accepted(kept_reason(tls) != nullptr
                            ? *kept_reason(tls)
                            : called(certificate, 0) + " is invalid: " + X509_verify_cert_error_string(code));
  return certificate;
}

// The list at fault is known only while the verification runs.
int keep_reason_again(int good, X509_STORE_CTX* store) {
  auto* const why = static_cast<std::string*>(X509_STORE_CTX_get_app_data(store));
  if (good != 1 && why->empty()) *why = reason_of(store);
  return good;
}

std::string alternative_names(const X509* certificate) {
  const AlternativeNames names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  constexpr int kShown = 8;
  std::string out;
  const int all = names ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0, shown = 0; i < all && shown < kShown; ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (name->type == GEN_DNS) {
      out += (out.empty() ? "" : ", ") + one_line(view_of(name->d.dNSName));
    } else if (name->type == GEN_IPADD) {
      const int size = ASN1_STRING_length(name->d.iPAddress);
      if (size != 4 && size != 16) continue;
      ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), text.data(),
                  static_cast<socklen_t>(text.size()));
      out += (out.empty() ? "" : ", ") + std::string(text.data());
    } else {
      continue;
    }
    ++shown;
  }
  return out.empty() ? "no host" : out;
}

// A wildcard would let one device answer at the address of another; the subject's CN is no host name
// (RFC 9525 6.2, 6.3).
bool is_for_host(const X509* certificate, const std::string& host) {
  std::array<unsigned char, 16> address{};
  auto* const own = const_cast<X509*>(certificate);  // these two functions change nothing
  if (::inet_pton(AF_INET, host.c_str(), address.data()) == 1)
    return X509_check_ip(own, address.data(), 4, 0) == 1;
  if (::inet_pton(AF_INET6, host.c_str(), address.data()) == 1)
    return X509_check_ip(own, address.data(), 16, 0) == 1;
  return !host.empty() &&
         X509_check_host(own, host.data(), host.size(),
                         X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS, nullptr) == 1;
}

// The alert by which the other end ended the connection (RFC 8446 section 6); none: it sent none.
std::optional<int> alert_of(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  if (ERR_GET_LIB(error) != ERR_LIB_SSL || reason <= SSL_AD_REASON_OFFSET) return std::nullopt;
  return reason - SSL_AD_REASON_OFFSET;
}

bool is_about_our_certificate(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED: return true;
    default: return false;
  }
}

std::string alert_reason(int alert) {
  if (alert == SSL_AD_PROTOCOL_VERSION) return "the other end does not support TLS 1.3";
  if (alert == SSL_AD_CERTIFICATE_REQUIRED) return "the other end requires a certificate";
  const std::string what = SSL_alert_desc_string_long(alert);
  if (!is_about_our_certificate(alert)) return "the other end ended the handshake: " + what;
  // The alert is also that of a certificate that is not valid yet.
  const bool may_be_early = alert == SSL_AD_BAD_CERTIFICATE;
  return "the other end refused our certificate: " + what +
         (may_be_early ? " (not valid yet by the clock there, or as its log says)" : "");
}

std::string subject_of(const PeerIdentity& identity) { return "the certificate of " + identity.text(); }

Result<PeerIdentity> identity_in(const X509* certificate, const std::string& cluster) {
  TRY(PeerIdentity identity, identity_of(certificate));
  if (identity.cluster != cluster)
    return not_accepted(subject_of(identity) + " is for cluster " + identity.cluster + ", not " + cluster);
  return identity;
}

}  // namespace

std::string one_line(std::string_view text) {
  constexpr std::size_t kShown = 200;
  std::string out;
  for (const char c : text.substr(0, kShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kShown ? out + "..." : out;
}

int keep_verify_reason(int good, X509_STORE_CTX* store) {
  if (good == 1) return 1;
  auto* const tls =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (tls == nullptr || kept_reason(tls) != nullptr) return 0;
  auto reason = std::make_unique<std::string>(reason_of(store));
  if (SSL_set_ex_data(tls, reason_index(), reason.get()) == 1) (void)reason.release();
  return 0;
}

Result<Done> verify_agent(SSL* tls, const WantedPeer& wanted) {
  TRY(const X509* const certificate, verified(tls));
  TRY(const PeerIdentity identity, identity_in(certificate, wanted.cluster));
  const std::string subject = subject_of(identity);
  if (identity.role != PeerRole::device) return not_accepted(subject + " is not for a device");
  if (identity.name != wanted.device)
    return not_accepted(subject + " is for device " + identity.name + ", not " + wanted.device);
  if (!is_for_host(certificate, wanted.host))
    return not_accepted(subject + " is for " + alternative_names(certificate) + ", not " + wanted.host);
  return Done{};
}

Result<PeerIdentity> verify_controller(SSL* tls, const std::string& cluster) {
  TRY(const X509* const certificate, verified(tls));
  TRY(PeerIdentity identity, identity_in(certificate, cluster));
  const std::string subject = subject_of(identity);
  if (identity.role == PeerRole::device)
    return not_accepted(subject + " is for a device, not for a controller or reader");
  if (identity.role != PeerRole::controller && identity.role != PeerRole::reader)
    return not_accepted(subject + " is for a service or its users, not for a controller or reader");
  return identity;
}

Result<PeerIdentity> verify_user(SSL* tls, const std::string& cluster) {
  TRY(const X509* const certificate, verified(tls));
  TRY(PeerIdentity identity, identity_in(certificate, cluster));
  const std::string subject = subject_of(identity);
  if (identity.role != PeerRole::viewer && identity.role != PeerRole::operator_ &&
      identity.role != PeerRole::admin)
    return not_accepted(subject + " is not for a viewer, operator or admin");
  return identity;
}

std::time_t valid_until(const SSL* tls) {
  const STACK_OF(X509)* const chain = SSL_get0_verified_chain(tls);
  std::time_t out = std::numeric_limits<std::time_t>::max();
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    const X509* const one = sk_X509_value(chain, i);
    out = std::min({out, time_of(X509_get0_notAfter(one)), list_valid_until(tls, one)});
  }
  return out;
}

Result<Done> verify_again(const SSL* tls, SSL_CTX* by) {
  X509* const certificate = SSL_get0_peer_certificate(tls);
  const std::unique_ptr<X509_STORE_CTX, FreeStoreContext> store(X509_STORE_CTX_new());
  if (certificate == nullptr || !store ||
      X509_STORE_CTX_init(store.get(), SSL_CTX_get_cert_store(by), certificate,
                          SSL_get_peer_cert_chain(tls)) != 1)
    return not_accepted("the other end's certificate can't be verified again");
  // As ssl_verify_cert_chain() of OpenSSL does in a handshake.
  X509_STORE_CTX_set_default(store.get(), SSL_is_server(tls) == 1 ? "ssl_client" : "ssl_server");
  X509_VERIFY_PARAM* const how = X509_STORE_CTX_get0_param(store.get());
  X509_VERIFY_PARAM_set_auth_level(how, SSL_CTX_get_security_level(by));
  X509_VERIFY_PARAM_set1(how, SSL_CTX_get0_param(by));
  std::string why;
  X509_STORE_CTX_set_app_data(store.get(), &why);
  X509_STORE_CTX_set_verify_cb(store.get(), keep_reason_again);
  const bool good = X509_verify_cert(store.get()) == 1;
  ERR_clear_error();
  if (good) return Done{};
  return not_accepted(why.empty() ? called(certificate, 0) + " can't be verified again" : why);
}

bool refuses_our_certificate(unsigned long error) {
  const auto alert = alert_of(error);
  return alert && is_about_our_certificate(*alert);
}

std::string why_handshake_failed(const SSL* tls, unsigned long error) {
  if (const std::string* const reason = kept_reason(tls)) return *reason;
  if (error == 0) error = ERR_peek_error();
  if (error == 0) return "the other end closed the connection during the handshake";
  if (const auto alert = alert_of(error)) return alert_reason(*alert);
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) switch (ERR_GET_REASON(error)) {
      case SSL_R_UNSUPPORTED_PROTOCOL:
      case SSL_R_WRONG_SSL_VERSION: return "the other end does not support TLS 1.3";
      case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return "the other end sent no certificate";
      case SSL_R_HTTP_REQUEST: return "the other end speaks HTTP without TLS";
      case SSL_R_WRONG_VERSION_NUMBER: return "the other end does not speak TLS";
      default: break;
    }
  const char* const text = ERR_reason_error_string(error);
  return text == nullptr ? "TLS error " + std::to_string(error) : "TLS: " + std::string(text);
}

}  // namespace lockstep
