#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/lock_report.hpp"
#include "reconciler/report/validation.hpp"

namespace lockstep {

int run_validate(const ValidateOptions& options, const Console& console) {
  const std::optional<OpenedCluster> opened = validate_cluster(options.source, console, options.strict);
  if (!opened) return kExitError;
  if (options.locked) {
    if (const std::string why = why_stale(lock_change(*opened)); !why.empty())
      return console.fail(Error{ErrorKind::invalid_spec, why});
  }
  if (console.is_text())
    console.print(validation_text(*opened));
  else
    console.print_document(of_cluster(*opened, validation_json(*opened)));
  return kExitInSync;
}

}  // namespace lockstep
