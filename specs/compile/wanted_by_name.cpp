#include "specs/compile/wanted_by_name.hpp"

#include <algorithm>
#include <set>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Of "via 10.64.0.0 dev rail0" next hops, each port once.
std::set<std::string> ports_of_route(Value value) {
  constexpr std::string_view kDev = " dev ";
  std::set<std::string> out;
  if (value.kind() != Value::Kind::list) return out;
  for (const std::string_view hop : value.as_list())
    if (const std::size_t at = hop.rfind(kDev); at != hop.npos) out.emplace(hop.substr(at + kDev.size()));
  return out;
}

// "rail0" of "net.ipv4.conf.rail0.rp_filter"; a port's own dots are written as slashes there (sysctl(8)).
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

std::vector<Path> wanted_by_name(const Intent& intent) {
  std::vector<Path> named;
  for (const RowId one : {row("firmware[*]"), row("interface[*]/offload[*]"),
                          row("interface[*]/parameter[*]"), row("kernel/module[*]"),
                          row("kernel/parameter[*]"), row("package[*]"), row("service[*]"), row("sysctl[*]")})
    for (const Leaf& leaf : intent.want.of_row(one)) named.push_back(leaf.path);
  return named;
}

std::map<std::string, std::vector<Path>> wanted_ports(const Intent& intent) {
  std::map<std::string, std::vector<Path>> out;
  for (const Leaf& leaf : intent.want.leaves())
    if (schema_row(leaf.path.row()).pattern.starts_with("interface[*]")) out[std::string(leaf.path.key(0))];
  for (const Leaf& leaf : intent.want.of_row(row("route[*]")))
    for (const std::string& port : ports_of_route(leaf.value)) out[port].push_back(leaf.path);
  for (const Leaf& leaf : intent.want.of_row(row("sysctl[*]")))
    if (const std::string port = port_of_sysctl(leaf.path.key(0)); out.contains(port))
      out[port].push_back(leaf.path);
  return out;
}

}  // namespace lockstep
