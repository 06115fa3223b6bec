// Part of tls.cpp and identity.cpp: the verification of a chain, which keeps the reason of a refusal in
// words.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
using AlternativeNames = std::unique_ptr<GENERAL_NAMES, FreeNames>;

// Of a certificate's or key's text, which others wrote: printable, of bounded length.
std::string one_line(std::string_view text);

// Of OpenSSL's error: whether the other end ended the connection by an alert about this end's certificate.
bool refuses_our_certificate(unsigned long error);

// For SSL_CTX_set_verify: refuses what OpenSSL refuses. SSL_get_verify_result() has a code, without the date
// or the name, and a client that refuses keeps no certificate to read them from.
int keep_verify_reason(int good, X509_STORE_CTX* store);

}  // namespace lockstep
