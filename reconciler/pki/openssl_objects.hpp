// Objects of OpenSSL with their owner, and the PEM files that they come from. Part of lockstep_pki; its
// callers use authority.hpp.
//
// Contract: no function leaves anything in this thread's error queue, where it would be taken for the reason
// of a later failure.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

struct FreeObject {
  void operator()(X509* one) const { X509_free(one); }
  void operator()(X509_CRL* one) const { X509_CRL_free(one); }
  void operator()(X509_REVOKED* one) const { X509_REVOKED_free(one); }
  void operator()(X509_EXTENSION* one) const { X509_EXTENSION_free(one); }
  void operator()(EVP_PKEY* one) const { EVP_PKEY_free(one); }
  void operator()(BIO* one) const { BIO_free(one); }
  void operator()(BIGNUM* one) const { BN_free(one); }
  void operator()(ASN1_STRING* one) const { ASN1_STRING_free(one); }  // integers and times as well
  void operator()(GENERAL_NAME* one) const { GENERAL_NAME_free(one); }
  void operator()(GENERAL_NAMES* one) const { GENERAL_NAMES_free(one); }
  void operator()(EXTENDED_KEY_USAGE* one) const { EXTENDED_KEY_USAGE_free(one); }
};
template <class T>
using Object = std::unique_ptr<T, FreeObject>;

// The first error in the queue, which is emptied. Refused: "WHAT: the reason".
Error openssl_error(const std::string& what);

// The first object of this type in a PEM file. Errors (denied): there is none, or the file can't be read. A
// key that others may read is refused.
Result<Object<X509>> read_certificate(const std::string& file);
Result<Object<X509_CRL>> read_revocation_list(const std::string& file);
Result<Object<EVP_PKEY>> read_private_key(const std::string& file);

Result<std::string> pem_of(X509* certificate);
Result<std::string> pem_of(X509_CRL* list);
Result<std::string> pem_of(EVP_PKEY* key);

// To the second: certificates without an end have the year 9999 (RFC 5280 4.1.2.5), which nanoseconds can't
// count. None: malformed.
std::optional<std::chrono::sys_seconds> time_of(const ASN1_TIME* time);
// Upper-case hexadecimal digits, as openssl-x509(1) prints them.
std::string serial_text(const ASN1_INTEGER* serial);

}  // namespace lockstep
