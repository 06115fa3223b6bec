#include "bench/verbs/path_probe.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "drivers/posix/wait.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::size_t datagram_most = 8192;  // the largest RDMA packet has 4,096 bytes of payload
constexpr std::size_t small_bytes = 32;
constexpr int tries = 5;
// An answer takes microseconds; the first one's address resolution, a second at most (ARP's retry timer).
constexpr std::chrono::milliseconds patience{400};

const sockaddr* raw(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.bytes); }

Result<Descriptor> open_datagram(const std::string& address, const std::string& netdev) {
  TRY(const Address own, parse_address(address, 0));
  Descriptor fd(socket(own.bytes.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto failed = [](const char* call) {
    return Error{ErrorKind::refused,
                 "path probe: " + std::string(call) + ": " + std::generic_category().message(errno)};
  };
  if (!fd) return failed("socket");
  const bool v6 = own.bytes.ss_family == AF_INET6;
  // Never fragmented, and sent whatever path MTU the kernel believes in (ip(7)).
  static_assert(IP_PMTUDISC_PROBE == IPV6_PMTUDISC_PROBE);
  const int probe = IP_PMTUDISC_PROBE;
  if (setsockopt(fd.number(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
                 &probe, sizeof probe) != 0)
    return failed("don't fragment");
  if (setsockopt(fd.number(), SOL_SOCKET, SO_BINDTODEVICE, netdev.data(),
                 static_cast<socklen_t>(netdev.size())) != 0)
    return failed("bind to the interface");
  if (bind(fd.number(), raw(own), own.length) != 0) return failed("bind");
  return fd;
}

// Sends and waits for the same bytes, a few times; reports the errno of sending once.
bool passes(const Descriptor& fd, const Address& to, std::span<const char> bytes, const Call& call,
            std::string& trouble) {
  std::array<char, datagram_most> got{};
  for (int i = 0; i < tries && !call.must_end(std::chrono::steady_clock::now()); ++i) {
    if (sendto(fd.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL, raw(to), to.length) < 0)
      trouble = std::generic_category().message(errno);
    Call turn = call;
    turn.deadline = std::min(call.deadline, std::chrono::steady_clock::now() + patience);
    while (wait_for(fd.number(), POLLIN, turn)) {
      const ssize_t size = recv(fd.number(), got.data(), got.size(), 0);
      // An error is ICMP's answer to an earlier datagram.
      if (size < 0 && errno != EAGAIN && errno != EINTR) trouble = std::generic_category().message(errno);
      if (size == static_cast<ssize_t>(bytes.size()) && std::equal(bytes.begin(), bytes.end(), got.begin()))
        return true;
    }
  }
  return false;
}

}  // namespace

Result<PathEcho> PathEcho::open(const std::string& address, const std::string& netdev) {
  TRY(Descriptor fd, open_datagram(address, netdev));
  return PathEcho(std::move(fd));
}

std::uint16_t PathEcho::port() const { return port_of(fd_.number()); }

void PathEcho::answer_all() {
  std::array<char, datagram_most> bytes{};
  for (;;) {
    Address from;
    from.length = sizeof from.bytes;
    const ssize_t size = recvfrom(fd_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT,
                                  reinterpret_cast<sockaddr*>(&from.bytes), &from.length);
    if (size < 0) return;
    (void)sendto(fd_.number(), bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL, raw(from),
                 from.length);
  }
}

Result<PathVerdict> probe_path(const std::string& own, const std::string& netdev, const std::string& peer,
                               std::uint16_t port, std::uint32_t bytes, std::uint64_t token,
                               const Call& call) {
  TRY(const Descriptor fd, open_datagram(own, netdev));
  TRY(const Address to, parse_address(peer, port));
  const std::uint32_t headers = to.bytes.ss_family == AF_INET6 ? 48 : 28;  // IP and UDP
  std::vector<char> payload(std::clamp<std::size_t>(bytes - headers, small_bytes, datagram_most));
  std::memcpy(payload.data(), &token, sizeof token);
  PathVerdict out;
  out.small_passes = passes(fd, to, std::span(payload).first(small_bytes), call, out.trouble);
  if (out.small_passes) {
    out.trouble.clear();
    out.large_passes = passes(fd, to, payload, call, out.trouble);
  }
  return out;
}

}  // namespace lockstep::bench::verbs
