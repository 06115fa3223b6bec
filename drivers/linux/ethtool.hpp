// ethtool over generic netlink: offload features, link speed, global pause, and questions whose answer is
// only "can it".
//
// Promises: a feature group (tso, gso, gro) is reported as active when any of its features is, as `ethtool
// -k` does; a change is read back, because the kernel answers success to some that it ignores (lro on a
// veth). Refuses: groups that it does not know. Format: linux/ethtool_netlink.h and
// Documentation/networking/ethtool-netlink.rst.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drivers/linux/netlink_socket.hpp"

namespace lockstep {

// The groups that a spec can name, in the order of their keys.
inline constexpr std::string_view kOffloads[] = {"gro", "gso", "tso"};

// Active offloads of one interface; a group that the device can't change is there too.
using Offloads = std::map<std::string, bool, std::less<>>;

class Ethtool {
 public:
  // Generic netlink in the calling thread's namespace. `unsupported`: a kernel without ethtool netlink
  // (< 5.6).
  static Result<Ethtool> open(const Call& call);

  // By interface index, all interfaces of the namespace in one dump.
  Result<std::map<std::uint32_t, Offloads>> offloads(const Call& call);
  Result<Done> set_offload(std::uint32_t index, std::string_view group, bool on, const Call& call);
  // Mbit/s by interface index, in one dump; ports that do not tell are left out.
  Result<std::map<std::uint32_t, std::uint32_t>> speeds(const Call& call);
  // 802.3x global pause as configured, on: in either direction. By interface index, in one dump; ports
  // without it are left out.
  Result<std::map<std::uint32_t, bool>> pauses(const Call& call);
  // In both directions. Whether the port's driver did it is for the caller to read.
  Result<Done> set_pause(std::uint32_t index, bool on, const Call& call);
  // The kernel's answer to a GET of this kind (ETHTOOL_MSG_PAUSE_GET, with the header attribute's number).
  Result<netlink::Answer> probe(std::uint8_t command, std::uint32_t index, const Call& call);

 private:
  Ethtool(netlink::Socket socket, std::uint16_t family) : socket_(std::move(socket)), family_(family) {}
  netlink::Request request(std::uint8_t command, std::uint16_t flags, std::uint32_t index,
                           std::uint32_t header_flags) const;
  Result<std::vector<std::string>> feature_names(const Call& call);

  netlink::Socket socket_;
  std::uint16_t family_;
};

// The payload of one ETHTOOL_MSG_FEATURES_GET_REPLY with compact bitsets: interface index, active bits.
struct ActiveFeatures {
  std::uint32_t index = 0;
  std::vector<std::uint32_t> bits;  // words, lowest bit first
};
Result<ActiveFeatures> decode_features(netlink::Bytes payload);
Result<std::vector<std::string>> decode_feature_names(netlink::Bytes payload);
// The payload of one ETHTOOL_MSG_PAUSE_GET_REPLY: interface index, on in either direction. None: the port
// does not tell.
Result<std::optional<std::pair<std::uint32_t, bool>>> decode_pause(netlink::Bytes payload);

}  // namespace lockstep
