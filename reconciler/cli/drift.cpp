#include <nlohmann/json.hpp>

#include "reconciler/cli/accepted.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/loop_session.hpp"
#include "reconciler/cli/reach.hpp"
#include "reconciler/cli/report_places.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/plan_text.hpp"

namespace lockstep {

int run_drift(const DriftOptions& options, const Console& console) {
  if (options.format && !console.is_text())
    return console.fail_usage("--format and -o both say a form: give one of them");
  const std::unique_ptr<LoopSession> session = LoopSession::open(options.aim, console, options.only);
  if (!session) return kExitError;
  const Result<std::unique_ptr<Journal>> journal = session->read_journal();
  if (!journal) return console.fail(journal.error());
  const auto waits = waits_for_window(*session, **journal);
  if (!waits) return console.fail(waits.error());
  const std::vector<DeviceState> states = session->look();
  DriftReport report =
      report_of(session->fleet(), states, session->only(), session->origins(), session->sources(),
                {.unmanaged = options.unmanaged, .overruled = true, .waits = *waits});
  const std::string title = session->cluster().title();
  if (!options.format && !console.is_text()) {
    console.print_document(to_json(report));
    return report.exit_code();
  }
  const DriftFormat format = options.format.value_or(DriftFormat::text);
  place_in_specs(report, session->cluster());
  if (format != DriftFormat::text && format != DriftFormat::json) place_in_repository(report);
  switch (format) {
    case DriftFormat::text:
      console.print(console.out().paint(Ink::bold, "drift of " + title) + "\n" +
                    drift_text(report, console.out()) + notes_text(states, console.out()));
      break;
    case DriftFormat::json: console.print_document(to_json(report)); break;
    case DriftFormat::markdown: console.print(drift_markdown(report, title)); break;
    case DriftFormat::sarif: console.print(drift_sarif(report)); break;
    case DriftFormat::junit: console.print(drift_junit(report, title)); break;
    case DriftFormat::gitlab: console.print(drift_gitlab(report)); break;
    case DriftFormat::github: console.print(drift_github(report)); break;
  }
  return report.exit_code();
}

}  // namespace lockstep
