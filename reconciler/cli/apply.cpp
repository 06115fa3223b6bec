#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/loop_session.hpp"
#include "reconciler/cli/plan_file.hpp"
#include "reconciler/cli/suites.hpp"
#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/plan_text.hpp"
#include "specs/compile/deletion_guard.hpp"

namespace lockstep {
namespace {

// A person's word, or --yes; without a terminal nobody can be asked.
Result<bool> confirmed(const ApplyCommandOptions& options, const Console& console) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) == 0 || !console.is_text())
    return Error{ErrorKind::denied, "nobody is there to ask: pass --yes to apply this plan"};
  console.print("apply this plan? [y/N] ");
  std::string answer;
  for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar()) answer += static_cast<char>(c);
  return answer == "y" || answer == "yes";
}

std::string step_line(const Step& step, const StepResult& result, const Terminal& terminal) {
  const bool good = result.state == StepState::done || result.state == StepState::nothing_to_do;
  std::string line = fmt::format("  {} {} {}", terminal.paint(good ? Ink::green : Ink::red, good ? "✓" : "×"),
                                 terminal.paint(Ink::cyan, step.device), step.driver);
  line += step.remedy.empty() ? fmt::format("  {} changes", step.changes.size()) : "  remedy " + step.remedy;
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

nlohmann::json report_json(const ApplyReport& report, const Plan& plan, const SuiteGate& gate,
                           const std::string& hash) {
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
                       {"have", to_json(open.change.was)}});
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
          {"benchmarks", bench_json(gate.outcomes(), hash)},
          {"notes", report.notes}};
}

std::string gate_text(std::string_view title, const GateResult& gate, const Terminal& terminal) {
  const Ink ink = gate.verdict == GateVerdict::pass   ? Ink::green
                  : gate.verdict == GateVerdict::fail ? Ink::red
                                                      : Ink::yellow;
  return fmt::format("{}: {}  {}\n", title, terminal.paint(ink, to_string(gate.verdict)), gate.why);
}

std::string report_text(const ApplyReport& report, const Plan& plan, const SuiteGate& gate,
                        const Terminal& terminal) {
  std::string out;
  if (!gate.outcomes().empty()) out += bench_text(gate.outcomes(), terminal);
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const StepResult& step = report.steps[i];
    if (step.state != StepState::done && step.state != StepState::nothing_to_do)
      out += step_line(plan.steps[i], step, terminal) + "\n";
  }
  for (const OpenEffect& open : report.effects)
    out += fmt::format("  {} {} {}: want {}, have {}\n", terminal.paint(Ink::red, "effect"), open.device,
                       open.change.path.text(), open.change.want.to_string(), open.change.was.to_string());
  for (const std::string& note : report.notes) out += terminal.paint(Ink::dim, "  " + note) + "\n";
  if (report.gate) out += gate_text("gate", *report.gate, terminal);
  if (report.undo) {
    out +=
        terminal.paint(Ink::bold, "undone by a planned reverse") + "\n" + plan_text(*report.undo, terminal);
    if (report.gate_after_undo) out += gate_text("measured again", *report.gate_after_undo, terminal);
  }
  const bool good = report.exit_code() == kExitInSync;
  out += terminal.paint(good ? Ink::green : Ink::red, std::string(to_string(report.verdict)));
  std::set<std::string> touched;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (report.steps[i].writes > 0) touched.insert(plan.steps[i].device);
  out += fmt::format("  {} of {} steps done, {} devices touched\n", report.count(StepState::done),
                     report.steps.size(), touched.size());
  return out;
}

// What a run before this one had begun and not ended: it is told, and this run's fresh look settles it.
Result<Done> tell_in_flight(Journal& journal, const Console& console) {
  TRY(const std::vector<InFlight> begun, journal.in_flight());
  for (const InFlight& one : begun) {
    std::string devices;
    for (const LedgerTicket& ticket : one.unsettled) devices += (devices.empty() ? "" : ", ") + ticket.device;
    const std::string text = fmt::format(
        "change {} (begun {} by {}) was cut off: {} writes kept, {} may have happened{}; observing and going "
        "on from there; an SLO that it did not come to measure, `lockstep bench` judges\n",
        one.change, one.begun, one.author, one.kept.size(), one.unsettled.size(),
        devices.empty() ? "" : " on " + devices);
    if (console.is_text())
      std::fputs((console.progress().paint(Ink::yellow, "in flight: ") + text).c_str(), stderr);
    for (const LedgerTicket& ticket : one.unsettled)
      TRY_DONE(journal.receipt(ticket.ticket, TicketState::failed,
                               "cut off; settled by the next run's observation"));
    TRY_DONE(journal.end(one.change, "interrupted"));
  }
  return Done{};
}

constexpr const char* kCensusPlace = "census";

nlohmann::json census_json(const Census& census) {
  return {{"devices", census.devices}, {"objects", census.objects}};
}

// What was there when a change was last accepted; nothing before the first.
Census accepted_census(const Journal& journal) {
  Census census;
  const Result<std::optional<nlohmann::json>> blob = journal.kept(kCensusPlace);
  if (!blob || !*blob || !(*blob)->is_object()) return census;
  for (const auto& [key, names] :
       {std::pair("devices", &census.devices), std::pair("objects", &census.objects)})
    for (const nlohmann::json& name : (*blob)->value(key, nlohmann::json::array()))
      if (name.is_string()) names->push_back(name.get<std::string>());
  return census;
}

// A partial checkout must not dismantle a cluster.
Result<Done> guard_deletion(const OpenedCluster& cluster, const Plan& plan, const Journal& journal) {
  const DeletionVerdict verdict =
      judge_deletion(accepted_census(journal), census_of(cluster.catalog, cluster.compiled.topology),
                     max_delete_of(cluster.catalog));
  std::string why = verdict.refused ? verdict.reason : "";
  for (const std::string& refusal : plan.refusals) why += (why.empty() ? "" : "; ") + refusal;
  if (why.empty()) return Done{};
  return Error{ErrorKind::denied, why + "; --confirm-deletion applies it all the same"};
}

// What an accepted change leaves for the next run: who is there, and which numbers were given out. A twin
// never writes beside the specs.
Result<Done> remember(const OpenedCluster& cluster, Journal& journal) {
  TRY_DONE(journal.keep(kCensusPlace, census_json(census_of(cluster.catalog, cluster.compiled.topology))));
  if (!cluster.twin) TRY_DONE(write_allocation_lock(cluster.folder, cluster.compiled.allocation.lock));
  return Done{};
}

std::string who_applies() {
  const char* const user =
      std::getenv("SUDO_USER") != nullptr ? std::getenv("SUDO_USER") : std::getenv("USER");
  return user != nullptr ? user : "uid " + std::to_string(getuid());
}

int carry_out(LoopSession& session, Plan plan, const ApplyCommandOptions& options, Journal& journal,
              const Console& console) {
  SuiteGate gate(session.cluster(), journal, console);
  ApplyOptions apply_options;
  apply_options.approved = {Hold::Kind::approval, Hold::Kind::budget};
  apply_options.refusals_approved = options.confirm_deletion;
  apply_options.strict = options.strict;
  apply_options.author = who_applies();
  apply_options.reason = "lockstep apply";
  if (!options.no_measure && !session.cluster().catalog.validation_suites.empty())
    apply_options.measurer = &gate;
  apply_options.on_fail = on_violation(session.cluster().catalog);
  const ApplyReport report = apply(session.fleet(), session.executor(), journal, plan, apply_options,
                                   progress_on(console), console.stop);
  console.say_passing("");
  if (report.verdict == ApplyVerdict::kept && report.gate && report.gate->verdict == GateVerdict::pass) {
    if (Result<Done> done = accept_baselines(journal, gate.outcomes()); !done)
      return console.fail(done.error());
  }
  if (report.verdict == ApplyVerdict::kept)
    if (Result<Done> done = remember(session.cluster(), journal); !done) return console.fail(done.error());
  if (console.is_text())
    console.print(report_text(report, plan, gate, console.out()));
  else
    console.print_document(report_json(report, plan, gate, config_hash(session.cluster().compiled)));
  return report.exit_code();
}

}  // namespace

int run_apply(const ApplyCommandOptions& given, const Console& console) {
  ApplyCommandOptions options = given;
  std::optional<PlanFile> file;
  if (is_plan_file(options.aim.specs)) {
    Result<PlanFile> read = read_plan_file(options.aim.specs.front());
    if (!read) return console.fail(read.error());
    file = *std::move(read);
    options.aim = file->aim;
  }
  const std::unique_ptr<LoopSession> session = LoopSession::open(options.aim, console, options.only);
  if (!session) return kExitError;
  Result<std::unique_ptr<Journal>> journal =
      Journal::open(state_directory(session->cluster()), {.command = "lockstep apply"});
  if (!journal) return console.fail(journal.error());
  if (Result<Done> told = tell_in_flight(**journal, console); !told) return console.fail(told.error());

  const std::vector<DeviceState> states = session->look();
  const int read = session->tell_unread(states, console);
  Result<Plan> plan = file ? Result<Plan>(std::move(file->plan)) : session->plan(states);
  if (!plan) return console.fail(plan.error());
  if (file) {
    const auto moved = moved_ground(*plan, session->fleet(), states);
    for (const auto& [id, why] : moved)
      if (console.is_text()) std::fputs(fmt::format("step {} is refused: {}\n", id, why).c_str(), stderr);
    *plan = without(*plan, moved);
    if (!moved.empty() && plan->empty())
      return console.fail(Error{ErrorKind::conflict, "nothing of this plan can run any more: plan again"});
  }
  if (plan->empty()) {
    if (console.is_text() && read == kExitInSync)
      console.print(console.out().paint(Ink::green, "nothing to do") + ": " + session->cluster().title() +
                    " is as its specs say\n");
    else if (console.is_text())
      console.print(console.out().paint(Ink::yellow, "nothing done") + ": not all of " +
                    session->cluster().title() + " could be observed\n");
    else
      console.print_document(to_json(*plan));
    return read;
  }
  if (!options.confirm_deletion)
    if (Result<Done> safe = guard_deletion(session->cluster(), *plan, **journal); !safe)
      return console.fail(safe.error());
  if (console.is_text() && !options.yes) console.print(plan_text(*plan, console.out()));
  if (console.is_text()) console.print(session->cluster().title() + ": " + plan_summary(*plan) + "\n");
  const Result<bool> go = confirmed(options, console);
  if (!go) return console.fail(go.error());
  if (!*go) {
    console.print("not applied\n");
    return kExitDifferent;
  }
  const int code = carry_out(*session, *std::move(plan), options, **journal, console);
  return code == kExitInSync ? read : code;
}

}  // namespace lockstep
