#include "drivers/frr/vty.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "drivers/posix/wait.hpp"

namespace lockstep::frr {
namespace {

// Text ends at the first NUL; two more and the code follow.
constexpr std::size_t kTrailer = 4;

ErrorKind kind_of_connect(int error) {
  switch (error) {
    case EACCES:
    case EPERM: return ErrorKind::denied;
    default: return ErrorKind::transient;  // ENOENT, ECONNREFUSED: not running yet; EAGAIN: backlog is full
  }
}

std::string socket_path(const std::string& run_dir, std::string_view daemon) {
  return run_dir + "/" + std::string(daemon) + ".vty";
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return Error{ErrorKind::invalid_spec, path + ": longer than a unix socket's name may be (107 bytes)"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

}  // namespace

std::string Reply::words() const {
  std::string out;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\r' || c == ' ';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.empty() ? "return code " + std::to_string(code) : out;
}

Result<Vty> Vty::connect(const std::string& run_dir, std::string_view daemon, const Call& call) {
  const std::string path = socket_path(run_dir, daemon);
  TRY(const sockaddr_un address, address_of(path));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return Error{ErrorKind::transient, std::string("socket: ") + std::strerror(errno)};
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    return Error{kind_of_connect(error),
                 "no " + std::string(daemon) + " at " + path + ": " + std::strerror(error)};
  }
  Vty vty(std::move(socket), std::string(daemon));
  TRY(const Reply reply, vty.say("enable", Intention::asks, call));
  if (reply.code != 0) return Error{ErrorKind::denied, std::string(daemon) + ": enable: " + reply.words()};
  return vty;
}

bool Vty::is_held(const std::string& run_dir, std::string_view daemon) {
  const auto address = address_of(socket_path(run_dir, daemon));
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!address || !socket) return false;
  return ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) == 0 ||
         errno == EAGAIN;  // a full backlog means that a process owns the socket
}

Result<Reply> Vty::say(std::string_view command, Intention intention, const Call& call) {
  if (!socket_) return Error{ErrorKind::transient, daemon_ + ": the connection is closed"};
  if (command.size() >= kCommandMax || command.find_first_of(std::string_view("\0\n\r", 3)) != command.npos)
    return Error{ErrorKind::invalid_spec,
                 daemon_ + ": not a command line: '" + std::string(command.substr(0, 80)) + "'"};
  std::string framed(command);
  framed += '\0';
  bool anything_sent = false;
  if (auto sent = send(framed, anything_sent, call); !sent)
    return lost(std::move(sent.error()), command, anything_sent && intention == Intention::writes);
  auto reply = receive(call);
  if (!reply) return lost(std::move(reply.error()), command, intention == Intention::writes);
  return reply;
}

Result<std::string> Vty::ask(std::string_view command, const Call& call) {
  TRY(Reply reply, say(command, Intention::asks, call));
  if (reply.code > 1)
    return Error{ErrorKind::refused, daemon_ + ": " + std::string(command) + ": " + reply.words()};
  return std::move(reply.text);
}

Result<Done> Vty::send(std::string_view framed, bool& anything_sent, const Call& call) {
  if (call.stop.stop_requested()) return Error{ErrorKind::cancelled, "asked to stop"};
  while (!framed.empty()) {
    const ssize_t wrote = ::send(socket_.number(), framed.data(), framed.size(), MSG_NOSIGNAL);
    if (wrote > 0) {
      anything_sent = true;
      framed.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno != EAGAIN)
      return Error{ErrorKind::transient, std::string("send: ") + std::strerror(errno)};
    TRY_DONE(wait_for(socket_.number(), POLLOUT, call));
  }
  return Done{};
}

Result<Reply> Vty::receive(const Call& call) {
  std::string got;
  std::size_t scanned = 0;  // bytes known to contain no NUL
  char buffer[16384];
  for (;;) {
    TRY_DONE(wait_for(socket_.number(), POLLIN, call));
    const ssize_t count = ::recv(socket_.number(), buffer, sizeof(buffer), 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return Error{ErrorKind::transient, std::string("recv: ") + std::strerror(errno)};
    if (count == 0)
      return Error{ErrorKind::transient, "closed after " + std::to_string(got.size()) + " bytes of a reply"};
    got.append(buffer, static_cast<std::size_t>(count));
    if (got.size() > kReplyMax) return Error{ErrorKind::transient, "a reply longer than 64 MiB"};
    const std::size_t end = got.find('\0', scanned);
    if (end == std::string::npos) {
      scanned = got.size();
      continue;
    }
    scanned = end;
    for (std::size_t i = end; i < got.size() && i < end + kTrailer - 1; ++i)
      if (got[i] != '\0') return Error{ErrorKind::transient, "not a vty reply: a NUL inside its text"};
    if (got.size() < end + kTrailer) continue;
    if (got.size() > end + kTrailer)
      return Error{ErrorKind::transient, "not a vty reply: bytes after its end"};
    Reply reply;
    reply.code = static_cast<std::uint8_t>(got.back());
    got.resize(end);
    reply.text = std::move(got);
    return reply;
  }
}

Error Vty::lost(Error why, std::string_view command, bool may_have_happened) {
  socket_ = Descriptor();  // a late reply would be taken for the next command's
  Error error = wrap(daemon_ + ": no reply to '" + std::string(command) + "'", std::move(why));
  if (may_have_happened) error.kind = ErrorKind::unknown_outcome;
  return error;
}

}  // namespace lockstep::frr
