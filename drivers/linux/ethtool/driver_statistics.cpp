#include "drivers/linux/ethtool/driver_statistics.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

bool ask_ethtool(int socket, std::string_view netdev, void* request) {
  ifreq about{};
  std::memcpy(about.ifr_name, netdev.data(), std::min(netdev.size(), sizeof(about.ifr_name) - 1));
  about.ifr_data = static_cast<char*>(request);
  return ::ioctl(socket, SIOCETHTOOL, &about) == 0;
}

// A request of ethtool with room for `count` entries behind its header.
template <class Header>
std::vector<std::uint64_t> room_for(std::uint32_t command, std::size_t count, std::size_t entry_bytes) {
  std::vector<std::uint64_t> out((sizeof(Header) + count * entry_bytes) / sizeof(std::uint64_t) + 1);
  std::memcpy(out.data(), &command, sizeof(command));
  return out;
}

}  // namespace

std::map<std::string, std::uint64_t> driver_statistics(std::string_view netdev) {
  std::map<std::string, std::uint64_t> out;
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return out;
  ethtool_drvinfo about{};
  about.cmd = ETHTOOL_GDRVINFO;
  if (!ask_ethtool(socket.number(), netdev, &about) || about.n_stats == 0) return out;
  const std::size_t count = about.n_stats;
  auto names = room_for<ethtool_gstrings>(ETHTOOL_GSTRINGS, count, ETH_GSTRING_LEN);
  const ethtool_gstrings wanted{ETHTOOL_GSTRINGS, ETH_SS_STATS, about.n_stats};
  std::memcpy(names.data(), &wanted, sizeof(wanted));
  auto values = room_for<ethtool_stats>(ETHTOOL_GSTATS, count, sizeof(std::uint64_t));
  if (!ask_ethtool(socket.number(), netdev, names.data()) ||
      !ask_ethtool(socket.number(), netdev, values.data()))
    return out;
  const auto* text = reinterpret_cast<const char*>(names.data()) + sizeof(ethtool_gstrings);
  static_assert(sizeof(ethtool_stats) == sizeof(std::uint64_t));
  for (std::size_t at = 0; at < count; ++at) {
    const char* const one = text + at * ETH_GSTRING_LEN;
    out.emplace(std::string(one, ::strnlen(one, ETH_GSTRING_LEN)), values[1 + at]);
  }
  return out;
}

}  // namespace lockstep
