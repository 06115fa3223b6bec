#include "reconciler/engine/watch.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/loop_session.hpp"
#include "reconciler/cli/reach.hpp"
#include "reconciler/engine/apply.hpp"
#include "reconciler/report/drift_report.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

void print_event(const WatchEvent& event, const Console& console) {
  if (!console.is_text()) {
    console.print(to_json(event).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  const Terminal& out = console.out();
  const Ink ink = event.kind == WatchEvent::Kind::cleared || event.kind == WatchEvent::Kind::readable
                      ? Ink::green
                  : event.kind == WatchEvent::Kind::appeared ? Ink::red
                                                             : Ink::yellow;
  std::string text = pad(out.paint(ink, to_string(event.kind)), 10) + "  ";
  if (event.about_leaf())
    text += drift_sentence(event.item);
  else
    text += event.item.device + (event.item.reason.empty() ? "" : ": " + event.item.reason);
  if (event.about_leaf() && !event.item.origin.file.empty())
    text += out.paint(Ink::dim, fmt::format("  {}:{} {}", event.item.origin.file, event.item.origin.line,
                                            event.item.origin.rule));
  if (event.since_event.count() > 0)
    text += out.paint(Ink::dim,
                      fmt::format("  {:.1f} ms", static_cast<double>(event.since_event.count()) / 1000.0));
  console.print(text + "\n");
}

// A line beside the events, for a person.
void say(std::string_view word, const std::string& what, const Console& console) {
  if (console.is_text()) console.print(fmt::format("{:<10}  {}\n", word, what));
}

// What may happen by itself is what the specs put under mode: converge.
void heal(LoopSession& session, const std::vector<std::size_t>& devices, const Console& console) {
  ObserveOptions observe_options;
  observe_options.only = devices;
  const std::vector<DeviceState> states =
      observe(session.fleet(), session.executor(), observe_options, console.stop);
  PlanChoice choice;
  choice.person = false;
  for (const std::size_t index : devices) choice.only.push_back(session.fleet()[index].name);
  const Result<Plan> plan = make_plan(
      input_of(session.fleet(), states, session.origins(), session.sources(), session.policies(), choice));
  if (!plan) {
    console.fail(plan.error());
    return;
  }
  if (plan->empty()) return;
  // Held while it heals, and not while it watches: a person can apply beside it.
  const Result<std::unique_ptr<Journal>> journal =
      Journal::open(state_directory(session.cluster()), {.command = "lockstep watch --converge"});
  if (!journal) {
    say("not healed", journal.error().text(), console);
    return;
  }
  ApplyOptions options;
  options.choice = choice;
  options.author = "lockstep watch";
  options.reason = "drift";
  options.policy_for = session.policies();
  const ApplyReport report =
      apply(session.fleet(), session.executor(), **journal, *plan, options, {}, console.stop);
  say("healed",
      fmt::format("{} of {} steps: {}", report.count(StepState::done), report.steps.size(),
                  to_string(report.verdict)),
      console);
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (!report.steps[i].why.empty())
      say("",
          fmt::format("{}: {}, {}", plan->steps[i].device, to_string(report.steps[i].state),
                      report.steps[i].why),
          console);
}

// What --converge leaves to a person, told before it is waited for.
void tell_conduct(const LoopSession& session, const Console& console) {
  std::vector<std::string> left;
  for (std::size_t i = 0; i < session.fleet().size(); ++i)
    if (session.fleet()[i].intent->conduct != Conduct::converge) left.push_back(session.fleet()[i].name);
  if (left.empty()) return;
  const bool all = left.size() == session.fleet().size();
  say("not healed",
      (all ? "all of it" : fold_hostlist(left)) +
          ": not under `mode: converge`. Its drift is told, and `lockstep apply` heals it; what may heal by "
          "itself has `mode: converge` in its spec, or in the Cluster's for all",
      console);
}

}  // namespace

int run_watch(const WatchOptions& options, const Console& console) {
  const std::unique_ptr<LoopSession> session = LoopSession::open(options.aim, console, "");
  if (!session) return kExitError;
  if (Result<Done> reached = reaches_any(session->fleet()); !reached) return console.fail(reached.error());
  WatchSettings settings;
  if (options.converge)
    settings.heal = [&](const std::vector<std::size_t>& devices) { heal(*session, devices, console); };
  if (console.is_text())
    console.print(console.out().paint(Ink::bold, "watching " + session->cluster().title()) +
                  "; Ctrl-C ends it\n");
  if (options.converge) tell_conduct(*session, console);
  const Result<Done> ended = watch(
      session->fleet(), session->executor(), session->origins(), session->sources(), settings,
      [&console](const WatchEvent& event) { print_event(event, console); }, console.stop);
  if (!ended && ended.error().kind != ErrorKind::cancelled) return console.fail(ended.error());
  return kExitInSync;
}

}  // namespace lockstep
