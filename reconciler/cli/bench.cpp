#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/loop_session.hpp"
#include "reconciler/cli/reach.hpp"
#include "reconciler/cli/suites.hpp"
#include "reconciler/report/bench_report.hpp"

namespace lockstep {
namespace {

int exit_code(bench::Verdict verdict, bool strict) {
  if (strict) verdict = bench::strict(verdict);
  return verdict == bench::Verdict::fail ? kExitDifferent : kExitInSync;
}

}  // namespace

int run_bench(const BenchOptions& options, const Console& console) {
  const std::unique_ptr<LoopSession> session = LoopSession::open(options.aim, console, "");
  if (!session) return kExitError;
  if (Result<Done> reached = reaches_any(session->fleet()); !reached) return console.fail(reached.error());
  JournalOptions journal_options{.command = "lockstep bench", .read_only = !options.accept};
  Result<std::unique_ptr<Journal>> journal =
      Journal::open(state_directory(session->cluster()), journal_options);
  if (!journal) return console.fail(journal.error());

  const Call call{.stop = console.stop, .wake_fd = console.stop_fd};
  const Result<FileLock> turn = turn_to_measure(session->cluster(), "lockstep bench", call);
  if (!turn) return console.fail(turn.error());

  MeasureChoice choice;
  choice.suite = options.suite;
  choice.benchmark = options.only;
  const MeasureInput input = measure_input(session->cluster(), **journal);
  const Result<std::vector<SuiteOutcome>> outcomes = measure(
      input, choice,
      [&console](const MeasureProgress& at) {
        console.say_passing(fmt::format("{} {}/{}  {}", at.benchmark, at.done, at.total, at.last));
      },
      console.stop);
  console.say_passing("");
  if (!outcomes) return console.fail(outcomes.error());
  if (console.is_text())
    console.print(console.out().paint(Ink::bold, "bench of " + session->cluster().title()) + "\n" +
                  bench_text(*outcomes, console.out()));
  else
    console.print_document(bench_json(*outcomes, input.config_hash));
  const bench::Verdict verdict = verdict_of(*outcomes);
  const bool stopped = cut_short(*outcomes);
  if (stopped) console.note("stopped while measuring: this is as far as it went");
  if (options.accept && !stopped && verdict == bench::Verdict::pass) {
    if (Result<Done> done = accept_baselines(**journal, *outcomes); !done) return console.fail(done.error());
    console.say("accepted as the new baseline");
  }
  // What was stopped is shown as far as it went; it is no answer to whether all SLOs hold.
  return stopped ? kExitError : exit_code(verdict, options.strict);
}

}  // namespace lockstep
