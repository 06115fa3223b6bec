#include "specs/compile/wanted_sysctls.hpp"

#include "specs/model/schema_rows.hpp"

namespace lockstep {

std::vector<std::string> wanted_sysctls(const Intent& intent) {
  std::vector<std::string> names;
  for (const Leaf& leaf : intent.want.of_row(row("sysctl[*]"))) names.emplace_back(leaf.path.key(0));
  return names;
}

}  // namespace lockstep
