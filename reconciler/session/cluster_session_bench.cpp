// How a session runs benchmarks by itself, and what it records.
#include "reconciler/session/cluster_bench.hpp"
#include "reconciler/session/cluster_session.hpp"
#include "reconciler/store/utc_text.hpp"

namespace lockstep {
namespace {

// A measurement without a figure because of the machine's load may succeed in a quieter moment. One that
// failed because of its path is a result, and is not repeated until it passes.
bool may_have_one_yet(const bench::Measurement& one) {
  const bool may_pass = one.cpu_limited || one.ok() || one.trouble == bench::Trouble::tool;
  return may_pass && !bench::why_no_entry(one).empty();
}

// Limits an earlier run to what is measured now.
void keep_chosen(MeasuredRun& run, const BenchRequest& request) {
  std::erase_if(run.figures, [&request](const RunFigure& one) {
    return (!request.suite.empty() && one.suite != request.suite) ||
           (!request.benchmark.empty() && one.benchmark != request.benchmark);
  });
}

}  // namespace

MeasureInput ClusterSession::input_for(const Blobs& blobs) const {
  MeasureInput input = measure_input(cluster_, blobs);
  input.traffic = traffic_;
  input.busy = [this](DeviceIndex device) { return attached_.jobs_at(device); };
  return input;
}

MeasuredUnder ClusterSession::measured_under(const std::string& command, const std::string& author,
                                             const std::string& config_hash) const {
  return {command, author, config_hash, version_, devices_};
}

std::shared_ptr<GateRecorder> ClusterSession::make_recorder(const Plan& plan,
                                                            const std::vector<OwedChange>& owed,
                                                            const ApplyRequest& request,
                                                            const std::string& config_hash) const {
  const Result<std::vector<ChangeRecord>> changes = store().history().changes(1);
  Result<std::uint64_t> newest = !changes           ? Result<std::uint64_t>(changes.error())
                                 : changes->empty() ? 0
                                                    : changes->front().change;
  // An apply that has nothing to do begins no change, and judges the changes that are not validated yet.
  const std::uint64_t judged = plan.empty() && !owed.empty() ? owed.back().change : 0;
  return std::make_shared<GateRecorder>(directory_, store_options(),
                                        measured_under(request.command, request.author, config_hash),
                                        std::move(newest), judged);
}

Result<BenchRun> ClusterSession::bench(const BenchRequest& request, const MeasureHooks& hooks,
                                       const Call& call) {
  if (request.accept) TRY_DONE(settle_identity(request.command));
  TRY(const std::unique_ptr<Store> store, read_store());
  std::optional<MeasuredRun> then;
  if (!request.compare.empty()) {
    TRY(then, find_run(store->runs(), request.compare));
  }
  if (request.accept) TRY_DONE(store->leadership().take(request.command));
  observe();
  TRY(const FileLock turn, turn_to_measure(directory_, request.command, call, hooks.waiting));
  MeasureChoice choice;
  choice.suite = request.suite;
  choice.benchmark = request.benchmark;
  const MeasureInput input = input_for(store->blobs());
  Result<std::vector<SuiteOutcome>> outcomes = measure(input, choice, hooks.progress, call.stop);
  for (std::size_t round = 0; request.accept && outcomes && round < kConfirmingRounds; ++round)
    if (auto more = measure_once_more(input, choice, may_have_one_yet, hooks.progress, call.stop, *outcomes);
        !more)
      outcomes = std::move(more.error());
  if (hooks.ended) hooks.ended();
  if (!outcomes) return std::move(outcomes.error());
  BenchRun run{*std::move(outcomes), input.config_hash};
  run.stopped = cut_short(run.outcomes) || (request.accept && call.stop.stop_requested());
  if (run.stopped) return run;
  if (request.accept) run.accepted = accept_baselines(cluster_.catalog, store->blobs(), run.outcomes);
  MeasuredRun taken =
      run_of(run.outcomes, {}, measured_under(request.command, request.author, input.config_hash));
  if (measurements_in(run.outcomes) > 0) run.recorded = record(*store, taken, turn);
  if (!then) return run;
  keep_chosen(*then, request);
  run.compared = compare_runs(*then, taken, cluster_.catalog);
  return run;
}

std::unique_ptr<ClusterBench> ClusterSession::make_bench(ScheduledBench request) {
  BenchGround ground{.cluster = cluster_,
                     .executor = executor_,
                     .directory = directory_,
                     .observe = [this] { return make_observe(); },
                     .input = [this]() -> Result<MeasureInput> {
                       TRY(const std::unique_ptr<Store> store, read_store());
                       return input_for(store->blobs());
                     },
                     .record = [this, command = request.command, author = request.author](
                                   const std::vector<SuiteOutcome>& outcomes, const std::string& config_hash,
                                   const FileLock& turn) -> Result<std::uint64_t> {
                       TRY(const std::unique_ptr<Store> store, read_store());
                       MeasuredRun run = run_of(outcomes, {}, measured_under(command, author, config_hash));
                       return record(*store, run, turn);
                     }};
  return std::make_unique<ClusterBench>(std::move(ground), std::move(request));
}

Result<std::uint64_t> ClusterSession::record(Store& store, MeasuredRun& run, const FileLock& turn) const {
  TRY(const std::vector<ChangeRecord> changes, store.history().changes(1));
  run.head.under = changes.empty() ? 0 : changes.front().change;
  run.head.at = utc_text(executor_.wall_time());
  return store.runs().record(turn, run);
}

}  // namespace lockstep
