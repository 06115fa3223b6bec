#include "api_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace lockstep::api {
namespace {

constexpr std::chrono::seconds kPatience{20};  // a machine under load; reached only where a test fails

void be_patient(int socket) {
  std::signal(SIGPIPE, SIG_IGN);  // the server may have closed its end
  const timeval patience{kPatience.count(), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

}  // namespace

bool soon_holds(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    (void)::poll(nullptr, 0, 5);
  }
  return true;
}

ApiClient::ApiClient(std::uint16_t port, int receive_buffer)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  be_patient(socket());
  if (receive_buffer > 0)
    ::setsockopt(socket(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const int at_once = 1;
  ::setsockopt(socket(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected_ = ::connect(socket(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

ApiClient::ApiClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  be_patient(socket());
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path.c_str(), sizeof to.sun_path - 1);
  connected_ = ::connect(socket(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

ApiClient::ApiClient(std::uint16_t port, const TlsFiles& files) : ApiClient(port) {
  if (!connected_) return;
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!files.certificate.empty()) {
    SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM);
  }
  tls_.reset(SSL_new(context_.get()));
  SSL_set_fd(tls_.get(), socket());
  ERR_clear_error();
  connected_ = SSL_connect(tls_.get()) == 1;
}

ApiClient& ApiClient::as(const std::string& token) {
  authorization_ = "Authorization: Bearer " + token + "\r\n";
  return *this;
}

std::string ApiClient::certificate() const {
  X509* const its = connected_ && tls_ ? SSL_get0_peer_certificate(tls_.get()) : nullptr;
  unsigned char* der = nullptr;
  const int size = its == nullptr ? 0 : i2d_X509(its, &der);
  std::string out(reinterpret_cast<const char*>(der), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(der);
  return out;
}

bool ApiClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                           : ::send(socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool ApiClient::read_more() {
  std::array<char, 16384> bytes{};
  const auto got = tls_ ? SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                        : ::recv(socket(), bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  read_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

std::string ApiClient::take(std::size_t size) {
  while (read_.size() < size && read_more()) {
  }
  std::string out = read_.substr(0, size);
  read_.erase(0, out.size());
  return out;
}

std::string ApiClient::line() {
  std::size_t end = read_.find("\r\n");
  while (end == std::string::npos && read_more()) end = read_.find("\r\n");
  std::string out = read_.substr(0, end);
  read_.erase(0, end == std::string::npos ? end : end + 2);
  return out;
}

Reply ApiClient::head() {
  Reply out;
  const std::string first = line();
  if (!first.starts_with("HTTP/1.1 ")) return out;
  out.status = std::stoi(first.substr(9, 3));
  for (std::string one = line(); !one.empty(); one = line()) {
    const std::size_t colon = one.find(": ");
    out.headers[one.substr(0, colon)] = colon == std::string::npos ? "" : one.substr(colon + 2);
  }
  return out;
}

std::string ApiClient::chunk() {
  const std::string digits = line();
  if (digits.empty()) return {};
  std::string out = take(std::stoul(digits, nullptr, 16));
  (void)line();
  return out;
}

Reply ApiClient::reply(bool has_body) {
  Reply out = head();
  if (out.status == 100) out = head();
  if (has_body && out.headers.contains("Content-Length"))
    out.body = take(std::stoul(out.headers.at("Content-Length")));
  return out;
}

Reply ApiClient::get(const std::string& target, const std::string& headers, const std::string& method) {
  send(method + " " + target + " HTTP/1.1\r\nHost: api\r\n" + authorization_ + headers + "\r\n");
  return reply(method != "HEAD");
}

Reply ApiClient::post(const std::string& target, const std::string& body, const std::string& headers) {
  send("POST " + target + " HTTP/1.1\r\nHost: api\r\n" + authorization_ + headers +
       "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return reply();
}

std::string ApiClient::events_until(std::string_view text) {
  std::string out;
  while (out.find(text) == std::string::npos) {
    const std::string more = chunk();
    if (more.empty()) break;
    out += more;
  }
  return out;
}

bool ApiClient::is_ended() {
  errno = 0;
  while (read_more()) read_.clear();
  return errno != EAGAIN && errno != EWOULDBLOCK;
}

}  // namespace lockstep::api
