#include "reconciler/api/listening_sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "specs/files/own_folder.hpp"

namespace lockstep::api {
namespace {

namespace fs = std::filesystem;
using boost::asio::ip::tcp;

Error can_not_listen(const std::string& where, const std::string& why) {
  return Error{ErrorKind::transient, "listen on " + where + ": " + why};
}
Error can_not_listen(const std::string& where, int code) {
  return can_not_listen(where, std::generic_category().message(code));
}

// A socket address of any family.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&storage); }
};

Address address_of(const std::string& path) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  path.copy(local.sun_path, sizeof local.sun_path - 1);
  Address out;
  std::memcpy(&out.storage, &local, sizeof local);
  out.size = sizeof local;
  return out;
}

Address address_of(const tcp::endpoint& where) {
  Address out;
  std::memcpy(&out.storage, where.data(), where.size());
  out.size = static_cast<socklen_t>(where.size());
  return out;
}

// The address to which a socket is bound; none: it is of another family.
std::optional<ListenAddress> bound_to(int descriptor) {
  Address bound;
  if (::getsockname(descriptor, bound.generic(), &bound.size) != 0) return std::nullopt;
  ListenAddress out;
  if (bound.storage.ss_family == AF_UNIX) {
    sockaddr_un local{};
    std::memcpy(&local, &bound.storage, std::min<std::size_t>(bound.size, sizeof local));
    const std::size_t begins = offsetof(sockaddr_un, sun_path);
    if (bound.size <= begins) return std::nullopt;  // bound to nothing
    // An abstract one begins with a zero, and has no end but its size (unix(7)).
    out.path.assign(local.sun_path, bound.size - begins);
    if (out.path.front() == '\0')
      out.path.front() = '@';
    else
      out.path.resize(std::strlen(out.path.c_str()));
    return out;
  }
  if (bound.storage.ss_family != AF_INET && bound.storage.ss_family != AF_INET6) return std::nullopt;
  out.tcp.resize(bound.size);
  std::memcpy(out.tcp.data(), &bound.storage, bound.size);
  return out;
}

bool is_same(const ListenAddress& one, const ListenAddress& other) {
  if (one.path.empty() || other.path.empty()) return one.path == other.path && one.tcp == other.tcp;
  std::error_code ignored;
  return fs::weakly_canonical(one.path, ignored) == fs::weakly_canonical(other.path, ignored);
}

Result<Done> check_secrecy(const ListenAddress& where, bool tls, const std::string& shown) {
  if (!where.needs_tls() || tls) return Done{};
  return Error{ErrorKind::invalid_spec,
               shown +
                   " is not loopback: without TLS, tokens could be read on the way; "
                   "configure a certificate, or listen on 127.0.0.1 or a UNIX socket"};
}

bool option_is(int descriptor, int option, int wanted) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

Result<ListeningSocket> taken(const GivenSocket& given, bool tls) {
  const std::string shown =
      "socket '" + given.name + "' that was given as descriptor " + std::to_string(given.descriptor);
  const std::optional<ListenAddress> where = bound_to(given.descriptor);
  if (!where || !option_is(given.descriptor, SO_TYPE, SOCK_STREAM) ||
      !option_is(given.descriptor, SO_ACCEPTCONN, 1))
    return Error{ErrorKind::invalid_spec, shown +
                                              " is none that listens for streams of TCP or UNIX; its unit "
                                              "needs ListenStream= and Accept=no (systemd.socket(5))"};
  TRY_DONE(check_secrecy(*where, tls, shown));
  ListeningSocket out{Descriptor(::fcntl(given.descriptor, F_DUPFD_CLOEXEC, 0)), *where};
  if (!out.descriptor) return can_not_listen(given.name, errno);
  return out;
}

// The folder decides who reaches the socket.
Result<Done> check_socket_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path();
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) return make_private_folder(folder);
  if (!S_ISDIR(found.st_mode) || (found.st_uid != ::geteuid() && found.st_uid != 0) ||
      (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return Error{ErrorKind::denied, folder +
                                        ": others may enter it, or it is another user's; the socket of the "
                                        "API needs a folder of its own (mode 0700)"};
  return Done{};
}

// What a killed process left; one that answers is left alone.
Result<Done> remove_old_socket(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return Done{};
  if (!S_ISSOCK(found.st_mode)) return Error{ErrorKind::refused, path + ": is there, and is no socket"};
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Address where = address_of(path);
  if (!probe) return can_not_listen("unix:" + path, errno);
  if (::connect(probe.number(), where.generic(), where.size) == 0)
    return can_not_listen("unix:" + path, "another process listens there");
  ::unlink(path.c_str());
  return Done{};
}

Result<Descriptor> bound_socket(int family, Address where, const std::string& text) {
  Descriptor out(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  const int off = 0;
  if (!out || ::setsockopt(out.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (family == AF_INET6 && ::setsockopt(out.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) ||
      ::bind(out.number(), where.generic(), where.size) != 0)
    return can_not_listen(text, errno);
  return out;
}

Result<ListeningSocket> made_tcp(const ListenAddress& where, const std::string& text) {
  TRY(Descriptor socket, bound_socket(where.tcp.protocol().family(), address_of(where.tcp), text));
  if (::listen(socket.number(), SOMAXCONN) != 0) return can_not_listen(text, errno);
  const std::optional<ListenAddress> bound = bound_to(socket.number());
  return ListeningSocket{std::move(socket), bound.value_or(where)};
}

Result<ListeningSocket> made_unix(const ListenAddress& where, const std::string& text,
                                  std::vector<SocketFile>& files) {
  TRY_DONE(check_socket_folder(where.path));
  TRY_DONE(remove_old_socket(where.path));
  TRY(Descriptor socket, bound_socket(AF_UNIX, address_of(where.path), text));
  files.emplace_back(where.path);
  if (::chmod(where.path.c_str(), 0600) != 0 || ::listen(socket.number(), SOMAXCONN) != 0)
    return can_not_listen(text, errno);
  return ListeningSocket{std::move(socket), where};
}

}  // namespace

SocketFile::~SocketFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<ListeningSockets> open_sockets(const std::vector<std::string>& listen,
                                      const std::vector<GivenSocket>& given, bool tls) {
  ListeningSockets out;
  for (const GivenSocket& one : given) {
    TRY(ListeningSocket socket, taken(one, tls));
    out.all.push_back(std::move(socket));
  }
  for (const std::string& text : listen) {
    TRY(const ListenAddress where, parse_listen(text));
    TRY_DONE(check_secrecy(where, tls, "listen address '" + text + "'"));
    const auto same = std::ranges::find_if(
        out.all, [&](const ListeningSocket& socket) { return is_same(socket.where, where); });
    if (same != out.all.end()) {
      out.ports.push_back(where.tcp.port());
      continue;
    }
    TRY(ListeningSocket socket,
        where.path.empty() ? made_tcp(where, text) : made_unix(where, text, out.files));
    out.ports.push_back(socket.where.path.empty() ? socket.where.tcp.port() : 0);
    out.all.push_back(std::move(socket));
  }
  return out;
}

}  // namespace lockstep::api
