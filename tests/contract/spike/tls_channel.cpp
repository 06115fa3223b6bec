#include "tests/contract/spike/tls_channel.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <array>
#include <stdexcept>

#include "drivers/posix/wait.hpp"

namespace lockstep::contract {
namespace {

constexpr std::size_t kLongestLine = 16U << 20U;

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

std::unique_ptr<X509, FreeTls> self_signed(EVP_PKEY* key) {
  std::unique_ptr<X509, FreeTls> out(X509_new());
  require(out != nullptr, "X509_new");
  constexpr long kHour = 3600;
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), kHour);
  X509_NAME* const name = X509_get_subject_name(out.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("device"), -1,
                             -1, 0);
  X509_set_issuer_name(out.get(), name);
  X509_set_pubkey(out.get(), key);
  require(X509_sign(out.get(), key, EVP_sha256()) != 0, "sign the certificate");
  return out;
}

TlsContext context_of(const SSL_METHOD* method) {
  TlsContext out(SSL_CTX_new(method));
  require(out != nullptr, "SSL_CTX_new");
  SSL_CTX_set_min_proto_version(out.get(), TLS1_3_VERSION);
  SSL_CTX_set_mode(out.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return out;
}

std::string words_of_last_error() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_get_error();
  if (code == 0) return "the connection ended";
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

}  // namespace

TlsEnds make_tls_ends() {
  const std::unique_ptr<EVP_PKEY, FreeTls> key(EVP_EC_gen("P-256"));
  require(key != nullptr, "make a key");
  const auto certificate = self_signed(key.get());
  TlsEnds out{context_of(TLS_server_method()), context_of(TLS_client_method())};
  require(SSL_CTX_use_certificate(out.server.get(), certificate.get()) == 1, "use the certificate");
  require(SSL_CTX_use_PrivateKey(out.server.get(), key.get()) == 1, "use the key");
  SSL_CTX_set_verify(out.client.get(), SSL_VERIFY_PEER, nullptr);
  require(X509_STORE_add_cert(SSL_CTX_get_cert_store(out.client.get()), certificate.get()) == 1, "expect it");
  return out;
}

TlsChannel::TlsChannel(SSL_CTX* context, Descriptor socket, End end)
    : socket_(std::move(socket)), connection_(SSL_new(context)) {
  require(connection_ != nullptr, "SSL_new");
  ::fcntl(socket_.number(), F_SETFL, ::fcntl(socket_.number(), F_GETFL) | O_NONBLOCK);
  require(SSL_set_fd(connection_.get(), socket_.number()) == 1, "SSL_set_fd");
  if (end == End::server)
    SSL_set_accept_state(connection_.get());
  else
    SSL_set_connect_state(connection_.get());
}

// A read may have to write first, and a write to read (SSL_get_error(3)): what to wait for is what it says.
template <class Try>
Result<int> TlsChannel::until_done(const Call& call, Try attempt) {
  for (;;) {
    if (auto ended = call.why_ended(std::chrono::steady_clock::now())) return *std::move(ended);
    ERR_clear_error();
    const int done = attempt(connection_.get());
    if (done > 0) return done;
    const int why = SSL_get_error(connection_.get(), done);
    if (why == SSL_ERROR_WANT_READ) {
      TRY_DONE(wait_for(socket_.number(), POLLIN, call));
    } else if (why == SSL_ERROR_WANT_WRITE) {
      TRY_DONE(wait_for(socket_.number(), POLLOUT, call));
    } else {
      const std::string words = words_of_last_error();
      const bool stranger = SSL_get_verify_result(connection_.get()) != X509_V_OK;
      return Error{stranger ? ErrorKind::denied : ErrorKind::transient, words};
    }
  }
}

Result<std::string> TlsChannel::read_line(const Call& call) {
  for (;;) {
    if (const std::size_t end = pending_.find('\n'); end != pending_.npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    if (pending_.size() > kLongestLine) return Error{ErrorKind::refused, "a line does not end"};
    std::array<char, 16384> piece;
    TRY(const int got, until_done(call, [&](SSL* connection) {
          return SSL_read(connection, piece.data(), static_cast<int>(piece.size()));
        }));
    pending_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

Result<Done> TlsChannel::write_line(std::string_view line, const Call& call) {
  return write(std::string(line) + '\n', call);
}

Result<Done> TlsChannel::write(std::string text, const Call& call) {
  while (!text.empty()) {
    TRY(const int put, until_done(call, [&](SSL* connection) {
          return SSL_write(connection, text.data(), static_cast<int>(text.size()));
        }));
    text.erase(0, static_cast<std::size_t>(put));
  }
  return Done{};
}

}  // namespace lockstep::contract
