#include "drivers/sonic/redis_address.hpp"

#include <charconv>

#include "specs/model/ip.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::uint16_t kRedisPort = 6379;  // IANA: redis
constexpr std::string_view kScheme = "redis://";
constexpr std::string_view kUnixScheme = "unix://";

}  // namespace

Result<RedisServer> parse_redis_server(std::string_view text) {
  const auto wrong = [text] {
    return Error{ErrorKind::invalid_spec, "'" + printable(text) +
                                              "' is not where a Redis is: write the path of its socket, or "
                                              "redis://ADDRESS:PORT with a numeric address"};
  };
  RedisServer out;
  if (text.starts_with(kUnixScheme)) {
    if (!text.substr(kUnixScheme.size()).starts_with('/')) return wrong();
    text.remove_prefix(kUnixScheme.size());
  }
  if (text.starts_with('/')) {
    out.socket_path = text;
    return out;
  }
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  std::string_view port;
  std::string_view host = text;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == host.npos) return wrong();
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':');
             colon != host.npos && host.find(':', colon + 1) == host.npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  out.port = kRedisPort;
  if (!port.empty()) {
    const auto [end, failed] = std::from_chars(port.data() + 1, port.data() + port.size(), out.port);
    if (port.front() != ':' || failed != std::errc() || end != port.data() + port.size() || out.port == 0)
      return wrong();
  }
  if (!IpAddress::parse(host)) return wrong();
  out.host = host;
  return out;
}

}  // namespace lockstep::sonic
