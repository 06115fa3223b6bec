#include "specs/compile/wanted_by_name.hpp"

#include "specs/model/schema_rows.hpp"

namespace lockstep {

std::vector<Path> wanted_by_name(const Intent& intent) {
  std::vector<Path> named;
  for (const RowId one : {row("firmware[*]"), row("interface[*]/offload[*]"),
                          row("interface[*]/parameter[*]"), row("kernel/module[*]"),
                          row("kernel/parameter[*]"), row("package[*]"), row("service[*]"), row("sysctl[*]")})
    for (const Leaf& leaf : intent.want.of_row(one)) named.push_back(leaf.path);
  return named;
}

std::set<std::string> wanted_ports(const Intent& intent) {
  std::set<std::string> out;
  for (const Leaf& leaf : intent.want.leaves())
    if (schema_row(leaf.path.row()).pattern.starts_with("interface[*]")) out.emplace(leaf.path.key(0));
  return out;
}

}  // namespace lockstep
