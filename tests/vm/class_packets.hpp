// Raw frames, and the packets that left by each class of the qdiscs of a port: in the network namespace of
// the calling thread.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <map>
#include <set>

#include "drivers/linux/netlink_socket.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {

// Packets by the handle of the class.
using ClassPackets = std::map<std::uint32_t, std::uint64_t>;

inline ClassPackets class_packets(const char* port) {
  ClassPackets out;
  auto socket = netlink::Socket::open(NETLINK_ROUTE);
  EXPECT_TRUE(socket);
  netlink::Request request(RTM_GETTCLASS, NLM_F_DUMP);
  tcmsg header{};
  header.tcm_ifindex = static_cast<int>(::if_nametoindex(port));
  request.header(header);
  const Call call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
  const auto read = socket->dump(
      request, call,
      [&](const netlink::Message& message) -> Result<Done> {
        TRY(const auto frame, netlink::framed<tcmsg>(message.payload, "class"));
        TRY(const auto table, netlink::AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "class"));
        TRY(const auto counters,
            netlink::AttributeTable<TCA_STATS_MAX + 1>::parse(table.bytes(TCA_STATS2), "counters"));
        const auto basic = netlink::read_as<gnet_stats_basic>(counters.bytes(TCA_STATS_BASIC));
        out[frame.header.tcm_handle] = basic ? basic->packets : 0;
        return Done{};
      },
      [&] { out.clear(); });
  EXPECT_TRUE(read) << read.error().text();
  return out;
}

struct Frames {
  bool v6 = false;
  int dscp = 0;
  int priority = 0;  // SO_PRIORITY
};
// More than the kernel itself sends meanwhile (neighbour discovery, multicast listeners).
inline constexpr unsigned kFrames = 50;

// Sends headers without a payload to an unused address.
inline void send_frames(const char* port, const Frames& frames) {
  const Descriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::setsockopt(socket.number(), SOL_SOCKET, SO_PRIORITY, &frames.priority, sizeof(frames.priority)),
            0);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(frames.v6 ? ETH_P_IPV6 : ETH_P_IP);
  to.sll_ifindex = static_cast<int>(::if_nametoindex(port));
  to.sll_halen = ETH_ALEN;
  std::array<std::uint8_t, 40> packet{};
  const auto tos = static_cast<unsigned>(frames.dscp) << 2;
  const std::size_t size = frames.v6 ? 40 : 20;
  if (frames.v6) {  // RFC 8200
    packet[0] = static_cast<std::uint8_t>(0x60 | tos >> 4);
    packet[1] = static_cast<std::uint8_t>(tos << 4);
    packet[6] = 59;  // no next header
  } else {           // RFC 791
    packet[0] = 0x45;
    packet[1] = static_cast<std::uint8_t>(tos);
    packet[3] = 20;
    packet[9] = 253;  // for experiments (RFC 3692)
  }
  for (unsigned i = 0; i < kFrames; ++i)
    EXPECT_EQ(
        ::sendto(socket.number(), packet.data(), size, 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
        static_cast<ssize_t>(size));
}

// The minor numbers of the classes by which such frames leave, within `major` and from `first` on.
inline std::set<std::uint32_t> classes_of(const char* port, const Frames& frames, std::uint32_t major,
                                          std::uint32_t first) {
  const ClassPackets before = class_packets(port);
  send_frames(port, frames);
  std::set<std::uint32_t> out;
  for (const auto& [handle, count] : class_packets(port))
    if (handle >> 16 == major && (handle & 0xFFFF) >= first && count >= before.at(handle) + kFrames)
      out.insert(handle & 0xFFFF);
  return out;
}

}  // namespace lockstep
