// The UDP source ports of the RoCE packets that leave by a port, as seen by AF_PACKET (packet(7)): in the
// network namespace of the calling thread, IPv4 without options.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "specs/files/descriptor.hpp"

namespace lockstep {

class RoceSourcePorts {
 public:
  explicit RoceSourcePorts(const std::string& port)
      : socket_(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL))) {
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);  // only this protocol receives outgoing packets
    at.sll_ifindex = static_cast<int>(::if_nametoindex(port.c_str()));
    EXPECT_EQ(::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    reader_ = std::jthread([this](const std::stop_token& stop) {
      while (take() || !stop.stop_requested()) {
      }
    });
  }

  // The source ports of all packets so far: the reader ends when no packet is left.
  std::set<unsigned> seen() {
    reader_ = {};
    return seen_;
  }

 private:
  // Reads one packet. False if there was none.
  bool take() {
    pollfd wait{socket_.number(), POLLIN, 0};
    constexpr int kPause = 50;  // ms, between two checks of the stop token
    if (::poll(&wait, 1, kPause) <= 0) return false;
    std::array<std::uint8_t, 24> packet{};
    sockaddr_ll from{};
    socklen_t size = sizeof(from);
    const auto got = ::recvfrom(socket_.number(), packet.data(), packet.size(), MSG_DONTWAIT,
                                reinterpret_cast<sockaddr*>(&from), &size);
    constexpr std::uint8_t kUdp = 17;
    constexpr unsigned kRoce = 4791;  // IANA, RoCEv2
    if (got < static_cast<ssize_t>(packet.size()) || from.sll_pkttype != PACKET_OUTGOING) return true;
    if (packet[0] != 0x45 || packet[9] != kUdp) return true;
    const auto port = [&packet](std::size_t at) { return unsigned{packet[at]} << 8U | packet[at + 1]; };
    if (port(22) == kRoce) seen_.insert(port(20));
    return true;
  }

  Descriptor socket_;
  std::set<unsigned> seen_;  // the reader's, while it runs
  std::jthread reader_;
};

}  // namespace lockstep
