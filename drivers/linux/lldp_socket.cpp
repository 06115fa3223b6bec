#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/posix/wait.hpp"

namespace lockstep {
namespace {

constexpr std::array<unsigned char, 6> kNearestBridge = {0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E};

Error failed(const char* what) {
  const int code = errno;
  return Error{netlink::kind_of_errno(code), std::string("LLDP: ") + what + ": " + std::strerror(code)};
}

}  // namespace

Result<LldpListener> LldpListener::open(const Call& call) {
  // SOCK_DGRAM: without the Ethernet header (packet(7)).
  Descriptor descriptor(
      ::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(kLldpEtherType)));
  if (!descriptor) return failed("packet socket");
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  TRY(const auto links, read_links(socket, call));
  for (const Link& link : links) {
    if (link.loopback) continue;
    packet_mreq join{};
    join.mr_ifindex = static_cast<int>(link.index);
    join.mr_type = PACKET_MR_MULTICAST;
    join.mr_alen = kNearestBridge.size();
    std::copy(kNearestBridge.begin(), kNearestBridge.end(), join.mr_address);
    // An interface that was removed meanwhile is ignored.
    (void)::setsockopt(descriptor.number(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &join, sizeof(join));
  }
  return LldpListener(std::move(descriptor));
}

Result<std::map<std::uint32_t, LldpNeighbour>> LldpListener::heard() {
  std::array<std::byte, 2048> frame{};  // an Ethernet frame of 1518 bytes is the largest (802.1AB, 8.2)
  for (;;) {
    sockaddr_ll from{};
    socklen_t from_size = sizeof(from);
    const ssize_t got = ::recvfrom(descriptor_.number(), frame.data(), frame.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &from_size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return neighbours_;
    if (got < 0 && errno == ENETDOWN) continue;  // reported once for an interface that went down (packet(7))
    if (got < 0) return failed("receive");
    if (from.sll_pkttype == PACKET_OUTGOING) continue;  // our own
    const auto neighbour = decode_lldp(netlink::Bytes(frame.data(), static_cast<std::size_t>(got)));
    if (!neighbour) continue;  // any host on the link can send anything: bad frames are ignored
    const auto index = static_cast<std::uint32_t>(from.sll_ifindex);
    if (neighbour->lifetime.count() == 0)
      neighbours_.erase(index);
    else
      neighbours_.insert_or_assign(index, *neighbour);
  }
}

Result<std::map<std::uint32_t, LldpNeighbour>> LldpListener::listen(const Call& call) {
  for (;;) {
    TRY(auto now, heard());
    auto waited = wait_for(descriptor_.number(), POLLIN, call);
    if (!waited && waited.error().kind == ErrorKind::transient) return now;  // the time is up
    if (!waited) return waited.error();
  }
}

}  // namespace lockstep
