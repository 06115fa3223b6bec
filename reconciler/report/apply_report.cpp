#include "reconciler/report/apply_report.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/earlier_runs.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/problems.hpp"
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

nlohmann::json effects_json(const std::vector<OpenEffect>& all) {
  nlohmann::json out = nlohmann::json::array();
  for (const OpenEffect& open : all)
    out.push_back({{"device", open.device},
                   {"path", open.change.path.text()},
                   {"want", to_json(open.change.want)},
                   {"have", to_json(open.change.was)},
                   {"unread", open.unread}});
  return out;
}

nlohmann::json undone_json(const std::vector<UndoneChange>& all) {
  nlohmann::json out = nlohmann::json::array();
  for (const UndoneChange& one : all)
    out.push_back({{"change", one.change},
                   {"hosts", one.hosts},
                   {"whole", one.whole},
                   {"gate", gate_json(one.again)},
                   {"guilt", one.guilt ? nlohmann::json(to_string(*one.guilt)) : nlohmann::json()}});
  return out;
}

std::string_view guilt_words(Guilt guilt) {
  switch (guilt) {
    case Guilt::exonerated: return "not this change's doing: it is broken without it, too; apply it again";
    case Guilt::not_proven: return "whether it was this change's doing could not be determined";
    case Guilt::guilty: return "it was this change's doing: pairs that were broken hold without it";
    case Guilt::open:
      return "it held before the change, and is broken without it: something else happened meanwhile";
  }
  return "";
}

// `step`: its number in the plan file, or in the plan that ran; null: it has none. `other_end`: the port, or
// the device, because of which it was skipped; empty: none.
nlohmann::json not_run_json(const std::string& device, nlohmann::json step, std::string_view state,
                            const std::string& reason, const std::string& other_end) {
  nlohmann::json out{{"device", device}, {"step", std::move(step)}, {"state", state}, {"reason", reason}};
  if (!other_end.empty()) out["otherEnd"] = other_end;
  return out;
}

// Devices on which something was executed, remedies included, and how long the traffic of each was disrupted.
std::map<std::string, std::chrono::milliseconds> touched_by(const Plan& plan, const ApplyReport& report) {
  std::map<std::string, std::chrono::milliseconds> out;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (report.steps[i].writes > 0) out[plan.steps[i].device] += report.steps[i].disturbed;
  return out;
}

// Less is shown as 0.0 s.
constexpr std::chrono::milliseconds kLeastShown{50};
// As many as fit a line.
constexpr std::size_t kDisturbedNamed = 4;

std::string touched_text(const std::map<std::string, std::chrono::milliseconds>& touched) {
  if (touched.empty()) return "nothing was written";
  std::vector<std::pair<std::chrono::milliseconds, std::string>> longest;
  for (const auto& [device, disturbed] : touched)
    if (disturbed >= kLeastShown) longest.emplace_back(disturbed, device);
  std::sort(longest.begin(), longest.end(), std::greater<>());
  std::string out = counted(touched.size(), "device") + " touched";
  for (std::size_t i = 0; i < longest.size() && i < kDisturbedNamed; ++i)
    out += compose("{}{} {:.1f} s", i == 0 ? "; traffic disturbed: " : ", ", longest[i].second,
                   static_cast<double>(longest[i].first.count()) / 1000.0);
  if (longest.size() > kDisturbedNamed) out += compose(" and {} more", longest.size() - kDisturbedNamed);
  return out;
}

// "not needed: frr remedy reinstall-multipath  leaf[0-1]"; likewise for those that were executed.
std::string remedies_text(const Plan& plan, const ApplyReport& report, const Terminal& terminal) {
  std::map<std::string, std::vector<std::string>> devices;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const StepResult& result = report.steps[i];
    if (step.remedy.empty() || !is_good(result.state)) continue;
    std::string what = result.state == StepState::done ? "carried out: " : "not needed: ";
    what += step.driver + " remedy " + step.remedy + (result.why.empty() ? "" : ", " + result.why);
    devices[what].push_back(step.device);
  }
  std::string out;
  for (const auto& [what, those] : devices)
    out += compose("  {}  {}\n", what, terminal.paint(Ink::cyan, fold_hostlist(those)));
  return out;
}

// Steps of a rollback that did not succeed, with the reason.
std::string not_undone_text(const UndoneChange& undone, const Terminal& terminal) {
  std::string out;
  for (std::size_t i = 0; i < undone.steps.size(); ++i) {
    const StepResult& result = undone.steps[i];
    if (is_good(result.state)) continue;
    out += compose("  {} {} {}: {}: {}\n", terminal.paint(Ink::red, "not rolled back:"),
                   undone.plan.steps[i].device, undone.plan.steps[i].driver,
                   outcome_words(to_string(result.state)), result.why);
  }
  return out;
}

bool is_left(const StepResult& step) {
  return step.state == StepState::held || step.state == StepState::skipped ||
         step.state == StepState::stopped;
}

// The deciding measurement: for a change that was rolled back, the one that failed before that; else the last
// one.
const std::vector<SuiteOutcome>* deciding(const Applied& applied) {
  const auto failed = [](const std::vector<SuiteOutcome>& one) {
    return std::ranges::any_of(
        one, [](const SuiteOutcome& suite) { return suite.verdict == bench::Verdict::fail; });
  };
  const auto again = std::ranges::count_if(applied.report.undone,
                                           [](const UndoneChange& one) { return one.again.has_value(); });
  const auto after_undo = std::min(again, std::ssize(applied.gates));
  if (!applied.report.undone.empty())
    for (auto one = applied.gates.rbegin() + after_undo; one != applied.gates.rend(); ++one)
      if (failed(*one)) return &*one;
  return applied.gates.empty() ? nullptr : &applied.gates.back();
}

}  // namespace

std::string done_text(const Plan& plan, const ApplyReport& report) {
  struct Counts {
    std::size_t done = 0;
    std::size_t all = 0;  // that were needed
  };
  Counts steps;
  Counts remedies;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const StepState state = report.steps[i].state;
    if (state == StepState::not_needed) continue;
    Counts& of = plan.steps[i].remedy.empty() ? steps : remedies;
    ++of.all;
    of.done += state == StepState::done ? 1 : 0;
  }
  std::string out;
  if (steps.all > 0 || remedies.all == 0)
    out = compose("{} of {} done", steps.done, counted(steps.all, "step"));
  if (remedies.all > 0)
    out += compose("{}{} of {} done", out.empty() ? "" : ", ", remedies.done,
                   counted(remedies.all, "remedy", "remedies"));
  return out;
}

std::string wave_line(std::uint32_t wave, std::uint32_t of, const Terminal& terminal) {
  return terminal.paint(Ink::bold, compose("wave {} of {}", wave, of));
}

std::string step_line(const Step& step, const StepResult& result, const Terminal& terminal) {
  const bool good = is_good(result.state);
  std::string line = compose("  {} {} {}", terminal.paint(good ? Ink::green : Ink::red, good ? "✓" : "×"),
                             terminal.paint(Ink::cyan, step.device), step.driver);
  line += step.remedy.empty() ? "  " + counted(step.changes.size(), "change")
                              : compose("  remedy {}", step.remedy);
  const bool ran = !is_left(result) && result.state != StepState::not_needed;
  if (ran) line += terminal.paint(Ink::dim, compose("  {} ms", result.took.count()));
  if (result.state == StepState::not_needed) line += "  not needed";
  if (!good) line += compose("  {}: {}", outcome_words(to_string(result.state)), result.why);
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

std::string left_out_text(const CheckedPlan& checked, const Plan& earlier, const Terminal& terminal) {
  std::string out;
  for (const auto& [id, why] : checked.refused)
    out += compose("  {} {} step {} of the plan file is refused: {}\n", terminal.paint(Ink::red, "×"),
                   terminal.paint(Ink::cyan, earlier.steps[id - 1].device), id, why);
  if (checked.unapproved.empty()) return out;
  std::set<std::string> devices;
  for (const Step& step : checked.unapproved) devices.insert(step.device);
  return out +
         compose("not in the plan file, and not run: {} that the specs ask for now, of {}; plan again\n",
                 counted(checked.unapproved.size(), "step"), fold_hostlist({devices.begin(), devices.end()}));
}

nlohmann::json left_out_json(const CheckedPlan& checked, const Plan& earlier) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [id, why] : checked.refused) {
    const auto other = checked.other_ends.find(id);
    out.push_back(not_run_json(earlier.steps[id - 1].device, id, "refused", why,
                               other == checked.other_ends.end() ? "" : other->second));
  }
  for (const Step& step : checked.unapproved)
    out.push_back(
        not_run_json(step.device, nullptr, "notInPlanFile", "the specs ask for it now: plan again", ""));
  return out;
}

nlohmann::json refused_whole_json(const Error& why, nlohmann::json left_out) {
  return {{"kind", "ApplyReport"},
          {"verdict", "refused"},
          {"why", why.what},
          {"steps", nlohmann::json::array()},
          {"notRun", std::move(left_out)}};
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

std::string apply_text(const Applied& applied, const Plan& plan, const Terminal& terminal,
                       std::size_t left_out) {
  const ApplyReport& report = applied.report;
  std::string out;
  if (const auto* const measured = deciding(applied); measured != nullptr)
    out += bench_problems_text(*measured, terminal) + bench_text(*measured, terminal);
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const StepResult& step = report.steps[i];
    if (!is_good(step.state)) out += step_line(plan.steps[i], step, terminal) + "\n";
  }
  out += remedies_text(plan, report, terminal);
  out += problems_text(problem_lines(applied.open), terminal);
  if (const std::vector<ProblemLine> before = problem_lines(applied.open_before); !before.empty())
    out += terminal.paint(Ink::yellow, compose("problems before this change: {}", before.size())) + "\n" +
           problem_rows_text(before, terminal);
  for (const std::string& note : report.notes) out += terminal.paint(Ink::dim, "  " + note) + "\n";
  if (report.gate) out += "gate: " + verdict_text(*report.gate, terminal) + "\n";
  for (const UndoneChange& one : report.undone) {
    out += terminal.paint(Ink::bold, "rolled back by a plan in reverse order") +
           compose(": change {}{}\n", one.change,
                   one.hosts.empty()
                       ? ""
                       : ", on " + fold_hostlist({one.hosts.begin(), one.hosts.end()}) + " alone") +
           plan_text(one.plan, terminal) + not_undone_text(one, terminal);
    if (one.again) out += "measured again: " + verdict_text(*one.again, terminal) + "\n";
    if (one.guilt) out += compose("  {}\n", guilt_words(*one.guilt));
  }
  const bool good = report.exit_code() == 0;
  out += terminal.paint(good ? Ink::green : Ink::red, outcome_words(to_string(report.verdict)));
  if (plan.empty())
    return out + (report.verdict == ApplyVerdict::nothing_to_do ? "\n" : "  what earlier runs wrote\n");
  out += compose("  {}, {}\n", done_text(plan, report), touched_text(touched_by(plan, report)));
  if (left_out > 0)
    out +=
        terminal.paint(Ink::red, counted(left_out, "step")) + " refused or not in the plan file: see above\n";
  return out;
}

nlohmann::json apply_json(const Applied& applied, const Plan& plan, const std::string& config_hash,
                          nlohmann::json left_out) {
  const ApplyReport& report = applied.report;
  nlohmann::json measured = nlohmann::json::array();
  for (const std::vector<SuiteOutcome>& one : applied.gates) measured.push_back(bench_json(one, config_hash));
  nlohmann::json touched = nlohmann::json::array();
  for (const auto& [device, disturbed] : touched_by(plan, report))
    touched.push_back({{"device", device}, {"disturbedMilliseconds", disturbed.count()}});
  nlohmann::json steps = nlohmann::json::array();
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const StepResult& step = report.steps[i];
    steps.push_back({{"id", step.id},
                     {"device", plan.steps[i].device},
                     {"state", to_string(step.state)},
                     {"why", step.why},
                     {"milliseconds", step.took.count()}});
    if (!plan.steps[i].remedy.empty()) steps.back()["remedy"] = plan.steps[i].remedy;
    if (!step.words.empty()) steps.back()["approve"] = step.words;
    if (is_left(step))
      left_out.push_back(
          not_run_json(plan.steps[i].device, step.id, to_string(step.state), step.why, step.other_end));
  }
  return {{"kind", "ApplyReport"},
          {"change", report.change_id},
          {"verdict", to_string(report.verdict)},
          {"planDigest", plan.digest},
          {"steps", steps},
          {"touched", std::move(touched)},
          {"notRun", std::move(left_out)},
          {"openEffects", effects_json(report.effects)},
          {"affected", report.blast.devices},
          {"gate", gate_json(report.gate)},
          {"openBefore", effects_json(report.open_before)},
          {"undone", undone_json(report.undone)},
          {"gateAfterUndo", report.undone.empty() ? nlohmann::json() : gate_json(report.undone.back().again)},
          {"guilt", report.guilt() ? nlohmann::json(to_string(*report.guilt())) : nlohmann::json()},
          {"notValidated", report.owes || report.leaves_owed},
          {"unjournalled", report.unjournalled},
          {"benchmarks", measured.empty() ? bench_json({}, config_hash) : measured.back()},
          {"measurements", measured},
          {"notes", report.notes}};
}

std::string nothing_to_do_text(const DriftReport& differences, const std::string& title, bool whole,
                               const Terminal& terminal) {
  if (differences.drifted > 0)
    return problems_text(problem_lines(differences), terminal) + terminal.paint(Ink::yellow, "nothing done") +
           compose(": no step corrects what differs in {} (lockstep drift)\n", title);
  if (whole)
    return terminal.paint(Ink::green, "nothing to do") + compose(": {} is as its specs say\n", title);
  return terminal.paint(Ink::yellow, "nothing done") + compose(": not all of {} could be observed\n", title);
}

nlohmann::json nothing_to_do_json(const Plan& plan, const DriftReport& unmended) {
  nlohmann::json document = to_json(plan);
  document.update(unmended_json(unmended));
  return document;
}

}  // namespace lockstep
