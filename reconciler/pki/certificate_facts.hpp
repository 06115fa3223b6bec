// What a certificate says: who it is for, how long, for what use. Also of certificates from another PKI, to
// see whether agents and controllers can use them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "drivers/agent/identity.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct CertificateFacts {
  std::optional<PeerIdentity> identity;
  std::string
      authority_of;     // cluster, of an authority's own certificate; empty: it is none of make_authority()
  std::string problem;  // why it has neither; empty: it has one
  std::vector<std::string> dns;
  std::vector<std::string> addresses;
  std::vector<std::string> uses;  // extended key usage: "serverAuth"; empty: any
  std::chrono::sys_seconds from{};
  std::chrono::sys_seconds until{};
  std::string serial;       // hexadecimal
  std::string issuer;       // "CN=..." (RFC 2253)
  std::string fingerprint;  // "sha256:" and 64 lower-case digits, of the DER form
};

// All texts are as the certificate has them: printable() is the caller's part. Errors (denied): a date or the
// list of names is malformed.
Result<CertificateFacts> facts_of(const X509* certificate);
// Of the first certificate in a PEM file.
Result<CertificateFacts> facts_of_file(const std::string& file);

// "2026-11-21T10:05:26Z".
std::string date_text(std::chrono::sys_seconds at);

}  // namespace lockstep
