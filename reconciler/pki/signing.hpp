// Signed objects made from their contents, in memory. Part of lockstep_pki: authority.cpp decides what they
// contain and where they are stored.
#pragma once

#include <string>
#include <vector>

#include "reconciler/pki/openssl_objects.hpp"

namespace lockstep {

struct CertificateContents {
  std::string common_name;  // for people; shortened to what X.509 allows
  std::vector<std::string> uris;
  std::vector<std::string> dns;
  std::vector<std::string> addresses;
  std::chrono::sys_seconds from{};
  std::chrono::sys_seconds until{};
  bool authority = false;  // of the authority itself
  std::string use{};       // extended key usage; empty: any
};

struct Signer {
  X509* certificate = nullptr;  // none: self-signed
  EVP_PKEY* key = nullptr;
};

Result<Object<EVP_PKEY>> new_private_key();
// Of the holder of `key`, with a random serial number.
Result<Object<X509>> sign_certificate(const CertificateContents& contents, EVP_PKEY* key,
                                      const Signer& signer);

struct RevocationListContents {
  const X509_CRL* former = nullptr;  // its entries and its number go on; none: the first list
  std::vector<const X509*> added;
  std::chrono::sys_seconds revoked_at{};
  std::chrono::sys_seconds from{};
  std::chrono::sys_seconds until{};
};
Result<Object<X509_CRL>> sign_revocation_list(const RevocationListContents& contents, const Signer& signer);
// 0: it has no number.
long number_of(const X509_CRL* list);

}  // namespace lockstep
