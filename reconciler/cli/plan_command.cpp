#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/planning.hpp"
#include "reconciler/session/plan_file.hpp"

namespace lockstep {

int run_plan(const PlanOptions& options, const Console& console) {
  if (!options.out.empty() && !is_plan_file({options.out}))
    return console.fail_usage("--out: a plan file's name ends in .json; `apply` takes any other for specs");
  if (options.at.is_named()) return run_plan_by_service(options, console);
  const std::unique_ptr<CommandSession> command = CommandSession::open(options.source, console, options.only);
  if (!command) return kExitError;
  ClusterSession& session = **command;
  console.say_passing("observing " + session.cluster().title());
  std::vector<DeviceState> states = session.observe();
  console.say_passing("");
  if (const std::optional<int> code = console.interrupted()) return *code;
  const Result<Planned> planned = planned_from(session, std::move(states), options.details);
  if (!planned) return console.fail(planned.error());
  const PlanReport& report = planned->report;
  if (!options.out.empty()) {
    if (Result<Done> written =
            write_plan_file(options.out, {options.source, options.only, session.cluster().state_name()},
                            report.plan, options.sign);
        !written)
      return console.fail(written.error());
  }
  (void)tell_not_observed(planned->not_observed, console);
  if (console.is_text())
    console.print(plan_report_text(report, console.out()));
  else
    console.print_document(of_cluster(session.cluster(), plan_report_json(report)));
  return planned->exit_code;
}

}  // namespace lockstep
