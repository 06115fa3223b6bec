#include "tests/unit/agent/server_test_client.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace lockstep {
namespace {

constexpr std::chrono::seconds kClientPatience{20};  // a machine under load; reached only where a test fails

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), &out.sin_addr), 1) << text;
  return out;
}

std::string openssl_failure() {
  const unsigned long code = ERR_peek_error();
  const char* const text = ERR_reason_error_string(code);
  ERR_clear_error();
  return text == nullptr ? "" : text;
}

}  // namespace

bool soon(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + kClientPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    (void)::poll(nullptr, 0, 5);
  }
  return true;
}

Descriptor connect_to(std::uint16_t port, const std::string& from) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that may be closed
  Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{kClientPatience.count(), 0};
  ::setsockopt(out.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(out.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int at_once = 1;  // else a request waits 40 ms for the acknowledgement of the handshake's last bytes
  ::setsockopt(out.number(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  const sockaddr_in own = address_of(from, 0);
  const sockaddr_in to = address_of("127.0.0.1", port);
  if (::bind(out.number(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
      ::connect(out.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    return {};
  return out;
}

bool ended_by_peer(int socket, std::size_t bytes_max) {
  std::array<char, 4096> bytes{};
  for (std::size_t all = 0; all <= bytes_max;) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got == 0) return true;
    if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
    all += static_cast<std::size_t>(got);
  }
  return false;
}

RawClient::RawClient(std::uint16_t port, const TlsFiles& files, const Options& options)
    : socket_(connect_to(port, options.from)), context_(SSL_CTX_new(TLS_client_method())) {
  EXPECT_TRUE(socket_);
  if (!socket_) return;
  if (options.receive_buffer > 0)
    ::setsockopt(socket(), SOL_SOCKET, SO_RCVBUF, &options.receive_buffer, sizeof options.receive_buffer);
  SSL_CTX_set_max_proto_version(context_.get(), options.version);
  if (!files.certificate.empty()) {
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM), 1);
  }
  tls_.reset(SSL_new(context_.get()));
  SSL_set_fd(tls_.get(), socket());
  ERR_clear_error();
  finished_ = SSL_connect(tls_.get()) == 1;
  if (!finished_) failure_ = openssl_failure();
}

bool RawClient::send(std::string_view bytes) {
  if (!finished_) return false;
  ERR_clear_error();
  const bool sent = bytes.empty() || SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  if (!sent) failure_ = openssl_failure();
  return sent;
}

bool RawClient::post(const std::string& name, const std::string& body, const std::string& headers) {
  return send("POST /v1/" + name + " HTTP/1.1\r\nHost: agent\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
}

bool RawClient::get(const std::string& path) {
  return send("GET " + path + " HTTP/1.1\r\nHost: agent\r\n\r\n");
}

bool RawClient::read_more() {
  if (!finished_) return false;
  std::array<char, 16384> bytes{};
  ERR_clear_error();
  const int got = SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
  if (got > 0) {
    read_.append(bytes.data(), static_cast<std::size_t>(got));
    return true;
  }
  failure_ = openssl_failure();
  return false;
}

std::string RawClient::take(std::size_t size) {
  while (read_.size() < size)
    if (!read_more()) return {};
  std::string out = read_.substr(0, size);
  read_.erase(0, size);
  return out;
}

std::string RawClient::line() {
  std::size_t end = 0;
  while ((end = read_.find("\r\n")) == std::string::npos)
    if (!read_more()) return {};
  return take(end + 2).substr(0, end);
}

RawClient::Answer RawClient::head() {
  Answer out;
  const std::string status = line();
  if (!status.starts_with("HTTP/1.1 ")) return out;
  out.status = std::stoi(status.substr(9));
  for (std::string one = line(); !one.empty(); one = line()) {
    const std::size_t colon = one.find(": ");
    EXPECT_NE(colon, std::string::npos) << one;
    if (colon == std::string::npos) break;
    out.headers[one.substr(0, colon)] = one.substr(colon + 2);
  }
  return out;
}

RawClient::Answer RawClient::answer() {
  Answer out = head();
  if (out.status != 0 && out.headers.contains("Content-Length"))
    out.body = take(std::stoul(out.headers["Content-Length"]));
  return out;
}

std::string RawClient::chunk() {
  const std::string size = line();
  if (size.empty()) return {};
  std::string out = take(std::stoul(size, nullptr, 16) + 2);
  EXPECT_TRUE(out.ends_with("\r\n"));
  return out.substr(0, out.size() - 2);
}

std::string RawClient::rest() {
  while (read_more()) {
  }
  return std::exchange(read_, {});
}

bool RawClient::closed() {
  if (!finished_) return true;
  std::array<char, 16384> bytes{};
  for (;;) {
    ERR_clear_error();
    const int got = SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (got > 0) continue;
    const bool waited = SSL_get_error(tls_.get(), got) == SSL_ERROR_WANT_READ;  // SO_RCVTIMEO
    failure_ = openssl_failure();
    return !waited;
  }
}

std::string RawClient::server_serial() const {
  const X509* const certificate = SSL_get0_peer_certificate(tls_.get());
  if (certificate == nullptr) return {};
  return std::to_string(ASN1_INTEGER_get(X509_get0_serialNumber(certificate)));
}

}  // namespace lockstep
