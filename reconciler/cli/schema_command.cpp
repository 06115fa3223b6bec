#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/report/table.hpp"
#include "specs/compile/entry_fields.hpp"
#include "specs/language/json_schema.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {

int run_schema_list(const Console& console) {
  Table table({{"kind"}, {"what"}});
  for (const KindRow& row : kind_rows()) table.add({row.name, row.doc});
  console.print(table.render(console.out()));
  return kExitInSync;
}

int run_schema(const std::string& kind, const Console& console) {
  if (kind.empty()) {
    console.print_document(json_schema_of_all(entries_schema()));
    return kExitInSync;
  }
  const KindRow* const row = find_kind(kind);
  if (row == nullptr) {
    std::string known;
    for (const KindRow& one : kind_rows()) known += (known.empty() ? "" : ", ") + std::string(one.name);
    return console.fail_usage("no kind is called '" + kind + "'; there are " + known);
  }
  console.print_document(json_schema(*row, entries_schema()));
  return kExitInSync;
}

}  // namespace lockstep
