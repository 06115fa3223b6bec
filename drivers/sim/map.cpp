#include "drivers/sim/map.hpp"

#include "specs/model/schema_rows.hpp"

namespace lockstep::sim {
namespace {

constexpr RowId kAddress = row("interface[*]/address[*]");
constexpr RowId kAdmin = row("interface[*]/admin");
constexpr RowId kRoute = row("route[*]");

bool is_part_of(Path part, Path whole) {
  if (!schema_row(part.row()).is_part_of(schema_row(whole.row()).pattern)) return false;
  for (std::size_t i = 0; i < whole.key_count(); ++i)
    if (part.key_id(i) != whole.key_id(i)) return false;
  return true;
}

bool uses_port(const Entry& route, std::string_view port) {
  const std::string suffix = " dev " + std::string(port);
  for (const std::string_view hop : route.value.as_list())
    if (hop.size() >= suffix.size() && hop.substr(hop.size() - suffix.size()) == suffix) return true;
  return false;
}

}  // namespace

std::vector<Path> gone_with(const Tree& tree, const Change& change) {
  std::vector<Path> gone;
  const RowId changed = change.path.row();
  if (!change.want && schema_row(changed).type == EntryType::present) {
    for (const Entry& entry : tree.entries())
      if (schema_row(entry.path.row()).facet == Facet::config && is_part_of(entry.path, change.path))
        gone.push_back(entry.path);
  }
  const bool lost_address = changed == kAddress && !change.want;
  const bool shut = changed == kAdmin && change.want == Value::boolean(false);
  if (lost_address || shut) {
    for (const Entry& entry : tree.of_row(kRoute))
      if (uses_port(entry, change.path.key(0))) gone.push_back(entry.path);
  }
  return gone;
}

}  // namespace lockstep::sim
