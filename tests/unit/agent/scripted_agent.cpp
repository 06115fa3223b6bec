#include "tests/unit/agent/scripted_agent.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

namespace lockstep {
namespace {

constexpr std::chrono::seconds kPatience{20};

std::string uri_of(const SSL* tls) {
  X509* const certificate = SSL_get0_peer_certificate(tls);
  if (certificate == nullptr) return "";
  auto* const names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string out;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i)
    if (const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i); name->type == GEN_URI)
      out.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.uniformResourceIdentifier)),
                 static_cast<std::size_t>(ASN1_STRING_length(name->d.uniformResourceIdentifier)));
  GENERAL_NAMES_free(names);
  return out;
}

std::size_t content_length(const std::string& headers) {
  constexpr std::string_view kField = "Content-Length: ";
  const std::size_t at = headers.find(kField);
  return at == headers.npos ? 0 : std::stoul(headers.substr(at + kField.size()));
}

TlsContext plain_context(const TlsFiles& files, const std::string& believed) {
  TlsContext out(SSL_CTX_new(TLS_server_method()));
  if (SSL_CTX_use_certificate_chain_file(out.get(), files.certificate.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(out.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_load_verify_locations(out.get(), (believed.empty() ? files.ca : believed).c_str(), nullptr) !=
          1)
    throw std::runtime_error("the scripted agent's files");
  SSL_CTX_set_verify(out.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_num_tickets(out.get(), 0);
  return out;
}

}  // namespace

ScriptedAgent::ScriptedAgent(const TlsFiles& files, Script script, const std::string& believed,
                             const std::string& before_tls, std::uint16_t port)
    : script_(std::move(script)),
      before_tls_(before_tls),
      context_(plain_context(files, believed)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes with write(2)
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int on = 1;
  ::setsockopt(listener_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  socklen_t size = sizeof(address);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("listen on 127.0.0.1");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { accept_all(); });
}

ScriptedAgent::~ScriptedAgent() {
  ::shutdown(listener_.number(), SHUT_RDWR);
  thread_.join();
  cut_connections();
  for (Peer& one : peers_) one.thread.join();
}

void ScriptedAgent::accept_all() {
  for (;;) {
    Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return;
    const int on = 1;
    ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_.emplace_back();
    peer.number = peers_.size();
    peer.socket = std::move(socket);
    ++open_;
    peer.thread = std::thread([this, &peer] { serve(peer); });
  }
}

void ScriptedAgent::serve(Peer& peer) {
  const int descriptor = peer.socket.number();
  peer.tls = SSL_new(context_.get());
  SSL_set_fd(peer.tls, descriptor);
  if (!before_tls_.empty())
    (void)::send(descriptor, before_tls_.data(), before_tls_.size(), MSG_NOSIGNAL);
  else if (SSL_accept(peer.tls) == 1)
    converse(peer);
  ::shutdown(descriptor, SHUT_RDWR);
  const std::lock_guard lock(mutex_);
  SSL_free(peer.tls);
  peer.tls = nullptr;
  --open_;
  changed_.notify_all();
}

void ScriptedAgent::converse(Peer& peer) {
  for (;;) {
    Request request;
    if (!read_request(peer, request)) return;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      changed_.notify_all();
    }
    if (!answer(peer, script_(request))) return;
  }
}

bool ScriptedAgent::read_request(Peer& peer, Request& request) {
  std::string text;
  std::size_t end = text.npos;
  std::size_t length = 0;
  while (end == text.npos || text.size() < end + length) {
    char piece[4096];
    const int got = SSL_read(peer.tls, piece, sizeof(piece));
    if (got <= 0) return false;
    text.append(piece, static_cast<std::size_t>(got));
    if (end != text.npos || (end = text.find("\r\n\r\n")) == text.npos) continue;
    end += 4;
    length = content_length(text.substr(0, end));
  }
  const std::size_t line = text.find("\r\n");
  request = {text.substr(0, line), text.substr(line + 2, end - line - 4), text.substr(end), uri_of(peer.tls),
             peer.number};
  return true;
}

// False: the connection has ended, or shall.
bool ScriptedAgent::answer(Peer& peer, const Reply& reply) {
  const auto write = [&peer](std::string_view bytes) {
    return bytes.empty() || SSL_write(peer.tls, bytes.data(), static_cast<int>(bytes.size())) > 0;
  };
  if (reply.bytewise) {
    for (const char one : reply.bytes)
      if (!write({&one, 1})) return false;
  } else if (!write(reply.bytes)) {
    return false;
  }
  switch (reply.then) {
    case Then::keep: return true;
    case Then::close: SSL_shutdown(peer.tls); return false;
    case Then::cut: return false;
    case Then::hang: hang(peer); return false;
    case Then::flood:
      while (write(reply.again)) continue;
      return false;
  }
  return false;
}

void ScriptedAgent::hang(Peer& peer) {
  const int descriptor = peer.socket.number();
  {
    const std::lock_guard lock(mutex_);
    peer.hangs = true;
    changed_.notify_all();
  }
  pollfd gone{descriptor, POLLRDHUP, 0};
  (void)::poll(&gone, 1, -1);
  const std::lock_guard lock(mutex_);
  peer.hangs = false;
}

void ScriptedAgent::cut_connections() {
  const std::lock_guard lock(mutex_);
  for (const Peer& one : peers_) ::shutdown(one.socket.number(), SHUT_RDWR);
}

void ScriptedAgent::send(const std::string& bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] { return std::ranges::any_of(peers_, &Peer::hangs); });
  for (const Peer& one : peers_)
    if (one.hangs) (void)SSL_write(one.tls, bytes.data(), static_cast<int>(bytes.size()));
}

std::vector<ScriptedAgent::Request> ScriptedAgent::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t ScriptedAgent::connections() const {
  const std::lock_guard lock(mutex_);
  return peers_.size();
}

std::size_t ScriptedAgent::open_connections() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

bool ScriptedAgent::wait(const std::function<bool()>& holds) const {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (holds()) return true;
    std::unique_lock lock(mutex_);
    // Not every condition is one of this agent's.
    changed_.wait_for(lock, std::chrono::milliseconds(5));
    if (std::chrono::steady_clock::now() > until) return false;
  }
}

bool ScriptedAgent::wait_for_requests(std::size_t count) const {
  return wait([this, count] { return requests().size() >= count; });
}

std::string http(const std::string& body, const std::string& status, const std::string& headers) {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

}  // namespace lockstep
