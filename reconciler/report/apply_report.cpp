#include "reconciler/report/apply_report.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {
namespace {

Shown verdict_text(const GateResult& gate, const Terminal& terminal) {
  const Ink ink = gate.verdict == GateVerdict::pass   ? Ink::green
                  : gate.verdict == GateVerdict::fail ? Ink::red
                                                      : Ink::yellow;
  return compose("{}  {}", terminal.paint(ink, to_string(gate.verdict)), gate.why);
}

nlohmann::json gate_json(const std::optional<GateResult>& gate) {
  if (!gate) return nullptr;
  nlohmann::json judged = nlohmann::json::array();
  for (const Judged& one : gate->judged.all)
    if (one.attribution != Attribution::holds)
      judged.push_back(
          {{"subject", one.subject}, {"attribution", to_string(one.attribution)}, {"why", one.why}});
  return {{"verdict", to_string(gate->verdict)}, {"why", gate->why}, {"judged", std::move(judged)}};
}

std::string_view words_of(Guilt guilt) {
  switch (guilt) {
    case Guilt::exonerated: return "not this change's doing: it is broken without it, too; apply it again";
    case Guilt::not_proven: return "whether it was this change's doing could not be told";
    case Guilt::guilty: return "it was this change's doing: without it the SLO holds";
    case Guilt::open:
      return "it held before the change, and is broken without it: something else happened meanwhile";
  }
  return "";
}

}  // namespace

std::string wave_line(std::uint32_t wave, std::uint32_t of, const Terminal& terminal) {
  return terminal.paint(Ink::bold, compose("wave {} of {}", wave, of));
}

std::string step_line(const Step& step, const StepResult& result, const Terminal& terminal) {
  const bool good = result.state == StepState::done || result.state == StepState::nothing_to_do;
  std::string line = compose("  {} {} {}", terminal.paint(good ? Ink::green : Ink::red, good ? "✓" : "×"),
                             terminal.paint(Ink::cyan, step.device), step.driver);
  line += step.remedy.empty() ? "  " + counted(step.changes.size(), "change")
                              : compose("  remedy {}", step.remedy);
  line += terminal.paint(Ink::dim, compose("  {} ms", result.took.count()));
  if (!good) line += compose("  {}: {}", to_string(result.state), result.why);
  std::string words;
  for (const std::string& word : result.words) words += (words.empty() ? "" : ",") + word;
  if (!words.empty()) line += compose("  (--approve {})", words);
  return line;
}

std::string step_begun_line(const Step& step) { return compose("  … {} {}", step.device, step.driver); }

std::string phase_line(std::string_view what) { return compose("  … {}", what); }

std::string gate_line(const GateResult& gate, const Terminal& terminal) {
  return "  gate: " + verdict_text(gate, terminal);
}

std::string refused_step_line(std::uint32_t step, const std::string& why) {
  return compose("step {} is refused: {}", step, why);
}

std::string unapproved_line(const std::vector<Step>& steps) {
  std::set<std::string> devices;
  for (const Step& step : steps) devices.insert(step.device);
  return fmt::format("not in the plan file, and not run: {} that the specs ask for now, of {}; plan again",
                     counted(steps.size(), "step"), fold_hostlist({devices.begin(), devices.end()}));
}

std::string plan_file_line(const std::string& name, const PlanFile& file) {
  const PlanAim& aim = file.aim;
  std::string line =
      fmt::format("{} is of cluster {}: specs {}", name, aim.cluster, fmt::join(aim.source.specs, " "));
  if (!aim.only.empty()) line += ", only " + aim.only;
  if (aim.source.renumber) line += ", renumbered";
  if (!file.approved_by.empty()) line += ", approved by " + file.approved_by;
  return line;
}

std::string apply_text(const Applied& applied, const Plan& plan, const Terminal& terminal) {
  const ApplyReport& report = applied.report;
  std::string out;
  for (const std::vector<SuiteOutcome>& measured : applied.gates) out += bench_text(measured, terminal);
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const StepResult& step = report.steps[i];
    if (step.state != StepState::done && step.state != StepState::nothing_to_do)
      out += step_line(plan.steps[i], step, terminal) + "\n";
  }
  for (const OpenEffect& open : report.effects)
    out += compose(
        "  {} {} {}: want {}, {}\n", terminal.paint(Ink::red, "effect"), open.device, open.change.path.text(),
        open.change.want.to_string(),
        open.unread.empty() ? "have " + open.change.was.to_string() : "could not be read: " + open.unread);
  for (const std::string& note : report.notes) out += terminal.paint(Ink::dim, "  " + note) + "\n";
  if (report.gate) out += "gate: " + verdict_text(*report.gate, terminal) + "\n";
  if (report.undo) {
    out +=
        terminal.paint(Ink::bold, "undone by a planned reverse") + "\n" + plan_text(*report.undo, terminal);
    if (report.gate_after_undo)
      out += "measured again: " + verdict_text(*report.gate_after_undo, terminal) + "\n";
    if (report.guilt) out += compose("  {}\n", words_of(*report.guilt));
  }
  const bool good = report.exit_code() == 0;
  out += terminal.paint(good ? Ink::green : Ink::red, std::string(to_string(report.verdict)));
  if (plan.empty()) return out + "  what earlier runs wrote\n";
  std::set<std::string> touched;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (report.steps[i].writes > 0) touched.insert(plan.steps[i].device);
  out += compose("  {} of {} done, {}\n", report.count(StepState::done), counted(report.steps.size(), "step"),
                 touched.empty() ? "nothing was written" : counted(touched.size(), "device") + " touched");
  return out;
}

nlohmann::json apply_json(const Applied& applied, const Plan& plan, const std::string& config_hash) {
  const ApplyReport& report = applied.report;
  nlohmann::json measured = nlohmann::json::array();
  for (const std::vector<SuiteOutcome>& one : applied.gates) measured.push_back(bench_json(one, config_hash));
  nlohmann::json steps = nlohmann::json::array();
  for (const StepResult& step : report.steps) {
    steps.push_back({{"id", step.id},
                     {"state", to_string(step.state)},
                     {"why", step.why},
                     {"milliseconds", step.took.count()}});
    if (!step.words.empty()) steps.back()["approve"] = step.words;
  }
  nlohmann::json effects = nlohmann::json::array();
  for (const OpenEffect& open : report.effects)
    effects.push_back({{"device", open.device},
                       {"path", open.change.path.text()},
                       {"want", to_json(open.change.want)},
                       {"have", to_json(open.change.was)},
                       {"unread", open.unread}});
  return {{"apiVersion", "lockstep.dev/v1alpha1"},
          {"kind", "ApplyReport"},
          {"change", report.change_id},
          {"verdict", to_string(report.verdict)},
          {"planDigest", plan.digest},
          {"steps", steps},
          {"openEffects", effects},
          {"affected", report.blast.devices},
          {"gate", gate_json(report.gate)},
          {"gateAfterUndo", gate_json(report.gate_after_undo)},
          {"guilt", report.guilt ? nlohmann::json(to_string(*report.guilt)) : nlohmann::json()},
          {"owes", report.owes},
          {"benchmarks", measured.empty() ? bench_json({}, config_hash) : measured.back()},
          {"measurements", measured},
          {"notes", report.notes}};
}

std::string nothing_to_do_text(const DriftReport& unmended, const std::string& title, bool whole,
                               const Terminal& terminal) {
  if (unmended.drifted > 0)
    return unmended_text(unmended, terminal) + terminal.paint(Ink::yellow, "nothing done") +
           compose(": no step mends what differs of {} (lockstep drift)\n", title);
  if (whole)
    return terminal.paint(Ink::green, "nothing to do") + compose(": {} is as its specs say\n", title);
  return terminal.paint(Ink::yellow, "nothing done") + compose(": not all of {} could be observed\n", title);
}

nlohmann::json nothing_to_do_json(const Plan& plan, const DriftReport& unmended) {
  nlohmann::json document = to_json(plan);
  document["leftToAPerson"] = drift_json(unmended)["items"];
  return document;
}

}  // namespace lockstep
