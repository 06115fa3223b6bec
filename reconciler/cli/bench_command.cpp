#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/bench_html.hpp"
#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/run_report.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

int exit_code(bench::Verdict verdict, bool strict) {
  switch (strict ? bench::strict(verdict) : verdict) {
    case bench::Verdict::pass: return kExitInSync;
    case bench::Verdict::fail: return kExitDifferent;
    case bench::Verdict::unknown: break;
  }
  return kExitIncomplete;
}

Shown accepted_line(const BaselineTaken& baseline) {
  if (baseline.missing.empty()) return compose("accepted as the new baseline");
  return compose("accepted as the new baseline, but for {} of {}, which keep what they had: {}",
                 baseline.measured - baseline.taken, baseline.measured, baseline.missing);
}

std::string text_of(const ClusterSession& session, const BenchRun& run, const Terminal& terminal) {
  std::string text = bench_of_text(session.cluster().title(), run.outcomes, terminal);
  if (run.compared) text += comparison_text(*run.compared, terminal);
  if (run.recorded && *run.recorded) text += compose("recorded as run {}\n", **run.recorded);
  return text;
}

nlohmann::json document_of(const OpenedCluster& cluster, const BenchRun& run, const Result<Done>& reported) {
  nlohmann::json document = of_cluster(cluster, bench_json(run.outcomes, run.config_hash));
  document["run"] = run.recorded && *run.recorded ? nlohmann::json(**run.recorded) : nlohmann::json();
  if (run.recorded && !*run.recorded) document["notRecorded"] = run.recorded->error().what;
  if (!reported) document["notReported"] = reported.error().text();
  if (run.compared) document["compare"] = comparison_json(*run.compared);
  if (!run.accepted) return document;
  nlohmann::json& accepted = document["accepted"];
  accepted["baseline"] = bool(*run.accepted);
  if (!*run.accepted) {
    accepted["why"] = run.accepted->error().what;
  } else {
    accepted["measured"] = (*run.accepted)->measured;
    accepted["taken"] = (*run.accepted)->taken;
    if (!(*run.accepted)->missing.empty()) accepted["why"] = (*run.accepted)->missing;
  }
  return document;
}

// Pipes are allowed, as for `plan --out`.
constexpr Replacement kReportFile{.write_through = true};

std::string recorded_text(const BenchRun& run) {
  if (!run.recorded) return run.stopped ? "no: stopped while measuring" : "no: nothing was measured";
  return *run.recorded ? "as run " + std::to_string(**run.recorded) : "no: " + run.recorded->error().text();
}

Result<Done> write_report(const std::string& file, const ClusterSession& session, const BenchRun& run) {
  const BenchFacts facts{.cluster = session.cluster().name,
                         .twin = session.cluster().twin,
                         .at = utc_text(session.executor().wall_time()),
                         .author = who_runs(),
                         .version = LOCKSTEP_VERSION,
                         .recorded = recorded_text(run),
                         .config_hash = run.config_hash,
                         .stopped = run.stopped};
  Result<Done> written = replace_file(file, bench_html(run.outcomes, facts, run.compared), kReportFile);
  return written ? std::move(written) : wrap("--report", written.error());
}

}  // namespace

int run_bench(const BenchOptions& options, const Console& console) {
  if (!options.report.empty())  // before minutes of traffic rather than after
    if (Result<Done> writable = check_replaceable(options.report, kReportFile); !writable)
      return console.fail(wrap("--report", writable.error()));
  const std::unique_ptr<CommandSession> command = CommandSession::open(options.source, console, "");
  if (!command) return kExitError;
  ClusterSession& session = **command;
  if (Result<Done> reached = reaches_any(session.fleet()); !reached) return console.fail(reached.error());
  const Result<BenchRun> run =
      session.bench({.command = "lockstep bench",
                     .suite = options.suite,
                     .benchmark = options.only,
                     .accept = options.accept,
                     .author = who_runs(),
                     .compare = options.compare},
                    measure_hooks(console, ""), Call{.stop = console.stop, .wake_fd = console.stop_fd});
  if (!run) return console.fail(run.error());
  const Result<Done> reported =
      options.report.empty() ? Result<Done>(Done{}) : write_report(options.report, session, *run);
  if (console.is_text())
    console.print(text_of(session, *run, console.out()));
  else
    console.print_document(document_of(session.cluster(), *run, reported));
  if (run->stopped)
    console.note("stopped while measuring: this is as far as it went, and it is not recorded");
  note_slow_machine(session.cluster(), run->outcomes, console);
  if (run->recorded && !*run->recorded)
    console.note("this run is not recorded: " + run->recorded->error().text());
  if (!reported && console.is_text()) (void)console.fail(reported.error());  // a document already contains it
  if (run->accepted && !*run->accepted) {
    if (console.is_text()) (void)console.fail(run->accepted->error());  // a document already contains it
    return verdict_of(run->outcomes) == bench::Verdict::fail ? kExitDifferent : kExitError;
  }
  if (run->accepted) {
    console.note(accepted_line(**run->accepted));
    return reported ? kExitInSync : kExitError;
  }
  if (!reported) return kExitError;
  // An interrupted run is shown as far as it went; it does not answer whether all SLOs hold.
  return run->stopped ? kExitError : exit_code(verdict_of(run->outcomes), options.strict);
}

}  // namespace lockstep
