#include "specs/compile/wanted_by_name.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kRouted = row("fib[*]");
constexpr RowId kRoutedByNumber = row("fib[*]/paths");
constexpr RowId kPort = row("interface[*]");
constexpr RowId kRoute = row("route[*]");
constexpr RowId kSysctl = row("sysctl[*]");
constexpr RowId kByName[] = {row("diverted[*]/filters"),
                             row("diverted[*]/neighbors"),
                             row("diverted[*]/sent"),
                             row("diverted[*]/transit"),
                             row("firmware[*]"),
                             row("interface[*]/offload[*]"),
                             row("interface[*]/parameter[*]"),
                             row("interface[*]/setting[*]"),
                             row("kernel/module[*]"),
                             row("kernel/parameter[*]"),
                             row("package[*]"),
                             row("raw[*][*]"),
                             row("route-mtu[*]"),
                             row("service[*]"),
                             kSysctl};

// From "via 10.64.0.0 dev rail0" next hops, each port once.
std::set<std::string, std::less<>> ports_of_route(Value value) {
  constexpr std::string_view kDev = " dev ";
  std::set<std::string, std::less<>> out;
  if (value.kind() != Value::Kind::list) return out;
  for (const std::string_view hop : value.as_list())
    if (const std::size_t at = hop.rfind(kDev); at != hop.npos) out.emplace(hop.substr(at + kDev.size()));
  return out;
}

// "rail0" of "net.ipv4.conf.rail0.rp_filter"; dots in a port's name are written as slashes there (sysctl(8)).
std::string port_of_sysctl(std::string_view name) {
  for (const std::string_view stem :
       {"net.ipv4.conf.", "net.ipv6.conf.", "net.ipv4.neigh.", "net.ipv6.neigh."}) {
    if (!name.starts_with(stem)) continue;
    std::string port(name.substr(stem.size(), name.find('.', stem.size()) - stem.size()));
    std::replace(port.begin(), port.end(), '/', '.');
    return port;
  }
  return {};
}

}  // namespace

bool is_read_by_name(RowId row) {
  return std::find(std::begin(kByName), std::end(kByName), row) != std::end(kByName);
}

std::vector<Path> wanted_by_name(const Intent& intent) {
  std::vector<Path> named;
  for (const RowId one : kByName)
    for (const Entry& entry : intent.want.of_row(one)) named.push_back(entry.path);
  for (const Claim& claim : intent.claims)
    if (is_read_by_name(claim.collection) && claim.keys.size() == 1)
      named.push_back(Path(claim.collection, {claim.keys.front()}));
  const bool looks_for_diversions = std::ranges::any_of(
      named, [](Path one) { return schema_row(one.row()).pattern.starts_with("diverted[*]"); });
  if (looks_for_diversions)
    for (const RowId one : {kRouted, kRoutedByNumber})
      for (const Entry& entry : intent.want.of_row(one)) named.push_back(Path(kRouted, {entry.path.key(0)}));
  std::set<std::string, std::less<>> ports;
  for (const Entry& entry : intent.want.entries())
    if (schema_row(entry.path.row()).pattern.starts_with("interface[*]") &&
        !ports.contains(entry.path.key(0)))
      ports.emplace(entry.path.key(0));
  for (const Entry& entry : intent.want.of_row(kRoute)) ports.merge(ports_of_route(entry.value));
  for (const std::string& port : ports) named.push_back(Path(kPort, {port}));
  return named;
}

std::vector<Path> ports_needed(Path entry, Value want) {
  std::vector<Path> out;
  if (entry.row() == kRoute)
    for (const std::string& port : ports_of_route(want)) out.push_back(Path(kPort, {port}));
  if (entry.row() == kSysctl)
    if (const std::string port = port_of_sysctl(entry.key(0)); !port.empty())
      out.push_back(Path(kPort, {port}));
  return out;
}

}  // namespace lockstep
