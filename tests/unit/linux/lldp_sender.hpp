// An LLDP sender in place of a neighbour that runs lldpd (IEEE 802.1AB-2016, 8.2 and 8.5).
#pragma once

#include <netpacket/packet.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/lldp.hpp"
#include "drivers/linux/session.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {

struct LldpAnnouncement {
  std::string system_name;
  std::string port;
  std::vector<std::byte> hardware_address;  // 6 bytes
  std::chrono::seconds lifetime{120};       // 802.1AB's default: 4 x 30 s
};

// Encodes a complete Ethernet frame to the nearest-bridge group address.
inline std::vector<std::byte> encode_lldp(const LldpAnnouncement& announcement) {
  std::vector<std::byte> out;
  const auto put = [&out](std::uint64_t number, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
      out.push_back(static_cast<std::byte>((number >> shift) & 0xFF));
  };
  const auto put_text = [&out](std::string_view text) {
    for (const char one : text) out.push_back(static_cast<std::byte>(one));
  };
  // 7 bits of type, 9 bits of length.
  const auto put_head = [&put](unsigned type, std::size_t length) { put(type << 9U | length, 2); };
  std::vector<std::byte> mac = announcement.hardware_address;
  mac.resize(6);

  put(0x0180C200000E, 6);
  out.insert(out.end(), mac.begin(), mac.end());
  put(kLldpEtherType, 2);
  put_head(1, 1 + mac.size());  // chassis id, subtype 4: a MAC address
  put(4, 1);
  out.insert(out.end(), mac.begin(), mac.end());
  put_head(2, 1 + announcement.port.size());  // port id, subtype 5: an interface's name
  put(5, 1);
  put_text(announcement.port);
  put_head(3, 2);  // time to live
  put(static_cast<std::uint64_t>(announcement.lifetime.count()), 2);
  put_head(5, announcement.system_name.size());
  put_text(announcement.system_name);
  put_head(0, 0);  // end of LLDPDU
  return out;
}

// Sends a frame on an interface of the calling thread's network namespace. False: not sent (e.g. no carrier).
inline bool send_lldp(const std::string& interface, const LldpAnnouncement& announcement) {
  const Call call{std::chrono::steady_clock::now() + std::chrono::seconds(5), {}, -1};
  auto session = Session::open(call);
  const auto index = session ? session->index_of(interface) : Result<std::uint32_t>(session.error());
  if (!index) return false;
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_ifindex = static_cast<int>(*index);
  const auto frame = encode_lldp(announcement);
  const Descriptor raw(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  return ::sendto(raw.number(), frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                  sizeof(to)) > 0;
}

}  // namespace lockstep
