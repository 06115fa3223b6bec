#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/lock_report.hpp"
#include "reconciler/report/validation.hpp"

namespace lockstep {
namespace {

// Of specs that could not be loaded at all: the error, at no line.
std::vector<CiFinding> findings_in(const Result<OpenedCluster>& loaded, bool strict) {
  if (loaded) return validation_findings(loaded->diagnostics, loaded->catalog.sources, strict);
  return {{"lockstep/unreadable", CiFinding::Level::critical, loaded.error().text(), "unreadable", {}}};
}

}  // namespace

int run_validate(const ValidateOptions& options, const Console& console) {
  if (options.format && !console.is_text())
    return console.fail_usage("--format and -o both say a form: give one of them");
  Result<OpenedCluster> loaded = load_to_validate(options.source);
  std::vector<CiFinding> findings = findings_in(loaded, options.strict);
  const std::optional<OpenedCluster> opened = validated(std::move(loaded), console, options.strict);
  const std::string stale = opened && options.locked ? why_stale(lock_change(*opened)) : "";
  if (!stale.empty()) {
    findings.push_back(stale_lock_finding(opened->folder, stale));
    (void)console.fail(Error{ErrorKind::invalid_spec, stale});
  }
  if (options.format)
    console.print_format(*options.format == ValidateFormat::gitlab ? gitlab_findings(findings)
                                                                   : github_findings(findings));
  if (!opened || !stale.empty()) return kExitError;
  if (options.format) return kExitInSync;
  if (console.is_text())
    console.print(validation_text(*opened));
  else
    console.print_document(of_cluster(*opened, validation_json(*opened)));
  return kExitInSync;
}

}  // namespace lockstep
