// How a session changes devices: apply from taking the lock to accepting the result, bench, and healing.
#include <algorithm>
#include <stdexcept>

#include "reconciler/session/accepted.hpp"
#include "reconciler/session/cluster_apply.hpp"
#include "reconciler/session/former_entries.hpp"

namespace lockstep {

bool EarlierRuns::to_judge() const {
  return std::any_of(owed.begin(), owed.end(),
                     [](const OwedDecision& one) { return one.fate == OwedDecision::Fate::taken; });
}

Store& ClusterSession::store() const {
  if (!store_) throw std::logic_error("a change without prepare_apply()");
  return *store_;
}

Result<EarlierRuns> ClusterSession::prepare_apply(const ApplyRequest& request) {
  if (!store_) {
    TRY(std::unique_ptr<Store> opened, open_store(directory_, store_options()));
    TRY_DONE(opened->leadership().take(request.command));
    TRY(machine_locks_, machines_.take(user(), request.command, executor_.wall_time()));
    store_ = std::move(opened);
  }
  EarlierRuns earlier;
  TRY(earlier.in_flight, recover_in_flight(store_->history()));
  TRY(earlier.owed,
      take_owed(cluster_, store_->history(), {.measures = request.measures, .only = choice().only}));
  owed_.clear();
  for (const OwedDecision& one : earlier.owed)
    if (one.fate == OwedDecision::Fate::taken) owed_.push_back(one.owed);
  return earlier;
}

Result<std::vector<WrittenEntry>> ClusterSession::settle_written(const std::vector<DeviceState>& states) {
  return lockstep::settle_written(fleet(), states, store().history());
}

Result<std::string> ClusterSession::why_confirm_deletion(const Plan& plan) const {
  return lockstep::why_confirm_deletion(cluster_, plan, store().blobs());
}

std::string ClusterSession::why_not_confirm_deletion() const {
  for (const std::unique_ptr<Attached>& one : attached_.drivers)
    if (one->permission != nullptr)
      if (const auto why = one->permission->why_not_confirm_deletion()) return *why;
  return "";
}

Result<Done> ClusterSession::leave_as_is(const std::vector<WrittenEntry>& left) {
  TRY_DONE(remember_first(cluster_, store().blobs()));
  return note_written(*this, left, store().history());
}

std::unique_ptr<ClusterApply> ClusterSession::make_apply(Plan plan, std::vector<WrittenEntry> left,
                                                         const ApplyRequest& request,
                                                         const ApplyHooks& hooks) {
  ApplyOptions options;
  options.approved = request.approved;
  options.refusals_approved = request.deletion_confirmed && why_not_confirm_deletion().empty();
  options.strict = request.strict;
  options.author = request.author;
  options.reason = request.command;
  if (!request.approved_by.empty()) options.reason += ", approved by " + request.approved_by;
  options.owed = std::exchange(owed_, {});
  options.choice = choice();
  options.policy_for = policies();
  options.on_fail = on_violation(cluster_.catalog);
  options.measure_timeout = std::max(options.measure_timeout, time_to_measure(cluster_.catalog));
  // What is written to a device has these numbers, however the run ends: the next device moves none of them.
  if (!cluster_.twin)
    options.before_writing = [this] {
      return write_allocation_lock(cluster_.folder, cluster_.compiled.allocation.lock);
    };
  SuiteGate* gate = nullptr;
  if (request.measures && !cluster_.catalog.validation_suites.empty()) {
    options.measurer = measurer_;
    if (measurer_ == nullptr) {
      gates_.push_back(std::make_unique<SuiteGate>(cluster_, store().blobs(), directory_, hooks.measure));
      options.measurer = gate = gates_.back().get();
    }
  }
  auto application = std::make_unique<Application>(attached_.fleet, executor_, store().history(), plan,
                                                   std::move(options), hooks.progress);
  // Bound to nothing: it is called by the operation, which must not outlive its session.
  auto over = [this, plan = std::move(plan), left = std::move(left), gate](ApplyReport report) {
    Applied applied{std::move(report), {}, Done{}};
    if (gate != nullptr) applied.gates = gate->gates();
    applied.accepted = accept(plan, left, applied);
    return applied;
  };
  return std::make_unique<ClusterApply>(std::move(application), std::move(over));
}

Result<Done> ClusterSession::accept(const Plan& plan, const std::vector<WrittenEntry>& left,
                                    const Applied& applied) {
  const ApplyReport& report = applied.report;
  const bool kept = report.verdict == ApplyVerdict::kept || report.verdict == ApplyVerdict::not_validated;
  if (!kept && report.verdict != ApplyVerdict::waits) return Done{};
  TRY_DONE(remember_intents(*this, plan, report, store().blobs()));
  TRY_DONE(note_written(*this, left, store().history()));
  return kept ? remember(cluster_, store().blobs()) : Done{};
}

Result<Rest> ClusterSession::rest_of(const std::vector<DeviceState>& states) const {
  Rest rest{not_observed(states), false};
  if (!rest.not_observed.empty()) return rest;
  TRY(const Plan left, plan(states));
  rest.differs = !left.empty();
  return rest;
}

Result<BenchRun> ClusterSession::bench(const BenchRequest& request, const MeasureHooks& hooks,
                                       const Call& call) {
  TRY(const std::unique_ptr<Store> store, read_store());
  if (request.accept) TRY_DONE(store->leadership().take(request.command));
  TRY(const FileLock turn, turn_to_measure(directory_, request.command, call, hooks.waiting));
  MeasureChoice choice;
  choice.suite = request.suite;
  choice.benchmark = request.benchmark;
  const MeasureInput input = measure_input(cluster_, store->blobs());
  Result<std::vector<SuiteOutcome>> outcomes = measure(input, choice, hooks.progress, call.stop);
  // What the machine's load left without a figure may have one in a quieter moment. What failed by its path
  // has failed: it is not measured until it passes.
  const auto has_none = [](const bench::Measurement& one) {
    const bool may_pass = one.cpu_limited || one.ok() || one.trouble == bench::Trouble::tool;
    return may_pass && !bench::why_no_entry(one).empty();
  };
  for (std::size_t round = 0; request.accept && outcomes && round < kConfirmingRounds; ++round)
    if (auto more = measure_once_more(input, choice, has_none, hooks.progress, call.stop, *outcomes); !more)
      outcomes = std::move(more.error());
  if (hooks.ended) hooks.ended();
  if (!outcomes) return std::move(outcomes.error());
  BenchRun run{*std::move(outcomes), input.config_hash};
  run.stopped = cut_short(run.outcomes) || (request.accept && call.stop.stop_requested());
  if (request.accept && !run.stopped)
    run.accepted = accept_baselines(cluster_.catalog, store->blobs(), run.outcomes);
  return run;
}

}  // namespace lockstep
