// ConfigPatch: the difference of two configurations as a JSON patch (RFC 6902) for `config apply-patch`.
//
// Promises: applied to the first configuration it gives the second. Its operations are those that SONiC's
// tool finds itself when it compares both (python-jsonpatch): of a table that comes or goes, of a row, or of
// a field; never below a field. A table goes with its last row: CONFIG_DB has none that is empty. Names are
// escaped (RFC 6901). A row that changes or goes is tested first to be as it was: the patch fails as a whole
// where somebody has changed one of them meanwhile. SONiC's tool sorts the changes itself, whatever the order
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drivers/sonic/config_db.hpp"

namespace lockstep::sonic {

// Of a table, of a row or of a field.
using PatchValue = std::variant<ConfigTable, ConfigRow, ConfigField>;

enum class PatchKind : std::uint8_t { add, replace, remove };

struct PatchOperation {
  PatchKind kind;
  std::string table;
  std::string key{};                 // empty: the whole table
  std::string field{};               // empty: the whole row
  std::optional<PatchValue> was{};   // none: there was none
  std::optional<PatchValue> want{};  // none: it goes
};
constexpr std::string_view to_string(PatchKind kind) {
  switch (kind) {
    case PatchKind::add: return "add";
    case PatchKind::replace: return "replace";
    case PatchKind::remove: return "remove";
  }
  return "unknown";
}

// In the order of table, key and field.
std::vector<PatchOperation> patch_of(const ConfigDb& now, const ConfigDb& target);
// Makes `target` as it was before an operation, there.
void revert(const PatchOperation& operation, ConfigDb& target);
// TABLE|key, or the table.
std::string place_text(const PatchOperation& operation);

// One operation, as JSON in one line.
std::string operation_json(const PatchOperation& operation);
// `now_text`: the configuration as the switch printed it, from which the tests are taken.
Result<std::string> patch_json(const std::vector<PatchOperation>& patch, std::string_view now_text);

}  // namespace lockstep::sonic
