#include "reconciler/cli/planning.hpp"

#include "reconciler/cli/console.hpp"
#include "reconciler/session/former_entries.hpp"

namespace lockstep {

Result<Planned> planned_from(ClusterSession& session, std::vector<DeviceState> states, bool details) {
  Planned out;
  PlanReport& report = out.report;
  report.title = session.cluster().title();
  report.states = std::move(states);
  TRY(report.plan, session.plan(report.states));
  TRY(report.unjudged, session.unjudged());
  out.not_observed = session.not_observed(report.states);
  report.whole = out.not_observed.empty();
  report.left = left_behind(session.fleet(), report.states, session.written());
  report.differences = session.differences(report.states);
  report.unmended = ClusterSession::unmended(report.differences, report.plan);
  report.apply_refused = session.why_apply_refused();
  if (!report.plan.empty() || !report.unjudged.left.empty()) {
    TRY(report.deletion, session.deletion_by(report.plan));
    report.deletion_refused = session.why_refused(report.deletion, false);
  }
  report.partial = session.why_partial(report.states);
  report.in_maintenance = session.in_maintenance();
  if (details) report.detail = Detail::every_change;
  const bool differs = session.changes_any_in_service(report.plan) || !report.unjudged.under_way.empty() ||
                       report.unjudged.to_judge();
  const bool refused = report.plan.refused_by_host() || !report.apply_refused.empty();
  out.exit_code =
      refused ? kExitError : exit_code_of(differs, report.whole && !report.unjudged.leaves_owed());
  return out;
}

}  // namespace lockstep
