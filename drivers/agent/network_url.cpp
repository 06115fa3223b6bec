#include <algorithm>
#include <charconv>

#include "drivers/agent/network.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kHttps = "https://";
constexpr std::size_t kHostMax = 253;  // RFC 1035 2.3.4, as text

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_host_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '.' || c == '_';
}

// A resolver takes "10.1" for 10.0.0.1 (inet_aton(3)): what ends like an address has to be one.
bool is_host_name(std::string_view host) {
  if (host.empty() || host.size() > kHostMax || !std::ranges::all_of(host, is_of_host_name)) return false;
  if (host.front() == '.' || host.front() == '-' || host.find("..") != host.npos) return false;
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return !last.empty() && !std::ranges::all_of(last, is_digit);
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (code != std::errc{} || end != text.data() + text.size() || port == 0)
    return Error{ErrorKind::invalid_spec, "port '" + std::string(text) + "' is not a number from 1 to 65535"};
  return port;
}

Result<AgentEndpoint> parse_authority(std::string_view text) {
  AgentEndpoint out;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    out.host = text.substr(1, end == text.npos ? end : end - 1);
    const auto address = IpAddress::parse(out.host);
    if (end == text.npos || !address || !address->v6)
      return Error{ErrorKind::invalid_spec, "'" + out.host + "' is not an IPv6 address in brackets"};
    rest = text.substr(end + 1);
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    out.host = text.substr(0, end);
    rest = text.substr(end);
    if (rest.find(':', 1) != rest.npos)
      return Error{ErrorKind::invalid_spec, "an IPv6 address needs brackets: https://[fd00::1]:7443"};
    if (!IpAddress::parse(out.host) && !is_host_name(out.host))
      return Error{ErrorKind::invalid_spec, "'" + out.host + "' is neither a host name nor an IP address"};
  }
  if (rest.empty()) return out;
  if (rest.front() != ':')
    return Error{ErrorKind::invalid_spec, "'" + std::string(rest) + "' follows the host"};
  TRY(out.port, parse_port(rest.substr(1)));
  return out;
}

}  // namespace

std::string AgentEndpoint::text() const {
  const bool v6 = host.find(':') != host.npos;
  return std::string(kHttps) + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string AgentAddress::text() const { return device + " (" + endpoint.text() + ")"; }

Result<AgentEndpoint> parse_agent_url(std::string_view url) {
  const std::string subject = "agent URL '" + std::string(url) + "'";
  if (!url.starts_with(kHttps))
    return Error{ErrorKind::invalid_spec, subject + " does not begin with https://"};
  const std::string_view authority = url.substr(kHttps.size());
  for (const auto& [character, what] : {std::pair{'/', "a path"}, std::pair{'?', "a query"},
                                        std::pair{'#', "a fragment"}, std::pair{'@', "a user name"}})
    if (authority.find(character) != authority.npos)
      return Error{ErrorKind::invalid_spec, subject + " has " + what + "; it is https://HOST[:PORT]"};
  auto out = parse_authority(authority);
  if (!out) return Error{ErrorKind::invalid_spec, subject + ": " + out.error().what};
  return out;
}

}  // namespace lockstep
