#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "specs/language/json_schema.hpp"

namespace lockstep {

int run_schema(const std::string& kind, const Console& console) {
  const Result<nlohmann::json> schema = kind.empty() ? Result<nlohmann::json>(json_schema()) : json_schema(kind);
  if (!schema) return console.fail(schema.error());
  console.print_document(*schema);
  return kExitInSync;
}

}  // namespace lockstep
