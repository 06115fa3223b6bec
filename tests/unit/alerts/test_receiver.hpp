// A small HTTP server, by TLS where the test has a certificate, that does what the test says with each
// request, and keeps them.
#pragma once

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drivers/agent/tls.hpp"

namespace lockstep {

struct ReceivedPost {
  std::string line{};  // "POST /path HTTP/1.1"
  std::map<std::string, std::string> headers{};
  std::string body{};
};

class TestReceiver {
 public:
  // What to answer the i-th request with; "": nothing, and the connection stays open.
  using Answers = std::function<std::string(std::size_t i)>;
  static std::string status(int code, const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(code) + " So it is\r\n" + headers +
           "Content-Length: 6\r\nConnection: close\r\n\r\nsaid\r\n";
  }

  // `files`: its certificate and key; none: no TLS.
  explicit TestReceiver(Answers answers, const TlsFiles& files = {}) : answers_(std::move(answers)) {
    if (!files.certificate.empty()) tls_ = context_of(files);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(where);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&where), size) != 0 || ::listen(listener_, 16) != 0)
      std::abort();
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size);
    port_ = ntohs(where.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~TestReceiver() {
    stopping_ = true;
    thread_.join();
    for (const int one : held_) ::close(one);
    ::close(listener_);
  }
  TestReceiver(const TestReceiver&) = delete;
  TestReceiver& operator=(const TestReceiver&) = delete;

  std::string url(const std::string& host = "127.0.0.1") const {
    return (tls_ ? "https://" : "http://") + host + ":" + std::to_string(port_);
  }
  std::vector<ReceivedPost> got() const {
    const std::scoped_lock lock(mutex_);
    return got_;
  }

 private:
  struct Free {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };
  using Session = std::unique_ptr<SSL, Free>;  // null: no TLS

  static TlsContext context_of(const TlsFiles& files) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to who may have gone
    TlsContext out(SSL_CTX_new(TLS_server_method()));
    if (SSL_CTX_use_certificate_chain_file(out.get(), files.certificate.c_str()) != 1 ||
        SSL_CTX_use_PrivateKey_file(out.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
      std::abort();
    return out;
  }
  // False: the client wants none.
  bool begin(int client, Session& session) const {
    if (!tls_) return true;
    session.reset(SSL_new(tls_.get()));
    SSL_set_fd(session.get(), client);
    return SSL_accept(session.get()) == 1;
  }

  void run() {
    while (!stopping_) {
      pollfd one{listener_, POLLIN, 0};
      if (::poll(&one, 1, 20) <= 0) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      Session session;
      const ReceivedPost post = begin(client, session) ? read(client, session.get()) : ReceivedPost{};
      if (post.line.empty()) {  // nothing came; by TLS 1.3, its client may look at a name after the handshake
        ::close(client);
        continue;
      }
      std::size_t i = 0;
      {
        const std::scoped_lock lock(mutex_);
        i = got_.size();
        got_.push_back(post);
      }
      const std::string answer = answers_(i);
      if (answer.empty()) {
        held_.push_back(client);
        continue;
      }
      if (session)
        (void)SSL_write(session.get(), answer.data(), static_cast<int>(answer.size()));
      else
        (void)::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(client);
    }
  }
  static ReceivedPost read(int client, SSL* tls) {
    std::string all;
    std::size_t head = std::string::npos;
    std::size_t length = 0;
    ReceivedPost out;
    std::string piece(65536, '\0');
    while (head == std::string::npos || all.size() < head + 4 + length) {
      const ssize_t size = tls != nullptr ? SSL_read(tls, piece.data(), static_cast<int>(piece.size()))
                                          : ::recv(client, piece.data(), piece.size(), 0);
      if (size <= 0) {
        if (head == std::string::npos) out.line = all;
        return out;
      }
      all.append(piece.data(), static_cast<std::size_t>(size));
      if (head != std::string::npos || (head = all.find("\r\n\r\n")) == std::string::npos) continue;
      parse_head(all.substr(0, head), out);
      length = std::strtoull(out.headers["content-length"].c_str(), nullptr, 10);
    }
    out.body = all.substr(head + 4);
    return out;
  }
  static void parse_head(const std::string& head, ReceivedPost& out) {
    std::size_t at = head.find("\r\n");
    out.line = head.substr(0, at);
    while (at != std::string::npos) {
      const std::size_t end = head.find("\r\n", at + 2);
      const std::string line = head.substr(at + 2, end == std::string::npos ? end : end - at - 2);
      std::string name = line.substr(0, line.find(':'));
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      out.headers[name] = line.substr(std::min(line.size(), line.find(':') + 2));
      at = end;
    }
  }

  const Answers answers_;
  TlsContext tls_;  // null: no TLS
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> held_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<ReceivedPost> got_;  // under mutex_
  std::thread thread_;
};

}  // namespace lockstep
