#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/report_places.hpp"

namespace lockstep {
int run_drift(const DriftOptions& options, const Console& console) {
  if (options.format && !console.is_text())
    return console.fail_usage("--format and -o both say a form: give one of them");
  const std::unique_ptr<CommandSession> command = CommandSession::open(options.source, console, options.only);
  if (!command) return kExitError;
  ClusterSession& session = **command;
  Result<ObservedDrift> observed = session.drift(options.unmanaged);
  if (!observed) return console.fail(observed.error());
  if (const std::optional<int> code = console.interrupted()) return *code;
  DriftReport& report = observed->report;
  const std::string title = session.cluster().title();
  const Detail detail = options.details ? Detail::every_change : Detail::folded;
  if (!options.format && !console.is_text()) {
    console.print_document(of_cluster(session.cluster(), drift_json(report, detail)));
    return report.exit_code();
  }
  const DriftFormat format = options.format.value_or(DriftFormat::text);
  place_in_specs(report, session.cluster());
  if (format != DriftFormat::text && format != DriftFormat::json) place_in_repository(report);
  switch (format) {
    case DriftFormat::text:
      console.print(drift_of_text(title, report, observed->states, console.out(), detail));
      break;
    case DriftFormat::json:
      console.print_document(of_cluster(session.cluster(), drift_json(report, detail)));
      break;
    case DriftFormat::markdown: console.print_format(drift_markdown(report, title)); break;
    case DriftFormat::sarif: console.print_format(drift_sarif(report)); break;
    case DriftFormat::junit: console.print_format(drift_junit(report, title)); break;
    case DriftFormat::gitlab: console.print_format(drift_gitlab(report)); break;
    case DriftFormat::github: console.print_format(drift_github(report)); break;
  }
  return report.exit_code();
}

}  // namespace lockstep
