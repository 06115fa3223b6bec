#include "reconciler/pki/peer_names.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kAuthorityPrefix = "lockstep://";
constexpr std::size_t kDnsNameMax = 253;  // RFC 1035 2.3.4, without the root's dot

Error invalid(std::string_view what, std::string_view name, std::string_view why) {
  return Error{ErrorKind::invalid_spec,
               std::string(what) + " '" + printable(name.substr(0, kDnsNameMax)) + "' " + std::string(why)};
}

bool fits(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

// Whether agents accept it as a cluster.
bool is_cluster(const std::string& name) {
  const PeerIdentity identity{name, PeerRole::device, "x"};
  const auto parsed = parse_identity(identity.text());
  return parsed && *parsed == identity;
}

}  // namespace

Result<Done> check_identity(const PeerIdentity& identity) {
  constexpr std::string_view kWhy = "is invalid: 1 to 253 characters of letters, digits, '.', '_' and '-'";
  if (!is_cluster(identity.cluster)) return invalid("cluster name", identity.cluster, kWhy);
  const auto parsed = parse_identity(identity.text());
  if (!parsed || *parsed != identity) return invalid("name", identity.name, kWhy);
  return Done{};
}

Result<Done> check_dns_name(std::string_view name) {
  if (!address_bytes(std::string(name)).empty())
    return invalid("DNS name", name, "is an IP address; use --ip for it");
  if (name.find('*') != name.npos)
    return invalid("DNS name", name, "is a wildcard, which controllers refuse: it names no single device");
  if (name.empty() || name.size() > kDnsNameMax || !std::all_of(name.begin(), name.end(), fits) ||
      name.front() == '.' || name.back() == '.')
    return invalid("DNS name", name, "is invalid: 1 to 253 characters of letters, digits, '.', '_' and '-'");
  return Done{};
}

Result<Done> check_address(const std::string& address) {
  if (address_bytes(address).empty()) return invalid("IP address", address, "is invalid");
  return Done{};
}

std::string address_bytes(const std::string& address) {
  std::array<char, 16> bytes{};
  if (address.find('\0') != address.npos) return "";
  if (::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) return {bytes.data(), 4};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return {bytes.data(), 16};
  return "";
}

std::string authority_uri(const std::string& cluster) { return std::string(kAuthorityPrefix) + cluster; }

std::string cluster_of_authority(std::string_view uri) {
  if (!uri.starts_with(kAuthorityPrefix)) return "";
  std::string cluster(uri.substr(kAuthorityPrefix.size()));
  return is_cluster(cluster) ? cluster : "";
}

}  // namespace lockstep
