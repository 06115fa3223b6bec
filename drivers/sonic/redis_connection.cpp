#include "drivers/sonic/redis_connection.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "drivers/posix/wait.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::string_view kLogin = "login";

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Error system_error(const std::string& what, int error) {
  const bool denied = error == EACCES || error == EPERM;
  return Error{denied ? ErrorKind::denied : ErrorKind::transient, what + ": " + std::strerror(error)};
}

template <class Address>
SocketAddress stored(const Address& address) {
  SocketAddress out;
  out.size = sizeof(address);
  std::memcpy(&out.storage, &address, sizeof(address));
  return out;
}

Result<SocketAddress> address_of(const RedisServer& server) {
  if (!server.socket_path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (server.socket_path.size() >= sizeof(address.sun_path))
      return Error{ErrorKind::invalid_spec, "longer than the name of a unix socket may be (107 bytes)"};
    std::memcpy(address.sun_path, server.socket_path.c_str(), server.socket_path.size() + 1);
    return stored(address);
  }
  sockaddr_in ipv4{};
  if (::inet_pton(AF_INET, server.host.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(server.port);
    return stored(ipv4);
  }
  sockaddr_in6 ipv6{};
  if (::inet_pton(AF_INET6, server.host.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(server.port);
    return stored(ipv6);
  }
  return Error{ErrorKind::invalid_spec,
               "the host is not an address; give its IPv4 or IPv6 address, or a unix socket"};
}

}  // namespace

std::string RedisServer::name() const {
  if (!socket_path.empty()) return "Redis at " + printable(socket_path);
  const bool ipv6 = host.find(':') != host.npos;
  const std::string shown = ipv6 ? "[" + printable(host) + "]" : printable(host);
  return "Redis at " + shown + ":" + std::to_string(port);
}

void RedisConnection::close() {
  socket_.close();
  reader_ = RedisReader();
}

Result<std::vector<RedisReply>> RedisConnection::send(std::span<const RedisCommand> commands,
                                                      RedisIntention intention, const Call& call) {
  if (!is_usable()) {
    close();
    if (auto opened = open(call); !opened) {
      close();
      return wrap(server_.name(), std::move(opened.error()));
    }
  }
  return exchange(commands, intention, call);
}

Result<std::vector<RedisReply>> RedisConnection::send_next(std::span<const RedisCommand> commands,
                                                           RedisIntention intention, const Call& call) {
  if (!is_usable()) {
    close();
    return Error{ErrorKind::transient, server_.name() + ": the connection was lost in between"};
  }
  return exchange(commands, intention, call);
}

// Bytes that nobody waits for would be taken for the reply to the next command.
bool RedisConnection::is_usable() {
  if (!socket_ || reader_.has_bytes()) return false;
  char byte = 0;
  const ssize_t count = ::recv(socket_.number(), &byte, 1, MSG_PEEK);
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

Result<Done> RedisConnection::open(const Call& call) {
  if (auto ended = call.why_ended(std::chrono::steady_clock::now())) return *std::move(ended);
  TRY(const SocketAddress address, address_of(server_));
  const bool tcp = server_.socket_path.empty();
  socket_ = Descriptor(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return system_error("socket", errno);
  // EAGAIN of a unix socket: its queue is full, and cannot be waited for.
  if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    if (errno != EINPROGRESS) return system_error("connect", errno);
    TRY_DONE(wait_for(socket_.number(), POLLOUT, call));
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return system_error("connect", error);
  }
  const int on = 1;
  if (tcp) (void)::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ++openings_;
  return greet(call);
}

Result<Done> RedisConnection::greet(const Call& call) {
  std::string outgoing;
  std::vector<std::string> steps;
  if (!server_.password.empty()) {
    outgoing += redis_bytes(server_.user.empty() ? RedisCommand{"AUTH", server_.password}
                                                 : RedisCommand{"AUTH", server_.user, server_.password});
    steps.emplace_back(kLogin);
  }
  if (database_ != 0) {
    outgoing += redis_bytes({"SELECT", std::to_string(database_)});
    steps.push_back("database " + std::to_string(database_));
  }
  if (steps.empty()) return Done{};
  std::vector<RedisReply> replies;
  bool anything_sent = false;
  auto done = transfer(outgoing, steps.size(), replies, anything_sent, call);
  // Also of a Redis that says why it does not want the connection, and closes it.
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto error = redis_error(steps[i], replies[i]);
    if (!error) continue;
    if (steps[i] == kLogin && error->kind == ErrorKind::refused) error->kind = ErrorKind::denied;
    return *std::move(error);
  }
  if (!done) return done;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!replies[i].is_text("OK")) return Error{ErrorKind::transient, steps[i] + ": not a reply of Redis"};
  }
  return Done{};
}

Result<std::vector<RedisReply>> RedisConnection::exchange(std::span<const RedisCommand> commands,
                                                          RedisIntention intention, const Call& call) {
  std::string outgoing;
  for (const RedisCommand& command : commands) outgoing += redis_bytes(command);
  std::vector<RedisReply> replies;
  bool anything_sent = false;
  ++round_trips_;
  auto done = transfer(outgoing, commands.size(), replies, anything_sent, call);
  if (done) return replies;
  close();  // a late reply would be taken for the next command's
  Error error = wrap(server_.name() + ": no reply", std::move(done.error()));
  if (intention == RedisIntention::writes && anything_sent) error.kind = ErrorKind::unknown_outcome;
  return error;
}

// Reads while it writes: Redis, or what relays it, may stop reading until its replies are read.
Result<Done> RedisConnection::transfer(std::string_view outgoing, std::size_t replies,
                                       std::vector<RedisReply>& received, bool& anything_sent,
                                       const Call& call) {
  reader_.begin();
  while (received.size() < replies) {
    if (auto ended = call.why_ended(std::chrono::steady_clock::now())) return *std::move(ended);
    while (!outgoing.empty()) {
      const ssize_t wrote = ::send(socket_.number(), outgoing.data(), outgoing.size(), MSG_NOSIGNAL);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0 && errno == EAGAIN) break;
      if (wrote < 0) return Error{ErrorKind::transient, std::string("send: ") + std::strerror(errno)};
      anything_sent = true;
      outgoing.remove_prefix(static_cast<std::size_t>(wrote));
    }
    TRY(const bool came, receive());
    for (bool more = came; more && received.size() < replies;) {
      TRY(auto reply, reader_.next());
      more = reply.has_value();
      if (more) received.push_back(*std::move(reply));
    }
    if (received.size() == replies || came) continue;
    TRY_DONE(
        wait_for(socket_.number(), static_cast<short>(outgoing.empty() ? POLLIN : POLLIN | POLLOUT), call));
  }
  if (!outgoing.empty())
    return Error{ErrorKind::transient, "not a reply of Redis: it came before its command"};
  return Done{};
}

// Whether bytes came, without waiting.
Result<bool> RedisConnection::receive() {
  char buffer[65536];
  for (;;) {
    const ssize_t count = ::recv(socket_.number(), buffer, sizeof(buffer), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count < 0) return Error{ErrorKind::transient, std::string("recv: ") + std::strerror(errno)};
    if (count == 0) return Error{ErrorKind::transient, "Redis closed the connection"};
    TRY_DONE(reader_.feed({buffer, static_cast<std::size_t>(count)}));
    return true;
  }
}

Result<std::vector<RedisReply>> RedisConnection::pending() {
  std::vector<RedisReply> replies;
  const auto read_all = [&]() -> Result<Done> {
    if (!socket_) return Error{ErrorKind::transient, "the connection is closed"};
    reader_.begin();
    for (bool more = true; more;) {
      TRY(auto reply, reader_.next());
      if (reply) {
        replies.push_back(*std::move(reply));
      } else {
        TRY(more, receive());
      }
    }
    return Done{};
  };
  if (auto done = read_all(); !done) {
    close();
    return wrap(server_.name(), std::move(done.error()));
  }
  return replies;
}

}  // namespace lockstep::sonic
