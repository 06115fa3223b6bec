#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/apply_report.hpp"
#include "reconciler/report/earlier_runs.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/session/former_entries.hpp"
#include "reconciler/session/plan_file.hpp"
#include "reconciler/session/undo_plan.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// The user's answer, or --yes; without a terminal there is no prompt.
Result<bool> confirmed(const ApplyCommandOptions& options, const std::string& question,
                       const Console& console) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) == 0 || !console.is_text())
    return Error{ErrorKind::denied, "nobody is there to ask: pass --yes"};
  return console.ask(question);
}

Progress progress_on(const Console& console) {
  Progress progress;
  progress.wave = [&console](std::uint32_t wave, std::uint32_t of) {
    console.say(wave_line(wave, of, console.progress()));
  };
  progress.step = [&console](const Step& step, const StepResult& result) {
    if (result.state == StepState::running || result.state == StepState::waiting)
      console.say_passing(step_begun_line(step));
    else if (result.state != StepState::not_needed)  // the report lists these, one line for many
      console.say(step_line(step, result, console.progress()));
  };
  progress.phase = [&console](std::string_view what) { console.say_passing(phase_line(what)); };
  progress.gate = [&console](const GateResult& gate) { console.say(gate_line(gate, console.progress())); };
  return progress;
}

int carry_out(ClusterSession& session, const CheckedPlan& checked, const std::optional<PlanFile>& file,
              const std::vector<WrittenEntry>& left, const ApplyRequest& request, const Console& console) {
  const Plan& plan = *checked.plan;
  const Applied applied =
      session.apply(plan, left, request, {progress_on(console), measure_hooks(console, "  ")});
  console.say_passing("");
  if (console.is_text())
    console.print(
        apply_text(applied, plan, console.out(), checked.refused.size() + checked.unapproved.size()));
  else
    console.print_document(of_cluster(
        session.cluster(), apply_json(applied, plan, config_hash(session.cluster().compiled),
                                      file ? left_out_json(checked, file->plan) : nlohmann::json::array())));
  if (!applied.gates.empty()) note_slow_machine(session.cluster(), applied.gates.back(), console);
  if (!applied.accepted) return console.fail(applied.accepted.error());
  return applied.report.exit_code();
}

// Options that only apply to `lockstep plan`, given with a plan file that already fixes the changes and
// devices. Empty: none.
std::string not_of_a_plan_file(const ApplyCommandOptions& asked, const ClusterSource& planned) {
  const std::string& file = asked.source.specs.front();
  if (!asked.only.empty())
    return file + " is applied as a whole: `lockstep plan --only " + asked.only +
           " --out FILE` narrows a plan";
  if (asked.source.renumber) return file + " has its numbers: --renumber is for `lockstep plan`";
  if (asked.source.twin && !planned.twin)
    return file + " was not planned for a twin: --twin is for `lockstep plan`";
  return "";
}

// The plan to run: a new one, or the part of it that a plan file approves. Reports what the file contains but
// may not run, and what it lacks; in JSON with the outcome.
CheckedPlan plan_now(const ClusterSession& session, const std::optional<PlanFile>& file,
                     const std::vector<DeviceState>& states, const ApplyCommandOptions& options,
                     ApplyRequest& request, const Console& console) {
  if (options.undone) {
    Result<UndoPlan> undo = undo_plan(session, *options.undone, states);
    if (!undo) return {{}, {}, {}, std::move(undo.error())};
    request.takes_back = std::move(undo->undone);
    request.not_put_back = std::move(undo->left_out);
    for (const std::string& why : request.not_put_back) console.note(printable(why));
    return {{}, {}, {}, std::move(undo->plan)};
  }
  if (!file) return {{}, {}, {}, session.plan(states)};
  CheckedPlan checked = session.still_valid(file->plan, states);
  if (console.is_text()) console.print(left_out_text(checked, file->plan, console.out()));
  return checked;
}

// For a successful run: approved steps that did not run are a difference, or could not be observed.
int exit_code_of_left_out(const CheckedPlan& checked) {
  return checked.only_unobserved() ? kExitIncomplete : kExitDifferent;
}

int nothing_can_run(const ClusterSession& session, const CheckedPlan& checked,
                    const std::optional<PlanFile>& file, const Console& console) {
  const Error& why = checked.plan.error();
  if (!file || checked.whole()) return console.fail(why);
  if (console.is_text())
    console.print(why.what + "\n");
  else
    console.print_document(
        of_cluster(session.cluster(), refused_whole_json(why, left_out_json(checked, file->plan))));
  return exit_code_of_left_out(checked);
}

// The scope of the command.
std::string title_of(const ClusterSession& session) {
  std::vector<std::string> names;
  for (const std::size_t device : session.only()) names.push_back(session.fleet()[device].name);
  return (names.empty() ? "" : fold_hostlist(names) + " of ") + session.cluster().title();
}

int tell_nothing_to_do(const ClusterSession& session, const std::vector<DeviceState>& states,
                       const Plan& plan, int read, const Console& console) {
  DriftReport differences = session.differences(states);
  if (console.is_text())
    console.print(nothing_to_do_text(differences, title_of(session), read == kExitInSync, console.out()));
  else
    console.print_document(of_cluster(
        session.cluster(), nothing_to_do_json(plan, ClusterSession::unmended(std::move(differences), plan))));
  return read;
}

// After an apply with an incomplete first observation: what it remedied may be readable now, and differ.
int observe_rest(ClusterSession& session, const Console& console) {
  const Result<Rest> rest = session.observe_rest();
  if (!rest) return console.fail(rest.error());
  if (const int read = tell_not_observed(rest->not_observed, console); read != kExitInSync) return read;
  if (!rest->differs) return kExitInSync;
  if (console.is_text()) console.print("what was not observed before differs: plan again\n");
  return kExitDifferent;
}

// Null: apply the plan. Else the exit code.
std::optional<int> asked_first(const ClusterSession& session, const Plan& plan,
                               const ApplyCommandOptions& options, const Console& console) {
  if (console.is_text() && options.undone)
    console.print(console.out().paint(Ink::bold, fmt::format("undo of change {} of ", *options.undone) +
                                                     session.cluster().title()) +
                  "\n");
  if (console.is_text() && (!options.yes || options.undone))
    console.print(plan_text(plan, console.out().whole()));
  if (console.is_text() && !plan.empty())
    console.print(session.cluster().title() + ": " + plan_summary(plan) + "\n");
  const Result<bool> go = confirmed(
      options, plan.empty() ? "measure, and keep or roll back what was written?" : "apply this plan?",
      console);
  if (!go) return console.fail(go.error());
  if (*go) return std::nullopt;
  console.print("not applied\n");
  return kExitDifferent;
}

Result<Done> may_delete(const ClusterSession& session, const Plan& plan, bool confirmed) {
  TRY(const Deletion deletion, session.deletion_by(plan));
  const std::string refused = session.why_refused(deletion, confirmed);
  return refused.empty() ? Result<Done>(Done{}) : Error{ErrorKind::denied, refused};
}

// Refuses to write if chosen devices could not be observed, unless --partial was given: the exit code. Like
// whatever else depends on such devices alone, it is incomplete and no error.
std::optional<int> needs_partial(const ClusterSession& session, const std::vector<DeviceState>& states,
                                 bool partial, const Console& console) {
  const std::string why = partial ? "" : session.why_partial(states);
  if (why.empty()) return std::nullopt;
  console.fail(
      Error{ErrorKind::refused, why + "; nothing is written: --partial does what can be done without them"});
  return kExitIncomplete;
}

// A cluster's first apply creates its UUID, beside the specs; an apply that is refused in advance does not:
// the exit code.
std::optional<int> refused_as_the_first(ClusterSession& session, const ApplyCommandOptions& options,
                                        const Console& console) {
  if (session.cluster().twin || !session.cluster().uuid().empty()) return std::nullopt;
  const std::vector<DeviceState> states = session.observe();
  if (const std::optional<int> code = needs_partial(session, states, options.partial, console)) return code;
  const Result<Plan> plan = session.plan(states);
  if (!plan) return console.fail(plan.error());
  if (plan->empty()) return std::nullopt;
  const Result<Done> may = may_delete(session, *plan, options.confirm_deletion);
  return may ? std::optional<int>() : console.fail(may.error());
}

// Remaining changes could not be rolled back, or their outcome is unknown.
int exit_code_of_undo(const ApplyRequest& request, int read) {
  return request.not_put_back.empty() ? read : kExitIncomplete;
}

int nothing_to_undo(const ClusterSession& session, const Plan& plan, const ApplyRequest& request, int read,
                    const Console& console) {
  const int code = exit_code_of_undo(request, read);
  if (!console.is_text())
    console.print_document(of_cluster(session.cluster(), to_json(plan)));
  else
    console.print(code == kExitInSync ? "nothing to undo: all that it wrote has been reverted already\n"
                                      : "nothing was undone\n");
  return code;
}

int apply_to(ClusterSession& session, const std::optional<PlanFile>& file, const ApplyCommandOptions& options,
             const Approved& approved, const Console& console) {
  ApplyRequest request{
      .command = options.undone ? fmt::format("undo of change {}", *options.undone) : "lockstep apply",
      .author = who_runs(),
      .approved_by = file ? file->approved_by : "",
      .measures = !options.no_measure,
      .strict = options.strict,
      .approved = approved,
      .deletion_confirmed = options.confirm_deletion};
  if (!options.yes) request.approved.add(Hold::Kind::in_person);  // asked below
  if (const std::optional<int> code = refused_as_the_first(session, options, console)) return *code;
  if (const std::optional<int> code = console.interrupted()) return *code;
  const Result<EarlierRuns> earlier = session.prepare_apply(request);
  if (!earlier) return console.fail(earlier.error());
  for (const InFlight& one : earlier->in_flight) console.note(in_flight_line(one, console.progress()));
  for (const OwedDecision& one : earlier->owed) console.note(owed_line(one, console.progress()));

  const std::vector<DeviceState> states = session.observe();
  if (const std::optional<int> code = console.interrupted()) return *code;
  if (!session.raised().empty()) console.note(session.raised());
  const int read = tell_not_observed(session.not_observed(states), console);
  const CheckedPlan checked = plan_now(session, file, states, options, request, console);
  const Result<Plan>& plan = checked.plan;
  if (!plan) return nothing_can_run(session, checked, file, console);
  const Result<std::vector<WrittenEntry>> written = session.settle_written(states);
  if (!written) return console.fail(written.error());
  const std::vector<WrittenEntry> left = left_behind(session.fleet(), states, *written);
  if (console.is_text()) console.print(left_behind_text(left));
  if (options.undone && plan->empty()) return nothing_to_undo(session, *plan, request, read, console);
  if (plan->empty() && !earlier->to_judge()) {
    if (Result<Done> noted = session.leave_as_is(left); !noted) return console.fail(noted.error());
    const int code = tell_nothing_to_do(session, states, *plan, read, console);
    return code == kExitInSync && earlier->leaves_owed() ? kExitIncomplete : code;
  }
  if (const std::optional<int> code = needs_partial(session, states, options.partial, console)) return *code;
  if (Result<Done> may = may_delete(session, *plan, options.confirm_deletion); !options.undone && !may)
    return console.fail(may.error());
  if (const std::optional<int> code = asked_first(session, *plan, options, console)) return *code;
  if (file) request.left_out = checked.devices_left_out(file->plan);
  const int code = carry_out(session, checked, file, left, request, console);
  if (options.undone && code == kExitInSync && console.is_text())
    console.note("the specs still ask for what was undone: change them before the next apply");
  if (options.undone) return code == kExitInSync ? exit_code_of_undo(request, read) : code;
  if (code == kExitInSync && !checked.whole()) return exit_code_of_left_out(checked);
  return code == kExitInSync && read != kExitInSync ? observe_rest(session, console) : code;
}

}  // namespace

int run_apply(const ApplyCommandOptions& given, const Console& console) {
  ApplyCommandOptions options = given;
  Approved approved;
  if (!options.approve.empty()) {
    Result<Approved> said = parse_approved(options.approve);
    if (!said) return console.fail_usage("--approve: " + said.error().text());
    approved = *std::move(said);
  }
  std::optional<PlanFile> planned;
  if (is_plan_file(options.source.specs)) {
    if (options.undone) return console.fail_usage("undo takes specs, and no plan file");
    Result<PlanFile> file = read_plan_file(options.source.specs.front(), options.allowed_signers);
    if (!file) return console.fail(file.error());
    if (const std::string mistake = not_of_a_plan_file(options, file->aim.source); !mistake.empty())
      return console.fail_usage(mistake);
    console.note(plan_file_line(options.source.specs.front(), *file));
    const std::size_t max_entries = options.source.max_entries;
    options.source = file->aim.source;
    options.source.max_entries = max_entries;
    options.only = file->aim.only;
    planned = *std::move(file);
  } else if (!options.allowed_signers.empty()) {
    return console.fail_usage("--allowed-signers is for a plan file (FILE.json): nobody signs specs");
  }
  const std::unique_ptr<CommandSession> session = CommandSession::open(options.source, console, options.only);
  if (!session) return kExitError;
  if (const std::string is = (*session)->cluster().state_name(); planned && planned->aim.cluster != is)
    return console.fail({ErrorKind::conflict, given.source.specs.front() + " was made for cluster " +
                                                  planned->aim.cluster + ", and its specs are of " + is +
                                                  " now: plan again"});
  return apply_to(**session, planned, options, approved, console);
}

}  // namespace lockstep
