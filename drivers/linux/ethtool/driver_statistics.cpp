#include "drivers/linux/ethtool/driver_statistics.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

Error failed(std::string_view netdev, std::string_view what) {
  const bool has_none = errno == EOPNOTSUPP;
  return Error{has_none ? ErrorKind::unsupported : ErrorKind::transient,
               std::string(netdev) + ": " + std::string(what) + ": " + std::strerror(errno)};
}

bool ask_ethtool(int socket, std::string_view netdev, void* request) {
  ifreq about{};
  std::memcpy(about.ifr_name, netdev.data(), std::min(netdev.size(), sizeof(about.ifr_name) - 1));
  about.ifr_data = static_cast<char*>(request);
  return ::ioctl(socket, SIOCETHTOOL, &about) == 0;
}

// A request with room for `count` entries after its header, and for many more: the kernel copies all entries
// that exist at that time, regardless of the caller's buffer (net/ethtool/ioctl.c of 6.1, ethtool_get_stats
// and ethtool_get_strings), and a driver may have added some since they were counted.
template <class Header>
std::vector<std::uint64_t> request_of(const Header& header, std::size_t count, std::size_t entry_bytes) {
  constexpr std::size_t kMore = 4096;
  std::vector<std::uint64_t> out((sizeof(Header) + (count + kMore) * entry_bytes) / sizeof(std::uint64_t) +
                                 1);
  std::memcpy(out.data(), &header, sizeof(header));
  return out;
}

template <class Header>
Header header_of(const std::vector<std::uint64_t>& answer) {
  Header out;
  std::memcpy(&out, answer.data(), sizeof(out));
  return out;
}

}  // namespace

Result<std::string> driver_name(std::string_view netdev) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_drvinfo about{};
  about.cmd = ETHTOOL_GDRVINFO;
  if (socket && ask_ethtool(socket.number(), netdev, &about))
    return std::string(about.driver, ::strnlen(about.driver, sizeof(about.driver)));
  const bool is_gone = socket && errno == ENODEV;
  Error why = failed(netdev, "driver");
  if (is_gone || why.kind == ErrorKind::unsupported) return std::string();
  return why;
}

Result<std::map<std::string, std::uint64_t>> driver_statistics(std::string_view netdev) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return failed(netdev, "statistics");
  ethtool_drvinfo about{};
  about.cmd = ETHTOOL_GDRVINFO;
  if (!ask_ethtool(socket.number(), netdev, &about)) return failed(netdev, "statistics");
  const std::uint32_t count = about.n_stats;
  if (count == 0) return Error{ErrorKind::unsupported, std::string(netdev) + ": it has no statistics"};
  auto names = request_of(ethtool_gstrings{ETHTOOL_GSTRINGS, ETH_SS_STATS, count}, count, ETH_GSTRING_LEN);
  auto values = request_of(ethtool_stats{ETHTOOL_GSTATS, count}, count, sizeof(std::uint64_t));
  if (!ask_ethtool(socket.number(), netdev, names.data()) ||
      !ask_ethtool(socket.number(), netdev, values.data()))
    return failed(netdev, "statistics");
  if (header_of<ethtool_gstrings>(names).len != count || header_of<ethtool_stats>(values).n_stats != count)
    return Error{ErrorKind::transient, std::string(netdev) + ": its statistics became others meanwhile"};
  std::map<std::string, std::uint64_t> out;
  const auto* text = reinterpret_cast<const char*>(names.data()) + sizeof(ethtool_gstrings);
  static_assert(sizeof(ethtool_stats) == sizeof(std::uint64_t));
  for (std::size_t at = 0; at < count; ++at) {
    const char* const one = text + at * ETH_GSTRING_LEN;
    out.emplace(std::string(one, ::strnlen(one, ETH_GSTRING_LEN)), values[1 + at]);
  }
  return out;
}

}  // namespace lockstep
