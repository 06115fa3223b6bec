#include "bench/tcp/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep::bench {
namespace {

Error failed(const char* call, int error) {
  return {error == EACCES || error == EPERM ? ErrorKind::denied : ErrorKind::refused,
          stage_of(error) + " (" + call + ")", nullptr};
}

void set_flag(int fd, int level, int option) {
  const int on = 1;
  (void)setsockopt(fd, level, option, &on, sizeof on);
}

Result<Descriptor> open_socket(const Address& address) {
  Descriptor fd(socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return failed("socket", errno);
  // Probe messages are small and must not wait for each other; bulk data fills segments anyway.
  set_flag(fd.number(), IPPROTO_TCP, TCP_NODELAY);
  return fd;
}

const sockaddr* raw(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.bytes); }

}  // namespace

Result<Address> parse_address(const std::string& text, std::uint16_t port) {
  Address address;
  sockaddr_in four{};
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&address.bytes, &four, sizeof four);
    address.length = sizeof four;
    return address;
  }
  sockaddr_in6 six{};
  if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&address.bytes, &six, sizeof six);
    address.length = sizeof six;
    return address;
  }
  return Error{ErrorKind::invalid_spec, "not an IP address: '" + text + "'", nullptr};
}

bool same_host(const Address& a, const Address& b) {
  if (a.bytes.ss_family != b.bytes.ss_family) return false;
  if (a.bytes.ss_family == AF_INET) {
    sockaddr_in x{};
    sockaddr_in y{};
    std::memcpy(&x, &a.bytes, sizeof x);
    std::memcpy(&y, &b.bytes, sizeof y);
    return x.sin_addr.s_addr == y.sin_addr.s_addr;
  }
  sockaddr_in6 x{};
  sockaddr_in6 y{};
  std::memcpy(&x, &a.bytes, sizeof x);
  std::memcpy(&y, &b.bytes, sizeof y);
  return std::memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr) == 0;
}

Result<Descriptor> listen_on(const Address& address) {
  TRY(Descriptor fd, open_socket(address));
  if (bind(fd.number(), raw(address), address.length) != 0) return failed("bind", errno);
  if (listen(fd.number(), 8) != 0) return failed("listen", errno);
  return fd;
}

std::uint16_t port_of(int fd) {
  Address own;
  own.length = sizeof own.bytes;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own.bytes), &own.length) != 0) return 0;
  sockaddr_in view{};  // sin_port and sin6_port are at the same offset (RFC 3493, 3.3; linux/in6.h)
  std::memcpy(&view, &own.bytes, sizeof view);
  return ntohs(view.sin_port);
}

Descriptor accept_from(int listener, const Address& peer) {
  for (;;) {
    Address from;
    from.length = sizeof from.bytes;
    Descriptor fd(accept4(listener, reinterpret_cast<sockaddr*>(&from.bytes), &from.length,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      return Descriptor{};
    }
    if (!same_host(from, peer)) continue;
    set_flag(fd.number(), IPPROTO_TCP, TCP_NODELAY);
    return fd;
  }
}

Result<Descriptor> connect_from(const Address& source, const Address& peer, const std::string& congestion) {
  TRY(Descriptor fd, open_socket(peer));
  // If the kernel chooses the port, it does so at connect, by the whole 4-tuple, so that many connections
  // share the range (ip(7)).
  set_flag(fd.number(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
  if (!congestion.empty() && setsockopt(fd.number(), IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                                        static_cast<socklen_t>(congestion.size())) != 0)
    return failed(("congestion control " + congestion).c_str(), errno);
  if (bind(fd.number(), raw(source), source.length) != 0) return failed("bind", errno);
  if (connect(fd.number(), raw(peer), peer.length) != 0 && errno != EINPROGRESS)
    return failed("connect", errno);
  return fd;
}

int socket_error(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

std::string stage_of(int error) {
  switch (error) {
    case ECONNREFUSED: return "connect refused";
    case ENETUNREACH: return "no route";
    case EHOSTUNREACH: return "no route, or the next hop does not answer";
    case ETIMEDOUT: return "timed out";
    case EADDRNOTAVAIL: return "the address is not on this endpoint";
    case ECONNRESET: return "connection reset";
    case EPIPE: return "closed by the peer";
    default: return std::strerror(error);  // NOLINT(concurrency-mt-unsafe): the probe has one thread
  }
}

void forget_path_mtu() {
  for (const char* path : {"/proc/sys/net/ipv4/route/flush", "/proc/sys/net/ipv6/route/flush"}) {
    const Descriptor fd(open(path, O_WRONLY | O_CLOEXEC));
    if (fd) (void)!write(fd.number(), "1", 1);
  }
}

void close_hard(Descriptor& fd) {
  const linger now{1, 0};
  if (fd) (void)setsockopt(fd.number(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  fd.close();
}

}  // namespace lockstep::bench
