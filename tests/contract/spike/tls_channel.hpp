// A spike, linked by tests only: lines of text over TLS 1.3 on a socket that never blocks.
//
// Promises: every wait ends with its call (drivers/posix/wait.hpp). A line that does not end within 16 MiB is
// refused. Refuses: TLS 1.2 and older; a server with another certificate than the one that is expected.
// Writes to a socket whose far end has gone raise SIGPIPE (OpenSSL calls write(2)): the process must ignore
// it.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "drivers/posix/call.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep::contract {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;

// Both ends, with a key and a self-signed certificate that are made now and that the client expects.
struct TlsEnds {
  TlsContext server;
  TlsContext client;
};
TlsEnds make_tls_ends();

class TlsChannel {
 public:
  enum class End : bool { server, client };
  TlsChannel(SSL_CTX* context, Descriptor socket, End end);

  // The handshake is part of the first of either.
  Result<std::string> read_line(const Call& call);
  Result<Done> write_line(std::string_view line, const Call& call);
  Result<Done> write(std::string text, const Call& call);
  int descriptor() const { return socket_.number(); }

 private:
  template <class Try>
  Result<int> until_done(const Call& call, Try attempt);

  Descriptor socket_;
  std::unique_ptr<SSL, FreeTls> connection_;
  std::string pending_;
};

}  // namespace lockstep::contract
