#include "tests/contract/tcp_relay.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lockstep::contract {
namespace {

constexpr std::chrono::seconds kRestMax{10};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("relay: ") + what + ": " + std::strerror(errno));
}

Descriptor tcp_socket() { return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  (void)::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

TcpRelay::TcpRelay(std::uint16_t agent) : agent_(agent), listener_(tcp_socket()) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0) fail("bind");
  if (::listen(listener_.number(), 16) != 0) fail("listen");
  if (::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("port");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TcpRelay::~TcpRelay() {
  {
    const std::lock_guard lock(mutex_);
    quits_ = true;
  }
  wake_.signal();
  thread_.join();
}

void TcpRelay::hang(bool on) {
  {
    const std::lock_guard lock(mutex_);
    hangs_ = on;
  }
  wake_.signal();
}

void TcpRelay::cut_after(To way, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  left_[static_cast<std::size_t>(way)] = bytes;
}

bool TcpRelay::rest() {
  std::unique_lock lock(mutex_);
  resting_ = true;
  wake_.signal();
  return rested_.wait_for(lock, kRestMax, [this] { return !resting_; });
}

bool TcpRelay::is_resting() {
  const std::lock_guard lock(mutex_);
  return resting_;
}

bool TcpRelay::is_hanging() {
  const std::lock_guard lock(mutex_);
  return hangs_;
}

void TcpRelay::serve() {
  for (;;) {
    std::vector<pollfd> waits{{wake_.number(), POLLIN, 0}};
    bool left = false;
    if (!is_hanging()) {
      waits.push_back({listener_.number(), POLLIN, 0});
      for (const Connection& one : connections_) {
        waits.push_back({one.controller.number(), POLLIN, 0});  // a negative one is ignored
        waits.push_back({one.agent.number(), POLLIN, 0});
        left = left || !one.controller;
      }
    }
    const bool may_rest = waits.size() > 1 && !left && is_resting();
    const int ready = ::poll(waits.data(), waits.size(), may_rest ? 0 : -1);
    if (ready < 0 && errno != EINTR) return;
    if (may_rest && ready == 0) {
      const std::lock_guard lock(mutex_);
      resting_ = false;
      rested_.notify_all();
    }
    // First: an answer that came after hang() must not pass.
    if (waits[0].revents != 0) {
      wake_.clear();
      const std::lock_guard lock(mutex_);
      if (quits_) return;
      continue;
    }
    std::size_t at = 2;
    for (Connection& one : connections_) {
      if (at + 1 >= waits.size()) break;
      serve(one, waits[at].revents != 0, waits[at + 1].revents != 0);
      at += 2;
    }
    connections_.remove_if([](const Connection& one) { return one.ended; });
    if (waits.size() > 1 && waits[1].revents != 0) accept();
  }
}

void TcpRelay::accept() {
  Connection one{Descriptor(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC)), tcp_socket()};
  const sockaddr_in address = loopback(agent_);
  if (!one.controller || !one.agent ||
      ::connect(one.agent.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return;
  send_at_once(one.controller);
  send_at_once(one.agent);
  connections_.push_back(std::move(one));
}

// The agent learns of the end after the bytes that it was sent.
void TcpRelay::leave(Connection& one) {
  one.controller.close();
  (void)::shutdown(one.agent.number(), SHUT_WR);
}

void TcpRelay::serve(Connection& one, bool from_controller, bool from_agent) {
  if (from_controller && !pass_on(one.controller, one.agent, To::agent)) leave(one);
  if (!from_agent) return;
  if (one.controller) {
    if (pass_on(one.agent, one.controller, To::controller)) return;
    leave(one);
  }
  // Until the agent ends it, too.
  std::array<char, 65536> lost{};
  ssize_t count = 0;
  do {
    count = ::recv(one.agent.number(), lost.data(), lost.size(), MSG_DONTWAIT);
  } while (count > 0);
  one.ended = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

bool TcpRelay::pass_on(const Descriptor& from, const Descriptor& to, To way) {
  std::array<char, 65536> buffer{};
  const ssize_t count = ::recv(from.number(), buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  auto size = static_cast<std::size_t>(count);
  bool is_cut = false;
  {
    const std::lock_guard lock(mutex_);
    auto& left = left_[static_cast<std::size_t>(way)];
    if (left) {
      is_cut = *left <= size;
      size = std::min(size, *left);
      *left -= size;
    }
    if (is_cut) left.reset();
  }
  return ::send(to.number(), buffer.data(), size, MSG_NOSIGNAL) == static_cast<ssize_t>(size) && !is_cut;
}

}  // namespace lockstep::contract
