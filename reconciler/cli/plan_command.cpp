#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/plan_report.hpp"
#include "reconciler/session/former_entries.hpp"
#include "reconciler/session/plan_file.hpp"

namespace lockstep {

int run_plan(const PlanOptions& options, const Console& console) {
  if (!options.out.empty() && !is_plan_file({options.out}))
    return console.fail_usage("--out: a plan file's name ends in .json; `apply` takes any other for specs");
  const std::unique_ptr<CommandSession> command = CommandSession::open(options.source, console, options.only);
  if (!command) return kExitError;
  ClusterSession& session = **command;
  PlanReport report;
  report.title = session.cluster().title();
  console.say_passing("observing " + report.title);
  report.states = session.observe();
  console.say_passing("");
  if (const std::optional<int> code = console.interrupted()) return *code;
  Result<Plan> plan = session.plan(report.states);
  if (!plan) return console.fail(plan.error());
  report.plan = *std::move(plan);
  if (!options.out.empty()) {
    if (Result<Done> written =
            write_plan_file(options.out, {options.source, options.only, session.cluster().state_name()},
                            report.plan, options.sign);
        !written)
      return console.fail(written.error());
  }
  Result<Unjudged> open = session.unjudged();
  if (!open) return console.fail(open.error());
  report.unjudged = *std::move(open);
  report.whole = tell_not_observed(session.not_observed(report.states), console) == kExitInSync;
  report.left = left_behind(session.fleet(), report.states, session.written());
  report.differences = session.differences(report.states);
  report.unmended = ClusterSession::unmended(report.differences, report.plan);
  report.apply_refused = session.why_apply_refused();
  if (!report.plan.empty() || !report.unjudged.left.empty()) {
    Result<Deletion> deletion = session.deletion_by(report.plan);
    if (!deletion) return console.fail(deletion.error());
    report.deletion = *std::move(deletion);
    report.deletion_refused = session.why_refused(report.deletion, false);
  }
  report.partial = session.why_partial(report.states);
  report.in_maintenance = session.in_maintenance();
  if (options.details) report.detail = Detail::every_change;
  if (console.is_text())
    console.print(plan_report_text(report, console.out()));
  else
    console.print_document(of_cluster(session.cluster(), plan_report_json(report)));
  const bool differs = session.changes_any_in_service(report.plan) || !report.unjudged.under_way.empty() ||
                       report.unjudged.to_judge();
  const bool refused = report.plan.refused_by_host() || !report.apply_refused.empty();
  return refused ? kExitError : exit_code_of(differs, report.whole && !report.unjudged.leaves_owed());
}

}  // namespace lockstep
