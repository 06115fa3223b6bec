// TLS between controllers and agents: version 1.3 only, both ends with certificates of one own CA.
//
// Contract: neither end sends a byte of a call before it has verified the other's chain, dates and revocation
// (a CRL, where one is configured), and its identity: for a controller that dials, the cluster, the role
// device and the name of exactly the device that it wants, and the host name or address that it dialled; for
// an agent, its own cluster and the role controller or reader. A refusal names what is wrong, in words
// (`expired on 2026-11-01`, `is for device gpu2, not gpu1`), on the side that refuses. Files are read again
// when they change, so that renewed certificates and new revocations need no restart.
#pragma once

#include <openssl/ssl.h>

#include <ctime>
#include <memory>
#include <string>

#include "drivers/agent/identity.hpp"

namespace lockstep {

// PEM files.
struct TlsFiles {
  std::string ca;           // who is believed
  std::string certificate;  // our own, with its chain
  std::string key;          // its private key; readable by its owner alone
  std::string revoked;      // CRL of that CA; empty: none
};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeContext>;

// A context for one end; connections made with SSL_new() keep it alive. Sessions are never resumed: a resumed
// one would skip verification. Errors (denied): a file is missing, unreadable, no certificate, or the key is
// not that of the certificate; a key that others may read.
Result<TlsContext> tls_context(const TlsFiles& files, bool server);

// When any of the files changed last, by modification times and sizes: a context of another stamp is stale.
std::string stamp_of(const TlsFiles& files);

// Whom a controller wants to reach.
struct WantedPeer {
  std::string cluster;
  std::string device;
  std::string host;  // DNS name or address that was dialled: in the certificate's SANs as well
};
// Why a finished handshake is refused, for the client: chain, dates, revocation, host and identity. Done: it
// is the wanted peer.
Result<Done> verify_agent(SSL* tls, const WantedPeer& wanted);
// For the agent: who calls. Errors (denied): as above, another cluster, or a device's certificate.
Result<PeerIdentity> verify_controller(SSL* tls, const std::string& cluster);
// For the service: which user calls. Errors (denied): as above, another cluster, or no user's certificate.
Result<PeerIdentity> verify_user(SSL* tls, const std::string& cluster);

// Of a peer that was verified: until when that holds. The first time at which a certificate of its chain, or
// the revocation list of one's issuer, expires.
std::time_t valid_until(const SSL* tls);
// Whether it would be verified now, by a context of other files than at the handshake, say. Errors (denied):
// why not.
Result<Done> verify_again(const SSL* tls, SSL_CTX* by);

// Why the handshake itself failed, from the connection's verification and `error`, an OpenSSL error code; 0:
// the first of this thread's error queue. Asio takes that one out of the queue: pass its error_code's value
// where its category is boost::asio::error::get_ssl_category(). "the other end refused our certificate:
// certificate expired" for an alert.
std::string why_handshake_failed(const SSL* tls, unsigned long error = 0);

}  // namespace lockstep
