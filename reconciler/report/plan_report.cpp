#include "reconciler/report/plan_report.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/earlier_runs.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/problems.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {

namespace {

// Problems that the plan's changes do not correct.
std::vector<ProblemLine> beside_changes(const PlanReport& report) {
  std::vector<ProblemLine> out = problem_lines(report.differences);
  std::erase_if(out, [](const ProblemLine& one) { return one.is_written; });
  return out;
}

}  // namespace

std::string plan_report_text(const PlanReport& report, const Terminal& terminal) {
  const Plan& plan = report.plan;
  std::string text = terminal.paint(Ink::bold, "plan for " + report.title) + "\n";
  text += problems_text(beside_changes(report), terminal);
  text += plan_text(plan, terminal, report.detail) +
          (report.detail == Detail::every_change ? unmended_text(report.unmended, terminal) : "") +
          findings_text(report.unmended, terminal) +
          (report.detail == Detail::every_change ? not_applied_text(report.states, terminal) : "") +
          notes_text(report.states, terminal);
  const std::string nothing =
      !report.whole                 ? terminal.paint(Ink::yellow, "nothing to do in what could be observed")
      : report.unmended.drifted > 0 ? terminal.paint(Ink::yellow, "nothing to do here, and yet it differs")
                                    : terminal.paint(Ink::green, "nothing to do");
  text += (plan.empty() ? nothing : plan_summary(plan)) + "\n";
  if (report.detail == Detail::folded && !(plan.empty() && plan.not_applicable == 0))
    text += terminal.paint(
                Ink::dim,
                "--details shows the steps in their order, every change, and what is not supported and why") +
            "\n";
  if (!plan.empty()) text += terminal.paint(Ink::dim, plan.digest) + "\n";
  text += maintenance_text(report.in_maintenance, terminal);
  if (!plan.empty() && !report.partial.empty())
    text += terminal.paint(Ink::yellow, "an apply without them needs --partial: " + report.partial) + "\n";
  if (!report.apply_refused.empty())
    text += terminal.paint(Ink::red, "an apply would be refused: " + report.apply_refused) + "\n";
  if (!report.deletion_refused.empty()) {
    text += terminal.paint(Ink::red, "an apply would be refused: " + report.deletion_refused) + "\n";
    for (const std::string& object : report.deletion.objects)
      text += terminal.paint(Ink::red, "  - ") + compose("{}\n", object);
    if (!report.deletion.devices.empty())
      text += terminal.paint(Ink::red, "  - ") + compose("{}\n", fold_hostlist(report.deletion.devices));
  }
  return text + unjudged_text(report.unjudged, terminal) + left_behind_text(report.left);
}

nlohmann::json plan_report_json(const PlanReport& report) {
  nlohmann::json document = to_json(report.plan);
  const Unjudged& unjudged = report.unjudged;
  document["neverMeasured"] = nlohmann::json::array();
  document["notValidated"] = nlohmann::json::array();
  for (const OwedDecision& one : unjudged.left)
    document[one.measured ? "notValidated" : "neverMeasured"].push_back(owed_json({one.owed})[0]);
  if (!unjudged.writer.empty())
    document["beingChanged"] = {{"by", unjudged.writer}, {"changes", owed_json(unjudged.under_way)}};
  document["leftAsIs"] = left_behind_json(report.left);
  document.update(unmended_json(report.unmended));
  document["inMaintenance"] = nlohmann::json::array();
  for (const InMaintenance& some : report.in_maintenance)
    document["inMaintenance"].push_back({{"devices", some.devices}, {"why", some.why}});
  if (!report.partial.empty()) document["needsPartial"] = report.partial;
  if (!report.apply_refused.empty()) document["applyRefused"] = report.apply_refused;
  if (!report.deletion_refused.empty())
    document["deletionRefused"] = {{"why", report.deletion_refused},
                                   {"devices", report.deletion.devices},
                                   {"objects", report.deletion.objects}};
  return document;
}

}  // namespace lockstep
