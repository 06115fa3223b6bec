#include "reconciler/engine/step_run.hpp"

#include <algorithm>
#include <utility>

#include "reconciler/engine/met.hpp"
#include "reconciler/engine/observe.hpp"
#include "specs/compile/wanted_by_name.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// The final value of each entry of a step.
std::map<Path, Value> ends_of(const Step& step) {
  std::map<Path, Value> ends;
  for (const PlannedChange& change : step.changes) ends[change.path] = change.want;
  return ends;
}

}  // namespace

StepRun::StepRun(const RunContext& context, const Step& step, StepResult& result,
                 std::function<Together(bool works)> holds, std::function<void(End)> over)
    : context_(context), step_(step), result_(result), holds_(std::move(holds)), over_(std::move(over)) {}

StepRun::~StepRun() {
  for (const auto& one : {pending_, deadline_})
    if (one) context_.executor.cancel(*one);
}

void StepRun::start() {
  started_ = context_.executor.now();
  std::optional<Error> missing = no_driver();
  if (const auto device = context_.fleet.find(step_.device)) {
    device_ = *device;
    missing = find_driver();
  }
  const bool may_be_found = missing && missing->kind != ErrorKind::unsupported && step_.remedy.empty();
  if (missing && !may_be_found) return end(StepState::failed, missing->text());
  if (!step_.remedy.empty()) return observe(Phase::need);
  observe(Phase::ground);
}

// None: it is known. A driver's traits can be unknown until the first observation.
std::optional<Error> StepRun::find_driver() {
  const Carriers& carriers = context_.fleet.carriers(device_);
  const std::vector<Attached*>& drivers = context_.fleet[device_].drivers;
  if (const auto found = carriers.find(step_.driver)) {
    attached_ = drivers[*found];
    undoes_itself_ = carriers.traits(*found)->undoes_itself;
    return std::nullopt;
  }
  for (std::size_t d = 0; d < drivers.size(); ++d)
    if (carriers.traits(d) == nullptr) return carriers.why_unknown(d);
  return no_driver();
}

Error StepRun::no_driver() const {
  return Error{ErrorKind::unsupported, "no driver '" + step_.driver + "' is attached to " + step_.device};
}

void StepRun::start_job(std::chrono::milliseconds timeout, std::function<void(const Call&)> run,
                        std::function<void(const Outcome&)> done) {
  waits_ = false;
  pending_ = context_.executor.start(
      Job{.key = step_.device,
          .lane = context_.fleet[device_].lane,
          .timeout = timeout,
          .run = std::move(run),
          .done = callbacks_.bind([this, done = std::move(done)](const Outcome& outcome) {
            pending_.reset();
            done(outcome);
          })});
}

// The rows of the step; the whole device if effects must come back. Entries that it writes are read even if
// the intent does not name them.
Scope StepRun::scope() const {
  Scope out = scope_of(*context_.fleet[device_].intent);
  for (const PlannedChange& change : step_.changes) {
    const RowId row = change.path.row();
    if (step_.remedy.empty() && !step_.live && !is_armed() && (out.rows.empty() || !out.wants(row)))
      out.rows.push_back(row);
    if (is_read_by_name(row) && std::ranges::find(out.named, change.path) == out.named.end())
      out.named.push_back(change.path);
  }
  return out;
}

void StepRun::observe(Phase phase) {
  phase_ = phase;
  auto reading = std::make_shared<StepObservation>(context_.fleet, device_, attached_, scope());
  start_job(
      context_.options.observe_timeout, [reading](const Call& call) { reading->observe(call); },
      [this, reading](const Outcome& outcome) { observed(*reading, outcome); });
}

void StepRun::observed(StepObservation& reading, const Outcome& outcome) {
  seen_ = {};
  if (outcome == Outcome::returned) {
    reading.teach(context_.fleet);
    if (attached_ == nullptr) seen_.error = find_driver();
    if (!seen_.error) seen_ = reading.merged(context_.fleet, attached_);
  } else {
    seen_.error = Error{ErrorKind::transient, step_.device + ": " + outcome.reason_or("no answer in time")};
  }
  if (seen_.error && ends_for_another_leader(*seen_.error)) return;
  if (!failed_as_ && (is_past_saving_ || is_disarmed())) return check_rolled_back();
  switch (phase_) {
    case Phase::ground: return check_ground();
    case Phase::read_back: return check_written();
    case Phase::need: return check_need();
    case Phase::remedied: return check_remedied();
    default: return check_regained();
  }
}

void StepRun::observe_after(std::chrono::milliseconds wait, Phase phase) {
  phase_ = phase;
  waits_ = true;
  pending_ = context_.executor.at(context_.executor.now() + wait, callbacks_.bind([this, phase] {
    pending_.reset();
    observe(phase);
  }));
}

// Nothing new begins after a step's time; what is under way runs to its own deadline.
bool StepRun::is_late(std::chrono::milliseconds wait) const {
  return context_.executor.now() + wait >= started_ + context_.options.step_timeout;
}

// If the entries are as planned, or as we left them, the missing ones are written, in the planned order.
void StepRun::check_ground() {
  const StepSeen& now = seen_;
  if (now.error) return react(*now.error, false);
  if (!now.armed.empty() && now.armed != transaction()) return settle_earlier();
  std::map<Path, std::vector<Value>> known;
  for (const PlannedChange& change : step_.changes) {
    if (is_unread(now.unread, change.path))
      return react(Error{ErrorKind::transient, change.path.text() + " could not be read"}, false);
    auto& values = known[change.path];
    if (values.empty()) values.push_back(change.was);
    values.push_back(change.want);
  }
  bool all_met = true;
  for (const auto& [path, wanted] : ends_of(step_)) {
    const Value have = now.have.value(path);
    all_met = all_met && is_met(path, wanted, have);
    auto& values = known[path];
    const auto last = tries_ == 0 ? values.begin() + 1 : values.end();
    if (is_met(path, wanted, have) || std::find(values.begin(), last, have) != last) continue;
    return give_up("the plan is stale: " + path.text() + " is " + have.to_string() + ", and was " +
                   values.front().to_string() + " when this was planned; plan again");
  }
  if (all_met) return found_as_wanted();
  if (step_.live) remember_effects();
  std::map<Path, Value> state;
  ChangeSet changes;
  for (const PlannedChange& change : step_.changes) {
    const auto [at, is_new] = state.try_emplace(change.path, now.have.value(change.path));
    if (at->second == change.want) continue;
    changes.push_back({change.path, at->second, change.want, 0});
    at->second = change.want;
  }
  write(std::move(changes));
}

// Another writer, or an unacknowledged write, set them; or the observation is older than the one that the
// plan was made from: reads may lag.
void StepRun::found_as_wanted() {
  const std::chrono::milliseconds pause = context_.options.poll_min * (1 << met_);
  if (++met_ < kReadsMax && !context_.stop.stop_requested() && !is_late(pause))
    return observe_after(pause, Phase::ground);
  if (tries_ > 0) return is_armed() ? await_effects() : keep();
  end(StepState::nothing_to_do, "found as wanted");
}

// Before every write: an observation before a refused write, or of an older state, shows less than the next
// one.
void StepRun::remember_effects() {
  for (const Entry& want : context_.fleet[device_].intent->want.entries()) {
    if (schema_row(want.path.row()).facet != Facet::effect) continue;
    const ComesBack back =
        context_.comes_back ? context_.comes_back(step_.device, want.path) : ComesBack::must;
    if (back == ComesBack::no) continue;
    const bool unread = is_unread(seen_.unread, want.path);
    if (!unread && !satisfies(want.path.row(), want.value, seen_.have.value(want.path))) continue;
    if (held_before_.insert(want.path).second && unread) unread_before_.insert(want.path);
    if (back == ComesBack::may) may_be_gone_.insert(want.path);
    if (!unread) unread_before_.erase(want.path);
  }
}

void StepRun::write(ChangeSet changes) {
  phase_ = Phase::write;
  Guard guard{.ticket = context_.next_ticket(transaction()),
              .revision = blind_ ? std::string() : seen_.revision,
              .epoch = context_.ledger.epoch(),
              .undo_after = step_.undo_after,
              .transaction = transaction()};
  if (is_armed()) {
    Result<ChangeSet> undo = undo_of_step(step_, context_.fleet, device_, seen_.have);
    if (!undo) return give_up("not begun: its rollback can't be planned: " + undo.error().text());
    guard.undo = *std::move(undo);
    arm_until(context_.executor.now() + *step_.undo_after);
  }
  const auto journalled = context_.ledger.ticket(
      context_.change, LedgerTicket{guard.ticket, step_.id, step_.device, step_.driver, changes});
  if (!journalled) {
    CurrentEpoch* const epoch = context_.options.epoch;
    if (epoch != nullptr && journalled.error().kind == ErrorKind::denied)
      epoch->lose(journalled.error().text());
    return give_up("not begun: " + journalled.error().text());
  }
  tickets_.push_back(guard.ticket);
  ++tries_;
  ++result_.writes;
  if (!disturbs_since_) disturbs_since_ = context_.executor.now();
  reads_ = 0;
  met_ = 0;
  is_being_kept_ = false;
  was_armed_ = false;
  refusal_.reset();
  auto answer = std::make_shared<std::optional<Result<Receipt>>>();
  Driver* const driver = attached_->driver.get();
  start_job(
      context_.options.apply_timeout,
      [answer, driver, changes = std::move(changes), guard](const Call& call) {
        *answer = driver->apply(changes, guard, call);
      },
      [this, answer](const Outcome& outcome) { wrote(outcome, *answer); });
}

void StepRun::wrote(const Outcome& outcome, std::optional<Result<Receipt>>& answer) {
  if (is_past_saving_) return observe(Phase::read_back);
  if (outcome == Outcome::never_started)
    return react(
        Error{ErrorKind::transient, step_.device + ": " + outcome.reason_or("the write was never begun")},
        false);
  if (outcome != Outcome::returned || !answer)
    return react(
        Error{ErrorKind::unknown_outcome, step_.device + ": " + outcome.reason_or("no answer to a write")},
        true);
  const Result<Receipt>& receipt = *answer;
  if (!receipt && ends_for_another_leader(receipt.error())) return;
  if (!receipt) return react(receipt.error(), true);
  was_armed_ = true;
  result_.notes.insert(result_.notes.end(), receipt->notes.begin(), receipt->notes.end());
  // An outcome that was not tried because of another's refusal is not the reason.
  for (const Receipt::Outcome& one : receipt->outcomes)
    if (one.error && (!refusal_ || refusal_->kind == ErrorKind::cancelled))
      refusal_ = wrap(one.path.text(), *one.error);
  observe(Phase::read_back);
}

// Nothing counts as done until it was read back.
void StepRun::check_written() {
  const StepSeen& now = seen_;
  if (now.error) return react(*now.error, true);
  std::string missing;
  bool unread = false;
  for (const auto& [path, wanted] : ends_of(step_)) {
    if (!shows_at_once(path.row())) continue;
    unread = unread || is_unread(now.unread, path);
    if (!is_met(path, wanted, now.have.value(path)) && missing.empty())
      missing = path.text() + " is " + now.have.value(path).to_string() + " instead of " + wanted.to_string();
  }
  if (missing.empty() && !unread) return is_armed() ? await_effects() : keep();
  if (putting_back_) return put_guard_back(why_);
  if (refusal_ && reaction_to(refusal_->kind) == Reaction::give_up) return give_up(refusal_->text());
  const std::chrono::milliseconds pause = context_.options.poll_min * (2 << reads_);
  if (++reads_ < kReadsMax && !is_late(pause)) return observe_after(pause, Phase::read_back);
  if (unread) return give_up("it could not be read back");
  if (refusal_) missing += " (" + refusal_->text() + ")";
  react(Error{ErrorKind::transient, "written, but " + missing}, false);
}

void StepRun::react(const Error& error, bool may_have_happened) {
  if (putting_back_) return fail(StepState::failed, why_);
  const Reaction reaction = reaction_to(error.kind);
  if (reaction == Reaction::stop || reaction == Reaction::give_up) return give_up(error.text());
  const ApplyOptions& options = context_.options;
  if (!may_have_happened || tries_ < options.tries) ++reads_;
  const std::chrono::milliseconds wait = reaction == Reaction::retry_later
                                             ? options.back_off * (1 << std::min(tries_ + reads_, 6))
                                             : options.poll_min;
  if (tries_ >= options.tries || reads_ > options.tries + kReadsMax || is_late(wait))
    return give_up(error.text() + " (after " + std::to_string(tries_) + " writes)");
  if (reaction == Reaction::plan_again) blind_ = true;
  observe_after(wait, Phase::ground);
}

std::string StepRun::transaction() const {
  return "e" + std::to_string(context_.ledger.epoch()) + "-c" + std::to_string(context_.change) + "-s" +
         std::to_string(step_.id);
}

// Nothing is kept before what worked before works again.
void StepRun::await_effects() {
  effects_until_ = context_.executor.now() + context_.options.settle_time;
  reads_ = 0;
  check_regained();
}

void StepRun::journal(const std::string& ticket, TicketState state, const std::string& why) {
  const auto noted = context_.ledger.receipt(ticket, state, why);
  if (noted) return;
  result_.unjournalled = true;
  result_.notes.push_back(noted.error().text());
}

void StepRun::kept() {
  for (const std::string& ticket : tickets_) journal(ticket, TicketState::kept, "");
  if (held_before_.empty() || is_armed()) return end(StepState::done, "");
  await_effects();
}

// What does not work again yet, by the last observation; none: everything does.
std::optional<StepRun::Missing> StepRun::not_regained() const {
  if (seen_.error) return Missing{seen_.error->text()};
  const Tree& have = seen_.have;
  // An observation that does not show the write is older than it, and shows nothing about what came after.
  if (!failed_as_)
    for (const auto& [path, wanted] : ends_of(step_))
      if (shows_at_once(path.row()) && !is_met(path, wanted, have.value(path)))
        return Missing{path.text() + " is " + have.value(path).to_string()};
  const Tree& want = context_.fleet[device_].intent->want;
  std::optional<Missing> lesser;
  for (const Path path : held_before_) {
    const bool unread = is_unread(seen_.unread, path);
    if (!unread && satisfies(path.row(), want.value(path), have.value(path))) continue;
    Missing one{path.text() + (unread ? " could not be read" : " is " + have.value(path).to_string())};
    if (!unread) one.effect = path;
    if (unread && unread_before_.contains(path)) one.excuse = "neither before nor after";
    if (may_be_gone_.contains(path)) one.excuse = "nor was it there before the change";
    if (!unread && one.excuse.empty()) return one;
    if (!lesser || one.excuse.empty()) lesser = std::move(one);
  }
  return lesser;
}

// What worked before must work again before the next step disturbs something, whether this step succeeded or
// not.
void StepRun::check_regained() {
  const std::optional<Missing> missing = not_regained();
  const ApplyOptions& options = context_.options;
  // A stop does not cut short what the next rollback waits for.
  const bool stops = context_.stop.stop_requested() && failed_as_ != StepState::undone;
  if (missing && context_.executor.now() < effects_until_ && !stops)
    return extend_if_due(std::min(options.poll_min * (1 << std::min(reads_++, 8)), options.poll_max));
  if (failed_as_) return end(*failed_as_, why_);
  const bool remedy_follows = missing && missing->effect && !is_armed() && context_.remedy_follows &&
                              context_.remedy_follows(step_.device, *missing->effect);
  if (remedy_follows) {
    result_.notes.push_back(missing->text + ": left to the remedy that the plan has for it");
    return end(StepState::done, "");
  }
  if (missing && missing->excuse.empty()) {
    const std::string why = "written, but what worked before did not come back: " + missing->text;
    return is_armed() ? give_up(why) : end(StepState::failed, why);
  }
  if (missing) result_.notes.push_back(missing->text + ", " + missing->excuse);
  if (is_armed()) return decided(holds_(true));
  end(StepState::done, "");
}

// The end of a step that did not succeed.
void StepRun::fail(StepState state, const std::string& why) {
  if (held_before_.empty()) return end(state, why);
  failed_as_ = state;
  why_ = why;
  effects_until_ = context_.executor.now() + context_.options.settle_time;
  reads_ = 0;
  observe(Phase::regain);
}

// Ends a step that did not succeed: the device rolls it back if it can; a guard is never left in place.
void StepRun::give_up(const std::string& why) {
  why_ = why;
  if (tickets_.empty() || putting_back_) return fail(StepState::failed, why);
  if (!is_armed()) return put_guard_back(why);
  settle(Phase::settle_undo, transaction(), Settlement::undo, [this](const Result<Done>& answer) {
    if (!answer) result_.notes.push_back("not rolled back by the device: " + answer.error().text());
    fail(answer ? StepState::undone : StepState::failed, why_);
  });
}

// Restores transient values (a port that is shut down for a change) that are still there, once.
void StepRun::put_guard_back(const std::string& why) {
  ChangeSet changes;
  const std::map<Path, Value> ends = ends_of(step_);
  std::map<Path, std::pair<Value, Value>> transients;  // value it may have been left at, value it must have
  for (const PlannedChange& change : step_.changes)
    if (change.transient) transients.try_emplace(change.path, change.want, ends.at(change.path));
  for (const auto& [path, values] : transients)
    if (values.second && seen_.have.value(path) == values.first && values.first != values.second)
      changes.push_back({path, values.first, values.second, 0});
  if (changes.empty() || putting_back_) return fail(StepState::failed, why);
  putting_back_ = true;
  result_.notes.push_back("a guard was put back");
  write(std::move(changes));
}

void StepRun::end(StepState state, const std::string& why) {
  phase_ = Phase::over;
  if (deadline_) context_.executor.cancel(*std::exchange(deadline_, std::nullopt));
  if (state == StepState::failed || state == StepState::undone)
    for (const std::string& ticket : tickets_)
      journal(ticket, state == StepState::undone ? TicketState::undone : TicketState::failed, why);
  if (disturbs_since_ && step_.live)
    result_.disturbed =
        std::chrono::duration_cast<std::chrono::milliseconds>(context_.executor.now() - *disturbs_since_);
  result_.took = std::chrono::duration_cast<std::chrono::milliseconds>(context_.executor.now() - started_);
  over_({state, why});
}

}  // namespace lockstep
