// An own certificate authority for labs, tests and twins: a folder with ca.crt, ca.key and ca.crl, which
// issues the certificates of agents, services and their clients (drivers/agent/identity.hpp). In production,
// any PKI whose certificates have those names serves.
//
// Contract: no clock is read: times are arguments. All keys are EC P-256, all files PEM; keys are 0600,
// certificates and the revocation list 0644. Nothing is overwritten, except a pair of the same identity on
// request. Files are replaced whole, the key before its certificate; where one can't be written, those before
// it are again as they were. A process that is killed between the two leaves a key without its certificate,
// which the next call reports, or the renewed key beside the former certificate, which nobody accepts as a
// pair and the next renewal replaces. Changes of one authority wait for each other, so that no revocation is
// lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "reconciler/pki/certificate_facts.hpp"

namespace lockstep {

// Of its folder.
inline constexpr const char* kAuthorityCertificate = "ca.crt";
inline constexpr const char* kAuthorityKey = "ca.key";
inline constexpr const char* kAuthorityList = "ca.crl";

inline constexpr std::chrono::days kAuthorityLife{3650};
// Yearly renewal with a month to spare, and what any TLS stack accepts: the CA/Browser Forum's Baseline
// Requirements (6.3.2, until March 2026) advise at most 397 days, and some stacks refuse more than 398.
inline constexpr std::chrono::days kCertificateLife{397};
// A machine whose copy of the list is older trusts nobody: revocations reach it within this time or stop it.
inline constexpr std::chrono::days kListLife{30};
// Certificates and lists are valid from this much before they are made, for machines whose clocks are late.
inline constexpr std::chrono::hours kClockSkew{1};

// Makes the folder (0700), or uses an empty one. Errors: the cluster's name is invalid (invalid_spec); the
// folder has contents (refused), or belongs to another user (denied).
Result<CertificateFacts> make_authority(const std::string& folder, const std::string& cluster,
                                        std::chrono::sys_seconds now);

struct Validity {
  std::chrono::sys_seconds from{};
  std::chrono::sys_seconds until{};
};
// The authority's certificate (PEM) with other dates, and otherwise equal: for tests of what an end does
// whose clock is off. Nothing is written.
Result<std::string> dated_authority(const std::string& folder, const Validity& dates);

struct CertificateRequest {
  PeerRole role = PeerRole::device;
  std::string name;
  // Where its clients find it. None: those of the certificate that is renewed; else the name of a device or
  // service.
  std::vector<std::string> dns{};
  std::vector<std::string> addresses{};
  std::chrono::days life = kCertificateLife;
  std::string out{};   // folder, made (0700) where it is not there; empty: the authority's own
  bool renew = false;  // replace NAME.crt and NAME.key, if they are of the same identity
};
struct IssuedCertificate {
  std::string certificate;  // files
  std::string key;
  CertificateFacts facts;
};
// NAME.crt and NAME.key, of lockstep://CLUSTER/ROLE/NAME with the authority's cluster. Errors: a name is
// invalid, or the certificate would outlive its authority's (invalid_spec); the authority's files are
// missing, unreadable or not a pair, or its key is accessible to others (denied); something is in the way
// (refused).
Result<IssuedCertificate> issue_certificate(const std::string& folder, const CertificateRequest& request,
                                            std::chrono::sys_seconds now);

struct RevokedSerial {
  std::string serial;  // hexadecimal
  std::chrono::sys_seconds at{};
};
struct RevocationList {
  std::string file;
  std::vector<RevokedSerial> revoked;  // all, by serial number
  std::size_t added = 0;               // by this call
  long number = 0;                     // grows with each list
  std::chrono::sys_seconds from{};
  std::chrono::sys_seconds until{};
};
// Adds these certificates (PEM files) to the list, which keeps its entries, and is valid for kListLife from
// now; without certificates it is only renewed. All are added or none. Errors: as above; a certificate that
// this authority did not issue, or its own (refused); the list is missing, unreadable or not its own
// (denied): a new one would forget what was revoked.
Result<RevocationList> revoke_certificates(const std::string& folder, const std::vector<std::string>& files,
                                           std::chrono::sys_seconds now);

}  // namespace lockstep
