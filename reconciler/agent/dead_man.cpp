#include "reconciler/agent/dead_man.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "reconciler/agent/dead_man_rollback.hpp"
#include "reconciler/agent/dead_man_turns.hpp"
#include "reconciler/agent/remembered.hpp"

namespace lockstep::agent {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

// The turn of whoever writes to the device; no driver is called so.
const std::string kWriter;
constexpr seconds kRetryFirst{1};
constexpr seconds kRetryLast{30};
constexpr int kDoublings = 5;  // from the first to the last

Error conflicting(const std::string& what) { return Error{ErrorKind::conflict, what}; }

}  // namespace

struct DeadMan::State {
  State(AgentJournal opened, std::map<std::string, Attached*> attached, Machine at, Log to)
      : journal(std::move(opened)),
        drivers(std::move(attached)),
        machine(std::move(at)),
        log(std::move(to)) {}

  Result<Done> admit(std::uint64_t epoch, const std::string& leader, bool writes);
  Result<Attached*> driver(const std::string& name) const;
  Result<Done> arm(const wire::ApplyRequest& request, const ChangeSet& way_back, const Call& call);
  ChangeSet with_open_way(const wire::ApplyRequest& request) const;
  Result<Done> end_way(const Result<Receipt>& applied);
  Result<Done> put_way_right(const wire::SettleRequest& request, const Call& call);
  void note_way(const Attached& attached, ArmedTransaction& armed, const Call& call);
  std::optional<Error> why_not_armed(const std::string& transaction) const;
  Result<Done> extend(const wire::SettleRequest& request);
  Result<Done> keep(const wire::SettleRequest& request);
  void roll_back_due();
  Result<Done> roll_back_armed(bool decided);
  Error explain(Error error, const Call& call, std::uint64_t epoch) const;

  // With the lock.
  Result<Done> write(JournalState next) {
    auto written = journal.write(std::move(next));
    return written ? Result<Done>(Done{}) : wrap("the journal can't be written", written.error());
  }
  std::optional<Error> why_no_writes(std::uint64_t epoch) const;
  bool is_ending() const;
  bool is_due() const { return is_ending() && machine.boot_time() >= next_try; }
  bool is_armed(const std::string& transaction) const {
    return journal.state().armed && journal.state().armed->transaction == transaction;
  }
  Result<Done> answer_unarmed(const std::string& transaction, Settlement settlement) const;
  std::optional<Result<Done>> answer_at_once(const wire::SettleRequest& request) const;
  Result<Done> mark_rolling_back();
  Result<Done> end_rollback(const RolledBack& result);
  Result<Done> retry_rollback(const RolledBack& result);

  AgentJournal journal;
  const std::map<std::string, Attached*> drivers;
  const Machine machine;
  Turns turns;
  mutable std::mutex mutex;  // guards the journal, and what follows
  nanoseconds next_try{};    // of a rollback that failed; 0: none failed
  int failures = 0;
  // Used by the holder of the writer's turn only.
  std::set<Path> doubtful;
  const Log log;
  std::string logged;  // last
};

// An epoch of 0 belongs to nobody: whoever only observes need not lead.
Result<Done> DeadMan::State::admit(std::uint64_t epoch, const std::string& leader, bool writes) {
  const std::scoped_lock lock(mutex);
  const JournalState& now = journal.state();
  if (epoch < now.epoch && (writes || epoch != 0))
    return Error{ErrorKind::denied, "epoch " + std::to_string(epoch) + " is over: a leader of epoch " +
                                        std::to_string(now.epoch) + " has been here"};
  if (epoch == 0) return Done{};
  if (epoch == now.epoch) {
    if (leader.empty() || leader == now.leader) return Done{};
    if (!now.leader.empty())
      return Error{ErrorKind::denied, "epoch " + std::to_string(epoch) +
                                          " is another leader's, which has been here: two controllers have "
                                          "copies of one store"};
  }
  JournalState next = now;
  next.epoch = epoch;
  next.leader = leader;
  TRY_DONE(write(std::move(next)));
  turns.interrupt(kWriter);
  return Done{};
}

Result<Attached*> DeadMan::State::driver(const std::string& name) const {
  const auto found = drivers.find(name);
  if (found == drivers.end())
    return Error{ErrorKind::unsupported, "no driver '" + name + "' is attached to this agent"};
  return found->second;
}

std::optional<Error> DeadMan::State::why_no_writes(std::uint64_t epoch) const {
  const JournalState& now = journal.state();
  if (epoch < now.epoch)
    return Error{ErrorKind::denied, "epoch " + std::to_string(epoch) +
                                        " is over: a newer leader has been here since the call came"};
  if (now.failed)
    return Error{ErrorKind::refused, "transaction " + now.failed->transaction +
                                         " could not be rolled back (" + now.failed->why +
                                         "): restore it, then run \"lockstep-agent acknowledge\" there"};
  if (!now.hold.empty()) return Error{ErrorKind::refused, "writes are on hold on this machine: " + now.hold};
  return std::nullopt;
}

// Decided, overdue, or of an earlier boot: it can't be kept any more.
bool DeadMan::State::is_ending() const {
  const auto& armed = journal.state().armed;
  return armed &&
         (armed->rolling_back || armed->boot_id != machine.boot_id || machine.boot_time() >= armed->deadline);
}

// With the lock.
std::optional<Error> DeadMan::State::why_not_armed(const std::string& transaction) const {
  const JournalState& now = journal.state();
  if (now.armed && now.armed->transaction == transaction) return std::nullopt;
  if (now.armed)
    return conflicting("transaction " + now.armed->transaction + " is armed here, and not settled");
  const auto settled = std::ranges::find(now.settled, transaction, &SettledTransaction::transaction);
  if (settled != now.settled.end())
    return conflicting(how_settled(*settled) + ", and this attempt comes late");
  if (now.settled.size() < kSettledMax || !may_be_repeated(now.settled.front(), machine.boot_time()))
    return std::nullopt;
  return Error{ErrorKind::transient, std::to_string(kSettledMax) + " transactions were settled here within " +
                                         std::to_string(kSettledFor.count()) +
                                         " minutes, and no more can be remembered; try again later"};
}

Result<Done> DeadMan::State::arm(const wire::ApplyRequest& request, const ChangeSet& way_back,
                                 const Call& call) {
  const std::scoped_lock lock(mutex);
  const Guard& guard = request.guard;
  if (auto why = why_no_writes(guard.epoch)) return *std::move(why);
  if (auto why = why_not_armed(guard.transaction)) return *std::move(why);
  JournalState next = journal.state();
  if (!guard.undo_after)
    return Error{ErrorKind::refused,
                 "an apply without undo_after: whatever is applied through an agent "
                 "is rolled back unless it is settled"};
  if (guard.transaction.empty()) return conflicting("an apply must belong to a transaction");
  if (next.armed && next.armed->driver != request.driver)
    return conflicting("transaction " + guard.transaction + " is one of driver " + next.armed->driver);
  if (is_ending()) return conflicting("transaction " + guard.transaction + " is being rolled back");
  if (machine.boot_id.empty())
    return Error{ErrorKind::refused, "this machine's boot id can't be read: a rollback could not be timed"};
  if (auto ended = call.why_ended(Time::clock::now())) return *std::move(ended);
  if (!next.armed) next.armed.emplace();
  ArmedTransaction& armed = *next.armed;
  armed.transaction = guard.transaction;
  armed.driver = request.driver;
  armed.ticket = guard.ticket;
  add_changes(armed.changes, request.changes);
  armed.undo = guard.undo;
  add_changes(armed.way_back, way_back);
  armed.undo_after = *guard.undo_after;
  armed.deadline = machine.boot_time() + *guard.undo_after;
  armed.boot_id = machine.boot_id;
  return write(std::move(next));
}

// Another attempt also puts right what the one before it may have left on its way.
ChangeSet DeadMan::State::with_open_way(const wire::ApplyRequest& request) const {
  ChangeSet out = request.changes;
  const std::scoped_lock lock(mutex);
  if (!is_armed(request.guard.transaction)) return out;
  for (const Change& one : journal.state().armed->way_back)
    if (std::ranges::find(out, one.path, &Change::path) == out.end()) out.push_back(one);
  return out;
}

// Before a transaction is kept: its last attempt may have ended on its way, and what it was to do is there.
Result<Done> DeadMan::State::put_way_right(const wire::SettleRequest& request, const Call& call) {
  ArmedTransaction armed;
  {
    const std::scoped_lock lock(mutex);
    if (!is_armed(request.transaction) || is_ending() || journal.state().armed->way_back.empty())
      return Done{};
    armed = *journal.state().armed;
  }
  TRY(Attached* const attached, driver(armed.driver));
  TRY(const auto turn, turns.take(armed.driver, call));
  Guard guard;
  guard.epoch = request.epoch;
  std::set<Path> unsure;
  const Call own{.deadline = call.deadline, .stop = {}};
  const RolledBack result = roll_back(*attached->driver, armed.way_back, guard, own, unsure);
  if (result.left.empty()) return Done{};
  return Error{ErrorKind::transient, "transaction " + armed.transaction + " is not kept yet: " + result.why};
}

// An apply that did all it was to do has left nothing on its way.
Result<Done> DeadMan::State::end_way(const Result<Receipt>& applied) {
  const auto failed = [](const Receipt::Outcome& one) { return one.error.has_value(); };
  if (!applied || std::ranges::any_of(applied->outcomes, failed)) return Done{};
  const std::scoped_lock lock(mutex);
  JournalState next = journal.state();
  if (!next.armed || next.armed->way_back.empty()) return Done{};
  next.armed->way_back.clear();
  return write(std::move(next));
}

// The rollback may be ended on its way, too.
void DeadMan::State::note_way(const Attached& attached, ArmedTransaction& armed, const Call& call) {
  if (attached.passing == nullptr) return;
  const Result<ChangeSet> way_back = attached.passing->way_back(armed.undo, call);
  if (!way_back || way_back->empty()) return;
  const std::scoped_lock lock(mutex);
  JournalState next = journal.state();
  add_changes(next.armed->way_back, *way_back);
  armed.way_back = next.armed->way_back;
  (void)write(std::move(next));  // else only what the apply may have left is put right after a kill
}

// A stop that the caller did not ask for came from here.
Error DeadMan::State::explain(Error error, const Call& call, std::uint64_t epoch) const {
  if (error.kind != ErrorKind::cancelled || call.stop.stop_requested()) return error;
  const std::scoped_lock lock(mutex);
  const bool is_over = epoch != 0 && epoch < journal.state().epoch;
  Error out = wrap(is_over ? "stopped for a newer leader" : "stopped for a rollback or a hold here",
                   std::move(error));
  out.kind = is_over ? ErrorKind::denied : ErrorKind::transient;
  return out;
}

// A transaction that this agent does not know holds nothing that could be rolled back.
Result<Done> DeadMan::State::answer_unarmed(const std::string& transaction, Settlement settlement) const {
  const JournalState& now = journal.state();
  if (now.failed && now.failed->transaction == transaction && settlement == Settlement::undo)
    return Error{ErrorKind::refused,
                 "transaction " + transaction + " could not be rolled back: " + now.failed->why};
  for (const SettledTransaction& one : now.settled) {
    if (one.transaction != transaction) continue;
    if (one.settlement == settlement) return Done{};
    return conflicting(how_settled(one));
  }
  if (settlement == Settlement::keep) return Done{};
  return Error{ErrorKind::unsupported, "transaction " + transaction + " is not armed here"};
}

// With the lock. None: the transaction is armed, and may be settled so.
std::optional<Result<Done>> DeadMan::State::answer_at_once(const wire::SettleRequest& request) const {
  const std::string& transaction = request.transaction;
  if (request.epoch < journal.state().epoch) return *why_no_writes(request.epoch);
  if (!is_armed(transaction)) return answer_unarmed(transaction, request.settlement);
  if (request.settlement != Settlement::undo && is_ending())
    return conflicting("transaction " + transaction + " is being rolled back");
  return std::nullopt;
}

Result<Done> DeadMan::State::extend(const wire::SettleRequest& request) {
  const std::scoped_lock lock(mutex);
  if (auto answer = answer_at_once(request)) return *std::move(answer);
  JournalState next = journal.state();
  next.armed->deadline = machine.boot_time() + next.armed->undo_after;
  return write(std::move(next));
}

Result<Done> DeadMan::State::keep(const wire::SettleRequest& request) {
  const std::scoped_lock lock(mutex);
  if (auto answer = answer_at_once(request)) return *std::move(answer);
  JournalState next = journal.state();
  next.armed.reset();
  add_settled(next, request.transaction, Settlement::keep, machine.boot_time());
  return write(std::move(next));
}

// By the holder of the writer's turn.
void DeadMan::State::roll_back_due() {
  std::string transaction;
  {
    const std::scoped_lock lock(mutex);
    if (!is_due()) return;
    transaction = journal.state().armed->transaction;
  }
  const auto done = roll_back_armed(false);  // the next try is noted
  std::string line = done ? "transaction " + transaction + " is rolled back" : done.error().text();
  if (!log || line == logged) return;
  log(line);
  logged = std::move(line);
}

Result<Done> DeadMan::State::mark_rolling_back() {
  JournalState next = journal.state();
  ArmedTransaction& armed = *next.armed;
  const bool same_boot = armed.boot_id == machine.boot_id;
  if (armed.rolling_back && same_boot) return Done{};
  armed.rolling_back = true;
  armed.boot_id = machine.boot_id;
  if (!same_boot) armed.rolling_back_since = {};
  return write(std::move(next));
}

// By the holder of the writer's turn. `decided`: by somebody, who may be told that it can't be journalled;
// time is no such decision, and goes on.
Result<Done> DeadMan::State::roll_back_armed(bool decided) {
  ArmedTransaction armed;
  Guard guard;
  {
    const std::scoped_lock lock(mutex);
    if (const auto marked = mark_rolling_back(); !marked && decided) return marked.error();
    armed = *journal.state().armed;
    guard.epoch = journal.state().epoch;
  }
  guard.ticket = armed.transaction + "-undo";
  RolledBack result;
  if (const auto found = driver(armed.driver); found) {
    const auto turn = turns.take_first(armed.driver);
    const Call call{.deadline = Time::clock::now() + kRollbackTry, .stop = {}};
    note_way(**found, armed, call);
    result = roll_back(*(*found)->driver, all_undone(armed), guard, call, doubtful);
  } else {
    result = {all_undone(armed), found.error().text()};
  }
  const std::scoped_lock lock(mutex);
  return result.left.empty() ? end_rollback(result) : retry_rollback(result);
}

Result<Done> DeadMan::State::end_rollback(const RolledBack& result) {
  JournalState next = journal.state();
  const std::string transaction = next.armed->transaction;
  if (!result.left.empty()) next.failed = FailedRollback{transaction, result.why, result.left};
  next.armed.reset();
  add_settled(next, transaction, Settlement::undo, machine.boot_time());
  if (auto written = write(std::move(next)); !written) {
    next_try = machine.boot_time() + kRetryFirst;
    return written;
  }
  next_try = {};
  failures = 0;
  doubtful.clear();
  if (result.left.empty()) return Done{};
  return answer_unarmed(transaction, Settlement::undo);
}

Result<Done> DeadMan::State::retry_rollback(const RolledBack& result) {
  const nanoseconds now = machine.boot_time();
  JournalState next = journal.state();
  nanoseconds& since = next.armed->rolling_back_since;
  if (since == nanoseconds::zero()) since = std::max(now, nanoseconds(1));
  const nanoseconds last = since + kRollbackTries;
  if (now >= last) return end_rollback(result);
  const std::string transaction = next.armed->transaction;
  (void)write(std::move(next));  // else the ten minutes begin with a later try
  const nanoseconds pause = std::min<nanoseconds>(kRetryFirst * (1 << failures), kRetryLast);
  failures = std::min(failures + 1, kDoublings);
  next_try = std::min(now + pause, last);
  return Error{ErrorKind::transient, "transaction " + transaction + " is not rolled back yet: " + result.why};
}

DeadMan::DeadMan(AgentJournal journal, std::map<std::string, Attached*> drivers, Machine machine, Log log)
    : state_(std::make_unique<State>(std::move(journal), std::move(drivers), std::move(machine),
                                     std::move(log))) {}
DeadMan::~DeadMan() = default;

Result<Observation> DeadMan::observe(const wire::ObserveRequest& request, const Call& call) {
  TRY_DONE(state_->admit(request.epoch, request.leader, false));
  TRY(Attached* const attached, state_->driver(request.driver));
  TRY(const auto turn, state_->turns.take(request.driver, call));
  const Call own{.deadline = call.deadline, .stop = turn->stop()};
  Result<Observation> out = attached->driver->observe(request.scope, request.if_not, own);
  if (!out) return state_->explain(std::move(out.error()), call, request.epoch);
  // Before the turn ends: a rollback of what was read would change it.
  const std::scoped_lock lock(state_->mutex);
  const auto& armed = state_->journal.state().armed;
  out->armed = armed ? armed->transaction : "";
  return out;
}

Result<Receipt> DeadMan::apply(const wire::ApplyRequest& request, const Call& call) {
  TRY_DONE(state_->admit(request.guard.epoch, request.leader, true));
  TRY(Attached* const attached, state_->driver(request.driver));
  TRY(const auto writer, state_->turns.take(kWriter, call));
  state_->roll_back_due();
  TRY(const auto turn, state_->turns.take(request.driver, call));
  const Call own{.deadline = call.deadline, .stop = writer->stop()};
  const ChangeSet changes = state_->with_open_way(request);
  const Result<ChangeSet> way_back = attached->passing == nullptr ? Result<ChangeSet>(ChangeSet())
                                                                  : attached->passing->way_back(changes, own);
  if (!way_back) return state_->explain(way_back.error(), call, request.guard.epoch);
  TRY_DONE(state_->arm(request, *way_back, call));
  Guard guard = request.guard;
  guard.undo_after.reset();  // by this, not by the driver
  Result<Receipt> out = attached->driver->apply(changes, guard, own);
  if (const auto ended = state_->end_way(out); !ended && out)
    out->notes.push_back("a rollback may bring ports up that were shut down since: " + ended.error().text());
  if (!out) return state_->explain(std::move(out.error()), call, request.guard.epoch);
  if (out->outcomes.size() > request.changes.size()) out->outcomes.resize(request.changes.size());
  return out;
}

Result<Done> DeadMan::settle(const wire::SettleRequest& request, const Call& call) {
  TRY_DONE(state_->admit(request.epoch, request.leader, true));
  if (request.settlement == Settlement::extend) return state_->extend(request);
  TRY(const auto writer, state_->turns.take(kWriter, call));
  state_->roll_back_due();
  if (auto ended = call.why_ended(Time::clock::now())) return *std::move(ended);
  if (request.settlement == Settlement::keep) {
    TRY_DONE(state_->put_way_right(request, call));
    return state_->keep(request);
  }
  {
    const std::scoped_lock lock(state_->mutex);
    if (auto answer = state_->answer_at_once(request)) return *std::move(answer);
  }
  return state_->roll_back_armed(true);
}

Result<Done> DeadMan::remedy(const wire::RemedyRequest& request, const Call& call) {
  TRY_DONE(state_->admit(request.epoch, request.leader, true));
  TRY(Attached* const attached, state_->driver(request.driver));
  if (attached->remedy == nullptr)
    return Error{ErrorKind::unsupported, "driver '" + request.driver + "' has no remedies"};
  TRY(const auto writer, state_->turns.take(kWriter, call));
  state_->roll_back_due();
  TRY(const auto turn, state_->turns.take(request.driver, call));
  {
    const std::scoped_lock lock(state_->mutex);
    if (auto why = state_->why_no_writes(request.epoch)) return *std::move(why);
    if (state_->is_ending()) return conflicting("a transaction is being rolled back");
    if (auto ended = call.why_ended(Time::clock::now())) return *std::move(ended);
  }
  const Call own{.deadline = call.deadline, .stop = writer->stop()};
  auto out = attached->remedy->cure(request.effects, own);
  if (!out) return state_->explain(std::move(out.error()), call, request.epoch);
  return out;
}

Result<Usage::Use> DeadMan::usage(const wire::UsageRequest& request, const Call& call) {
  TRY(Attached* const attached, state_->driver(request.driver));
  if (attached->usage == nullptr || !attached->usage->knows(request.entry))
    return Error{ErrorKind::unsupported,
                 "driver '" + request.driver + "' does not report what uses " + request.entry.text()};
  TRY(const auto turn, state_->turns.take(request.driver, call));
  const Call own{.deadline = call.deadline, .stop = turn->stop()};
  auto out = attached->usage->of(request.entry, own);
  if (!out) return state_->explain(std::move(out.error()), call, 0);
  return out;
}

void DeadMan::describe(wire::Hello& hello) const {
  const std::scoped_lock lock(state_->mutex);
  const JournalState& now = state_->journal.state();
  hello.epoch = now.epoch;
  hello.leader = now.leader;
  hello.armed = now.armed ? now.armed->transaction : "";
  hello.hold = now.hold;
  hello.failed_undo = now.failed ? now.failed->transaction + ": " + now.failed->why : "";
}

void DeadMan::keep_time() {
  {
    const std::scoped_lock lock(state_->mutex);
    if (!state_->is_due()) return;
  }
  const auto writer = state_->turns.take_first(kWriter);
  state_->roll_back_due();
}

std::optional<nanoseconds> DeadMan::next_time() const {
  const std::scoped_lock lock(state_->mutex);
  const auto& armed = state_->journal.state().armed;
  if (!armed) return std::nullopt;
  return state_->is_ending() ? state_->next_try : armed->deadline;
}

Result<Done> DeadMan::hold(const std::string& reason) {
  const std::scoped_lock lock(state_->mutex);
  JournalState next = state_->journal.state();
  next.hold = reason;
  TRY_DONE(state_->write(std::move(next)));
  if (!reason.empty()) state_->turns.interrupt(kWriter);
  return Done{};
}

Result<Done> DeadMan::acknowledge() {
  const std::scoped_lock lock(state_->mutex);
  JournalState next = state_->journal.state();
  if (!next.failed) return Done{};
  next.failed.reset();
  return state_->write(std::move(next));
}

}  // namespace lockstep::agent
