#include "reconciler/twin/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "drivers/posix/wait.hpp"
#include "reconciler/twin/namespace.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLongestLine = 16U << 20U;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (path.size() >= sizeof(out.sun_path))
    return Error{ErrorKind::invalid_spec, "socket path too long: " + path};
  std::memcpy(out.sun_path, path.c_str(), path.size() + 1);
  return out;
}

}  // namespace

Result<std::string> LineChannel::read_line(const Call& call) {
  std::size_t looked = 0;
  for (;;) {
    if (const auto end = pending_.find('\n', looked); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    looked = pending_.size();
    if (looked > kLongestLine) return Error{ErrorKind::refused, "a line on a control socket does not end"};
    std::array<char, 16384> piece;
    const ssize_t got = ::recv(socket_.number(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) {
      pending_.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      return Error{ErrorKind::unknown_outcome, "the other side closed the control socket"};
    } else if (errno == EAGAIN) {
      TRY_DONE(wait_for(socket_.number(), POLLIN, call));
    } else if (errno != EINTR) {
      return errno_error("read a control socket");
    }
  }
}

Result<Done> LineChannel::write_line(std::string_view line, const Call& call) {
  const std::string whole = std::string(line) + '\n';
  for (std::size_t at = 0; at < whole.size();) {
    const ssize_t put =
        ::send(socket_.number(), whole.data() + at, whole.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put >= 0) {
      at += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      TRY_DONE(wait_for(socket_.number(), POLLOUT, call));
    } else if (errno != EINTR) {
      return errno_error("write to a control socket");
    }
  }
  return Done{};
}

Result<LineChannel> connect_to(const std::string& path) {
  TRY(const sockaddr_un address, address_of(path));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("socket");
  // On a unix socket connect blocks only if the listener's queue is full (unix(7)); this limits the wait.
  const timeval patience{2, 0};
  (void)::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return errno_error("connect to " + path);
  return LineChannel(std::move(socket));
}

Result<Descriptor> listen_on(const std::string& path) {
  TRY(const sockaddr_un address, address_of(path));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error("socket");
  (void)::unlink(path.c_str());
  if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return errno_error("bind " + path);
  if (::listen(socket.number(), SOMAXCONN) != 0) return errno_error("listen on " + path);
  return socket;
}

std::optional<LineChannel> accept_own(const Descriptor& listener) {
  Descriptor client(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client) return std::nullopt;
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(client.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  if (peer.uid != ::geteuid()) return std::nullopt;
  return LineChannel(std::move(client));
}

}  // namespace lockstep
