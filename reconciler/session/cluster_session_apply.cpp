// How a session changes devices: apply from taking the lock to accepting the result, bench, and healing.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "reconciler/engine/causes.hpp"
#include "reconciler/session/accepted.hpp"
#include "reconciler/session/applied_specs.hpp"
#include "reconciler/session/cluster_apply.hpp"
#include "reconciler/session/former_entries.hpp"
#include "reconciler/session/identity.hpp"
#include "reconciler/session/numbers.hpp"
#include "reconciler/session/specs_commit.hpp"

namespace lockstep {
namespace {

// Gives changes that are not validated yet the measurement from before them, if it is still comparable.
// Returns what could not be read; such a change is judged without it.
std::vector<std::string> give_befores(Store& store, const RunGround& ground, std::vector<OwedChange>& owed) {
  std::vector<std::string> notes;
  for (OwedChange& one : owed) {
    const Result<bool> stands = before_stands(store.runs(), one.change, ground);
    if (stands && !*stands) continue;
    Result<std::optional<GateMeasurement>> kept =
        stands ? store.history().kept_before(one.change)
               : Result<std::optional<GateMeasurement>>(stands.error());
    if (kept)
      one.before = *std::move(kept);
    else
      notes.push_back("judged without what was measured before it: " + kept.error().text());
  }
  return notes;
}

WasWritten was_written(const std::vector<WrittenEntry>& entries) {
  std::set<std::pair<std::string, Path>> written;
  for (const WrittenEntry& one : entries)
    if (one.wrote) written.emplace(one.device, one.path);
  return [written = std::move(written)](const std::string& device, Path path) {
    return written.contains({device, path});
  };
}

}  // namespace

bool EarlierRuns::to_judge() const {
  return std::any_of(owed.begin(), owed.end(),
                     [](const OwedDecision& one) { return one.fate == OwedDecision::Fate::taken; });
}

bool EarlierRuns::leaves_owed() const { return std::ranges::any_of(owed, &OwedDecision::is_left); }

Store& ClusterSession::store() const {
  if (!store_) throw std::logic_error("a change without prepare_apply()");
  return *store_;
}

Result<Done> ClusterSession::settle_identity(const std::string& command) {
  TRY_DONE(lockstep::settle_identity(cluster_, command, executor_.wall_time()));
  if (follows_identity_) directory_ = state_directory(cluster_);
  return Done{};
}

// Writes nothing beside the specs for a first apply that a machine refuses. (Another process may have
// assigned the UUID since the specs were read, and be the one that the machine's record names.)
Result<Done> ClusterSession::may_have_uuid() const {
  std::string why = cluster_.uuid().empty() ? why_apply_refused() : "";
  if (why.empty()) return Done{};
  TRY(const std::optional<AllocationLock> there, read_allocation_lock(cluster_.folder));
  if (there && there->cluster) return Done{};
  return Error{ErrorKind::refused, std::move(why)};
}

Result<Lead> ClusterSession::lead(const std::string& command) {
  TRY_DONE(may_have_uuid());
  TRY_DONE(settle_identity(command));
  TRY(std::shared_ptr<Store> opened, leads_ ? leads_() : take_leadership(command));
  // A leadership that lasts is one leader, unless devices deny it.
  const std::uint64_t epoch = opened->leadership().epoch();
  if (leads_ == nullptr || attached_.epoch->leader().epoch != epoch || attached_.epoch->why_over())
    TRY_DONE(attached_.epoch->take(epoch));
  TRY(std::vector<FileLock> machines, machines_.take(user(), command, executor_.wall_time()));
  return Lead{std::move(opened), std::move(machines), leads_ != nullptr};
}

Result<std::shared_ptr<Store>> ClusterSession::take_leadership(const std::string& command) const {
  TRY(std::shared_ptr<Store> opened, read_store());
  TRY_DONE(opened->leadership().take(command));
  return opened;
}

void ClusterSession::leave() {
  if (leads_ == nullptr) attached_.epoch->resign();
  machine_locks_.clear();
  store_.reset();
}

// Before the first write: devices may have accepted an epoch that this store does not know, if it was
// restored from a backup or copied. Whoever holds the store then leads under a higher one, once: who is
// denied again has a rival, and steps down.
bool ClusterSession::prove_leadership() {
  if (!std::exchange(is_unproved_, false)) return false;
  const std::uint64_t own = attached_.epoch->leader().epoch;
  const std::uint64_t accepted = attached_.epoch->highest_of_others(own + kEpochsAhead);
  if (accepted == 0) return false;
  const Result<std::uint64_t> raised = store().leadership().raise_above(accepted);
  const Result<Done> taken = raised ? attached_.epoch->take(*raised) : Result<Done>(raised.error());
  if (!taken) attached_.epoch->lose(taken.error().text());
  if (!taken) return false;
  raised_ = fmt::format(
      "devices had accepted epoch {} of another controller, and this one had epoch {}: its store is a "
      "restored backup or a copy. As it holds that store it continues, with epoch {}. If another controller "
      "of this cluster runs, stop it",
      accepted, own, *raised);
  return true;
}

Result<EarlierRuns> ClusterSession::prepare_apply(const ApplyRequest& request) {
  if (!store_) {
    TRY(Lead led, lead(request.command));
    TRY(const std::vector<WrittenEntry> written, led.store->history().written());
    if (!restores_all(cluster_.compiled, written))
      return Error{
          ErrorKind::conflict,
          "another process has changed this cluster since the specs were read: run the command again"};
    store_ = std::move(led.store);
    machine_locks_ = std::move(led.machines);
    is_unproved_ = true;
  }
  EarlierRuns earlier;
  TRY(earlier.in_flight, recover_in_flight(store_->history()));
  TRY(earlier.owed, take_owed(cluster_, *store_, {.measures = request.measures, .only = choice().only}));
  leaves_owed_ = earlier.leaves_owed();
  owed_.clear();
  open_.clear();
  reads_all_ = request.measures && !cluster_.catalog.validation_suites.empty();
  for (const OwedDecision& one : earlier.owed) {
    if (one.fate == OwedDecision::Fate::taken) owed_.push_back(one.owed);
    if (one.fate == OwedDecision::Fate::other_devices || one.fate == OwedDecision::Fate::not_measuring)
      open_.push_back(one.owed);
  }
  return earlier;
}

Result<std::vector<WrittenEntry>> ClusterSession::settle_written(const std::vector<DeviceState>& states) {
  return lockstep::settle_written(fleet(), states, store().history());
}

Result<Deletion> ClusterSession::deletion_by(const Plan& plan) const {
  TRY(const std::unique_ptr<Store> store, read_store());
  return lockstep::deletion_by(cluster_, plan, store->blobs());
}

std::string ClusterSession::why_refused(const Deletion& deletion, bool confirmed) const {
  if (deletion.why.empty()) return "";
  const std::string never = why_not_confirm_deletion();
  if (!never.empty()) return deletion.why + "; " + never;
  return confirmed ? "" : deletion.why + "; --confirm-deletion applies it all the same";
}

std::string ClusterSession::why_not_confirm_deletion() const {
  for (const std::unique_ptr<Attached>& one : attached_.drivers)
    if (one->permission != nullptr)
      if (const auto why = one->permission->why_not_confirm_deletion()) return *why;
  return "";
}

Result<Done> ClusterSession::leave_as_is(const std::vector<WrittenEntry>& left) {
  TRY_DONE(remember_first(cluster_, store().blobs()));
  TRY_DONE(write_numbers(cluster_));
  TRY_DONE(AppliedSpecs({}).end(*this, {}, {}, not_read_, store().blobs()));
  return note_written(*this, left, store().history());
}

ApplyOptions ClusterSession::options_of(const ApplyRequest& request) {
  ApplyOptions options;
  options.approved = request.approved;
  options.refusals_approved = request.deletion_confirmed && why_not_confirm_deletion().empty();
  options.strict = request.strict;
  options.author = request.author;
  options.reason = request.command;
  const std::string revision =
      request.revision.empty() ? specs_commit(cluster_.folder, cluster_.catalog.sources) : request.revision;
  if (!revision.empty()) options.reason += " of specs at " + revision;
  if (!request.approved_by.empty()) options.reason += ", approved by " + request.approved_by;
  options.owed = std::exchange(owed_, {});
  options.open = open_;
  options.choice = choice();
  options.policy_for = policies();
  options.takes_back = request.takes_back;
  options.on_fail = on_violation(cluster_.catalog);
  options.measure_timeout = std::max(options.measure_timeout, time_to_measure(cluster_.catalog));
  options.was_written = was_written(written_);
  options.epoch = attached_.epoch.get();
  return options;
}

std::unique_ptr<ClusterApply> ClusterSession::make_apply(Plan plan, std::vector<WrittenEntry> left,
                                                         const ApplyRequest& request,
                                                         const ApplyHooks& hooks) {
  ApplyOptions options = options_of(request);
  // These numbers are stored even if the run fails: they are written to devices, and the next device must not
  // move them.
  const auto specs = std::make_shared<AppliedSpecs>(plan);
  options.before_writing = [this, specs, stores = hooks.before_writing]() -> Result<Done> {
    TRY_DONE(keep_numbers(cluster_, store().blobs()));
    TRY_DONE(specs->begin(*this, store().blobs()));
    return stores ? stores() : Result<Done>(Done{});
  };
  SuiteGate* gate = nullptr;
  std::shared_ptr<GateRecorder> recorder;
  std::vector<std::string> notes;
  const bool measurable = !cluster_.catalog.validation_suites.empty();
  if (measurable && !request.measures && !plan.empty())
    notes.push_back(fmt::format("not measured, as --no-measure asks: `lockstep bench{}` measures it",
                                cluster_.twin ? " --twin" : ""));
  if (request.measures && measurable) {
    options.measurer = measurer_;
    if (measurer_ == nullptr) {
      MeasureInput input = input_for(store().blobs());
      recorder = make_recorder(plan, options.owed, request, input.config_hash);
      notes = give_befores(store(), {version_, devices_, executor_.wall_time()}, options.owed);
      gates_.push_back(
          std::make_unique<SuiteGate>(cluster_, std::move(input), directory_, hooks.measure,
                                      [recorder](const auto&... taken) { recorder->record(taken...); }));
      options.measurer = gate = gates_.back().get();
    }
  }
  auto application = std::make_unique<Application>(attached_.fleet, executor_, store().history(), plan,
                                                   std::move(options), hooks.progress);
  // Not bound to a scope: the operation calls it, and must not outlive its session.
  auto over = [this, leaves = leaves_owed_, plan = std::move(plan), left = std::move(left), gate, recorder,
               specs, left_out = request.left_out, undoes = !request.takes_back.empty(),
               stays = request.not_put_back, notes = std::move(notes)](ApplyReport report) mutable {
    Applied applied{std::move(report), {}, Done{}};
    applied.report.notes.insert(applied.report.notes.end(), stays.begin(), stays.end());
    applied.open = report_of(applied.report.effects, fleet().wiring());
    applied.open_before = report_of(applied.report.open_before, fleet().wiring());
    applied.report.leaves_owed = applied.report.leaves_owed || leaves;
    applied.report.notes.insert(applied.report.notes.end(), notes.begin(), notes.end());
    if (recorder)
      for (const std::string& note : recorder->notes()) applied.report.notes.push_back(note);
    if (gate != nullptr) applied.gates = gate->gates();
    left_out.insert(not_read_.begin(), not_read_.end());
    // Until the next apply, what was rolled back differs from the specs, and no watch writes it again.
    if (undoes)
      for (const Step& step : plan.steps) left_out.insert(step.device);
    applied.accepted = specs->end(*this, plan, applied.report, left_out, store().blobs());
    if (applied.accepted && !undoes) applied.accepted = accept(plan, left, applied);
    return applied;
  };
  return std::make_unique<ClusterApply>(std::move(application), std::move(over));
}

Result<Done> ClusterSession::accept(const Plan& plan, const std::vector<WrittenEntry>& left,
                                    const Applied& applied) {
  const ApplyReport& report = applied.report;
  const bool kept = report.verdict == ApplyVerdict::kept || report.verdict == ApplyVerdict::not_validated;
  const bool held = report.verdict == ApplyVerdict::waits || report.verdict == ApplyVerdict::asks ||
                    report.verdict == ApplyVerdict::undone_in_part;
  if (!kept && !held) return Done{};
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

}  // namespace lockstep
