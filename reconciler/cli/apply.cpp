#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/cli/accepted.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/former_leaves.hpp"
#include "reconciler/cli/loop_session.hpp"
#include "reconciler/cli/owed.hpp"
#include "reconciler/cli/plan_file.hpp"
#include "reconciler/cli/suites.hpp"
#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

// A person's word, or --yes; without a terminal nobody can be asked.
Result<bool> confirmed(const ApplyCommandOptions& options, const std::string& question,
                       const Console& console) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) == 0 || !console.is_text())
    return Error{ErrorKind::denied, "nobody is there to ask: pass --yes"};
  return console.ask(question);
}

std::string step_line(const Step& step, const StepResult& result, const Terminal& terminal) {
  const bool good = result.state == StepState::done || result.state == StepState::nothing_to_do;
  std::string line = fmt::format("  {} {} {}", terminal.paint(good ? Ink::green : Ink::red, good ? "✓" : "×"),
                                 terminal.paint(Ink::cyan, step.device), step.driver);
  line += step.remedy.empty() ? "  " + counted(step.changes.size(), "change") : "  remedy " + step.remedy;
  line += terminal.paint(Ink::dim, fmt::format("  {} ms", result.took.count()));
  if (!good) line += fmt::format("  {}: {}", to_string(result.state), result.why);
  return line;
}

Progress progress_on(const Console& console) {
  Progress progress;
  progress.wave = [&console](std::uint32_t wave, std::uint32_t of) {
    console.say(console.progress().paint(Ink::bold, fmt::format("wave {} of {}", wave, of)));
  };
  progress.step = [&console](const Step& step, const StepResult& result) {
    if (result.state == StepState::running || result.state == StepState::waiting) {
      console.say_passing(fmt::format("  … {} {}", step.device, step.driver));
    } else {
      console.say(step_line(step, result, console.progress()));
    }
  };
  progress.phase = [&console](std::string_view what) { console.say_passing("  … " + std::string(what)); };
  progress.gate = [&console](const GateResult& gate) {
    const Ink ink = gate.verdict == GateVerdict::pass   ? Ink::green
                    : gate.verdict == GateVerdict::fail ? Ink::red
                                                        : Ink::yellow;
    console.say(
        fmt::format("  gate: {}  {}", console.progress().paint(ink, to_string(gate.verdict)), gate.why));
  };
  return progress;
}

nlohmann::json gate_json(const std::optional<GateResult>& gate) {
  if (!gate) return nullptr;
  return {{"verdict", to_string(gate->verdict)}, {"why", gate->why}};
}

using Gates = std::vector<std::vector<SuiteOutcome>>;

nlohmann::json report_json(const ApplyReport& report, const Plan& plan, const Gates& gates,
                           const std::string& hash) {
  nlohmann::json measured = nlohmann::json::array();
  for (const std::vector<SuiteOutcome>& one : gates) measured.push_back(bench_json(one, hash));
  nlohmann::json steps = nlohmann::json::array();
  for (const StepResult& step : report.steps)
    steps.push_back({{"id", step.id},
                     {"state", to_string(step.state)},
                     {"why", step.why},
                     {"milliseconds", step.took.count()}});
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
          {"owes", report.owes},
          {"benchmarks", measured.empty() ? bench_json({}, hash) : measured.back()},
          {"measurements", measured},
          {"notes", report.notes}};
}

std::string gate_text(std::string_view title, const GateResult& gate, const Terminal& terminal) {
  const Ink ink = gate.verdict == GateVerdict::pass   ? Ink::green
                  : gate.verdict == GateVerdict::fail ? Ink::red
                                                      : Ink::yellow;
  return fmt::format("{}: {}  {}\n", title, terminal.paint(ink, to_string(gate.verdict)), gate.why);
}

std::string report_text(const ApplyReport& report, const Plan& plan, const Gates& gates,
                        const Terminal& terminal) {
  std::string out;
  for (const std::vector<SuiteOutcome>& measured : gates) out += bench_text(measured, terminal);
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const StepResult& step = report.steps[i];
    if (step.state != StepState::done && step.state != StepState::nothing_to_do)
      out += step_line(plan.steps[i], step, terminal) + "\n";
  }
  for (const OpenEffect& open : report.effects)
    out += fmt::format(
        "  {} {} {}: want {}, {}\n", terminal.paint(Ink::red, "effect"), open.device, open.change.path.text(),
        open.change.want.to_string(),
        open.unread.empty() ? "have " + open.change.was.to_string() : "could not be read: " + open.unread);
  for (const std::string& note : report.notes) out += terminal.paint(Ink::dim, "  " + note) + "\n";
  if (report.gate) out += gate_text("gate", *report.gate, terminal);
  if (report.undo) {
    out +=
        terminal.paint(Ink::bold, "undone by a planned reverse") + "\n" + plan_text(*report.undo, terminal);
    if (report.gate_after_undo) out += gate_text("measured again", *report.gate_after_undo, terminal);
  }
  const bool good = report.exit_code() == kExitInSync;
  out += terminal.paint(good ? Ink::green : Ink::red, std::string(to_string(report.verdict)));
  if (plan.empty()) return out + "  what earlier runs wrote\n";
  std::set<std::string> touched;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (report.steps[i].writes > 0) touched.insert(plan.steps[i].device);
  out += fmt::format(
      "  {} of {} done, {}\n", report.count(StepState::done), counted(report.steps.size(), "step"),
      touched.empty() ? "nothing was written" : counted(touched.size(), "device") + " touched");
  return out;
}

std::string who_applies() {
  const char* const user =
      std::getenv("SUDO_USER") != nullptr ? std::getenv("SUDO_USER") : std::getenv("USER");
  return user != nullptr ? user : "uid " + std::to_string(getuid());
}

// Only a change whose every gate passed moves the baselines.
Result<Done> accept(const ApplyReport& report, const Plan& plan, const Gates& gates,
                    const LoopSession& session, const std::vector<WrittenLeaf>& left, Journal& journal) {
  if (report.verdict != ApplyVerdict::kept && report.verdict != ApplyVerdict::waits) return Done{};
  const bool gate_held = report.gate && (report.gate->verdict == GateVerdict::pass ||
                                         report.gate->verdict == GateVerdict::not_run);
  if (gate_held)
    for (const std::vector<SuiteOutcome>& measured : gates)
      if (verdict_of(measured) == bench::Verdict::pass) TRY_DONE(accept_baselines(journal, measured));
  TRY_DONE(remember_intents(session, plan, report, journal));
  TRY_DONE(note_written(session, left, journal));
  return report.verdict == ApplyVerdict::kept ? remember(session.cluster(), journal) : Done{};
}

int carry_out(LoopSession& session, const Plan& plan, std::vector<OwedChange> owed,
              const std::vector<WrittenLeaf>& left, const ApplyCommandOptions& options, Journal& journal,
              SuiteGate& gate, const Console& console) {
  ApplyOptions apply_options;
  apply_options.approved = {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::drain};
  apply_options.refusals_approved = options.confirm_deletion;
  apply_options.strict = options.strict;
  apply_options.author = who_applies();
  apply_options.reason = "lockstep apply";
  apply_options.owed = std::move(owed);
  apply_options.choice = session.choice();
  apply_options.policy_for = session.policies();
  if (!options.no_measure && !session.cluster().catalog.validation_suites.empty())
    apply_options.measurer = &gate;
  apply_options.on_fail = on_violation(session.cluster().catalog);
  const ApplyReport report = apply(session.fleet(), session.executor(), journal, plan, apply_options,
                                   progress_on(console), console.stop);
  console.say_passing("");
  const Gates gates = gate.gates();
  if (Result<Done> done = accept(report, plan, gates, session, left, journal); !done)
    return console.fail(done.error());
  if (console.is_text())
    console.print(report_text(report, plan, gates, console.out()));
  else
    console.print_document(report_json(report, plan, gates, config_hash(session.cluster().compiled)));
  return report.exit_code();
}

// What was asked for beside a plan file and is for `lockstep plan` to answer: the file says what is done, and
// to what. Empty: nothing.
std::string not_of_a_plan_file(const ApplyCommandOptions& asked, const Aim& planned) {
  const std::string& file = asked.aim.specs.front();
  if (!asked.only.empty())
    return file + " is carried out whole: `lockstep plan --only " + asked.only +
           " --out FILE` narrows a plan";
  if (asked.aim.renumber) return file + " has its numbers: --renumber is for `lockstep plan`";
  if (asked.aim.twin && !planned.twin)
    return file + " was not planned for a twin: --twin is for `lockstep plan`";
  return "";
}

// The steps of a plan from a file that may still run; those that may not are told.
Result<Plan> still_valid(Plan plan, const Fleet& fleet, const std::vector<DeviceState>& states,
                         const Console& console) {
  const auto moved = moved_ground(plan, fleet, states);
  if (moved.empty()) return plan;
  for (const auto& [id, why] : moved)
    if (console.is_text()) std::fputs(fmt::format("step {} is refused: {}\n", id, why).c_str(), stderr);
  Plan left = without(plan, moved);
  if (left.empty()) return Error{ErrorKind::conflict, "nothing of this plan can run any more: plan again"};
  return left;
}

int tell_nothing_to_do(const LoopSession& session, const std::vector<DeviceState>& states, const Plan& plan,
                       int read, const Console& console) {
  const std::string title = session.cluster().title();
  const DriftReport unmended = session.unmended(states, plan);
  if (!console.is_text()) {
    nlohmann::json document = to_json(plan);
    document["leftToAPerson"] = to_json(unmended)["items"];
    console.print_document(document);
    return read;
  }
  if (unmended.drifted > 0)
    console.print(unmended_text(unmended, console.out()) + console.out().paint(Ink::yellow, "nothing done") +
                  ": no step mends what differs of " + title + " (lockstep drift)\n");
  else if (read == kExitInSync)
    console.print(console.out().paint(Ink::green, "nothing to do") + ": " + title + " is as its specs say\n");
  else
    console.print(console.out().paint(Ink::yellow, "nothing done") + ": not all of " + title +
                  " could be observed\n");
  return read;
}

// After an apply that could not read everything before: what it cured may be readable by now, and differ.
int look_at_rest(LoopSession& session, const Console& console) {
  const std::vector<DeviceState> states = session.look();
  if (const int read = session.tell_unread(states, console); read != kExitInSync) return read;
  const Result<Plan> rest = session.plan(states);
  if (!rest) return console.fail(rest.error());
  if (rest->empty()) return kExitInSync;
  if (console.is_text()) console.print("what could not be read before differs: plan again\n");
  return kExitDifferent;
}

}  // namespace

int run_apply(const ApplyCommandOptions& given, const Console& console) {
  ApplyCommandOptions options = given;
  std::optional<PlanFile> file;
  if (is_plan_file(options.aim.specs)) {
    Result<PlanFile> read = read_plan_file(options.aim.specs.front());
    if (!read) return console.fail(read.error());
    file = *std::move(read);
    if (const std::string mistake = not_of_a_plan_file(options, file->aim); !mistake.empty())
      return console.fail_usage(mistake);
    options.aim = file->aim;
  }
  // Both outlive the session's executor: a measurement that was given up on still reads them.
  std::unique_ptr<Journal> journal;
  std::optional<SuiteGate> gate;
  const std::unique_ptr<LoopSession> session = LoopSession::open(options.aim, console, options.only);
  if (!session) return kExitError;
  auto opened = Journal::open(state_directory(session->cluster()), {.command = "lockstep apply"});
  if (!opened) return console.fail(opened.error());
  journal = *std::move(opened);
  if (Result<Done> told = tell_in_flight(*journal, console); !told) return console.fail(told.error());
  Result<std::vector<OwedChange>> owed =
      take_owed(session->cluster(), *journal,
                {.measures = !options.no_measure, .only = session->choice().only}, console);
  if (!owed) return console.fail(owed.error());

  const std::vector<DeviceState> states = session->look();
  const int read = session->tell_unread(states, console);
  const Result<Plan> plan =
      file ? still_valid(std::move(file->plan), session->fleet(), states, console) : session->plan(states);
  if (!plan) return console.fail(plan.error());
  const std::vector<WrittenLeaf> left = left_behind(*session, states, session->written());
  if (console.is_text()) console.print(left_behind_text(left));
  if (plan->empty() && owed->empty()) {
    if (Result<Done> noted = note_written(*session, left, *journal); !noted)
      return console.fail(noted.error());
    return tell_nothing_to_do(*session, states, *plan, read, console);
  }
  if (!options.confirm_deletion)
    if (Result<Done> safe = guard_deletion(session->cluster(), *plan, *journal); !safe)
      return console.fail(safe.error());
  if (console.is_text() && !options.yes) console.print(plan_text(*plan, console.out()));
  if (console.is_text() && !plan->empty())
    console.print(session->cluster().title() + ": " + plan_summary(*plan) + "\n");
  const Result<bool> go = confirmed(
      options, plan->empty() ? "measure, and keep or undo what was written?" : "apply this plan?", console);
  if (!go) return console.fail(go.error());
  if (!*go) {
    console.print("not applied\n");
    return kExitDifferent;
  }
  gate.emplace(session->cluster(), *journal, console);
  const int code = carry_out(*session, *plan, *std::move(owed), left, options, *journal, *gate, console);
  return code == kExitInSync && read != kExitInSync ? look_at_rest(*session, console) : code;
}

}  // namespace lockstep
