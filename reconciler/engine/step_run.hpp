// StepRun: one step of a plan under way, as a state machine over the executor.
//
//            ┌──────── retry ────────┐
//            ▼                       │
//   ┌──► ground ──► write ──► read_back ──► keep ──► regain ──► over
//   │        └─ found as wanted ─────────────┘          ▲
//   └─ lost reply ──┘                     failed: settle_undo or the guard put back
//
//   armed:  ground ──► write ──► read_back ──► regain ──► hold ──► keep ──► over, extended meanwhile
//           ground ──► settle_earlier ──► ground, where an earlier run left a transaction armed
//   need ──► remedy ──► over, where something is open that the remedy is for
//                └─ error ──► remedied ──► over: the effects decide
//
// Promises: nothing is written unless the entries were read since and are as planned; a ticket is in the
// ledger before its write; at most `tries` writes, none of them begun after step_timeout; nothing is done
// before it was read back; what worked before works again, or the step reports what does not; every exit ends
// in one call of `over`. A step that arms the device gives it the planned rollback, keeps only what works
// again at all ends of its links (`holds`), and extends the transaction meanwhile. Where the device rolls
// back by itself, the step ends, is not tried again, and the other ends are told at once. Where the device
// has accepted another leader, the step ends at once and settles nothing. A remedy runs at most once, for the
// effects that were read as open right before, if its driver offers it for them. Single-threaded over the
// executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/step_observation.hpp"

namespace lockstep {

// Reads after an acknowledged write before it counts as not done: reads may lag behind writes.
inline constexpr int kReadsMax = 5;

// Whether what is there before a write is there again after it. `may` is awaited like `must`, since nothing
// more is disturbed before; if it stays away, that is no failure.
enum class ComesBack : std::uint8_t { no, may, must };

// What a step needs from the run that it is part of. All of it outlives the step.
struct RunContext {
  Fleet& fleet;
  Executor& executor;
  Ledger& ledger;
  const ApplyOptions& options;
  std::stop_token stop;
  std::uint64_t change = 0;        // of the ledger
  std::set<std::string> unseen{};  // devices that could not be observed just before
  bool undoes = false;             // each end is rolled back as far as possible
  std::function<std::string(const std::string& transaction)> next_ticket{};  // never the same twice
  // Whether a remedy of the plan that may still run is for an effect. None: there are no remedies.
  std::function<bool(const std::string& device, Path effect)> remedy_follows{};
  // For an effect that is there before a write. None: each must come back.
  std::function<ComesBack(const std::string& device, Path effect)> comes_back{};
  // Changes that are not validated yet, without what this run writes. Null: budgets are not checked again.
  std::function<std::vector<OwedChange>()> open_changes{};
  // Nothing more may begin.
  bool must_end() const { return stop.stop_requested() || options.why_over(); }
};

class StepRun {
 public:
  enum class Phase : std::uint8_t {
    ground,          // reads the entries that the step is about to change
    write,           // an apply is under way
    read_back,       // reads whether the write is in effect
    keep,            // has the device keep it
    regain,          // waits for what worked before
    hold,            // armed, and works: waits for the other ends of its links
    settle_undo,     // has the device roll back
    settle_earlier,  // has the device roll back what an earlier run left armed
    need,            // reads whether a remedy is needed
    remedy,          // a remedy is under way
    remedied,        // a remedy failed: reads whether its effects are there all the same
    over,
  };
  struct End {
    StepState state = StepState::failed;
    std::string why;
  };

  // Whether what an armed step wrote, and works, may be kept already.
  enum class Together : std::uint8_t { keep, wait, undo };

  // `result` receives the writes and notes as they happen. `holds` is called when an armed step works, and
  // again if it could not be kept; if it returns wait, go_on() follows. It is called with `false`, once, when
  // the device rolls back by itself: the answer is ignored. `over` may destroy this object.
  StepRun(const RunContext& context, const Step& step, StepResult& result,
          std::function<Together(bool works)> holds, std::function<void(End)> over);
  ~StepRun();
  StepRun(const StepRun&) = delete;
  StepRun& operator=(const StepRun&) = delete;

  void start();
  void go_on(Together decision);
  // For the decision on the other ends of its links.
  bool waits_for_others() const { return phase_ == Phase::hold && !decision_; }

 private:
  struct Missing {
    std::string text;
    std::optional<Path> effect{};  // that is missing
    std::string excuse{};          // why that is no failure; none: it is one
  };

  std::optional<Error> find_driver();
  Error no_driver() const;
  // Enters a phase that reads; after `wait`, if there is one.
  void observe(Phase phase);
  Scope scope() const;
  void observe_after(std::chrono::milliseconds wait, Phase phase);
  void observed(StepObservation& reading, const Outcome& outcome);
  void check_ground();
  void found_as_wanted();
  void remember_effects();
  void write(ChangeSet changes);
  void wrote(const Outcome& outcome, std::optional<Result<Receipt>>& answer);
  void check_written();
  void await_effects();
  void arm_until(Time until);
  void extend(Phase phase, std::function<void(const Result<Done>&)> then);
  void extend_if_due(std::chrono::milliseconds pause);
  void hold();
  void decided(Together decision);
  void keep();
  void journal(const std::string& ticket, TicketState state, const std::string& why);
  void kept();
  std::optional<Missing> not_regained() const;
  void check_regained();
  void react(const Error& error, bool may_have_happened);
  void give_up(const std::string& why);
  void settle(Phase phase, const std::string& transaction, Settlement settlement,
              std::function<void(const Result<Done>&)> then);
  void settle_earlier();
  bool is_disarmed();
  void past_saving();
  void leave_others();
  void check_rolled_back();
  bool ends_for_another_leader(const Error& error);
  void put_guard_back(const std::string& why);
  void fail(StepState state, const std::string& why);
  ChangeSet open_now() const;
  void check_need();
  void remedy(const Remedy::Offer& offer);
  void cured(const Outcome& outcome, const std::optional<Result<Done>>& answer);
  void check_remedied();
  void end(StepState state, const std::string& why);
  bool is_late(std::chrono::milliseconds wait) const;
  bool is_armed() const { return undoes_itself_ && step_.undo_after.has_value(); }
  std::string transaction() const;
  void start_job(std::chrono::milliseconds timeout, std::function<void(const Call&)> run,
                 std::function<void(const Outcome&)> done);

  const RunContext& context_;
  const Step& step_;
  StepResult& result_;
  std::function<Together(bool works)> holds_;
  std::function<void(End)> over_;
  bool extending_ = false;            // an extension is under way on the device
  std::optional<Together> decision_;  // that arrived during an extension
  Phase phase_ = Phase::ground;
  std::size_t device_ = 0;
  Attached* attached_ = nullptr;  // null: no known driver of the device is the step's
  bool undoes_itself_ = false;
  int tries_ = 0;
  int reads_ = 0;
  int met_ = 0;         // reads that found nothing left to do
  bool blind_ = false;  // the next write has no revision: the last one changed, the entries did not
  bool putting_back_ = false;
  std::string why_;  // of the failure in progress
  std::vector<std::string> tickets_;
  std::optional<Error> refusal_;        // from a receipt
  std::set<Path> held_before_;          // effects that were there before the write, or may have been: unread
  std::set<Path> unread_before_;        // of those
  std::set<Path> may_be_gone_;          // of those
  std::optional<StepState> failed_as_;  // the step failed and only waits for what worked before
  Time effects_until_{};
  Time armed_until_{};      // unless it is extended
  bool was_armed_ = false;  // the last write was seen there, or acknowledged
  bool is_being_kept_ = false;
  bool is_past_saving_ = false;  // it rolls back by itself, or did
  bool has_left_ = false;        // the others know
  Time silent_until_{};          // how long a device past saving may not answer
  Time next_extension_{};        // not before
  Time started_{};
  std::optional<Time> disturbs_since_;
  ChangeSet treated_;            // effects treated by a remedy
  std::optional<Error> failed_;  // a remedy's error
  StepSeen seen_;
  std::optional<std::uint64_t> pending_;   // the job or timer under way
  bool waits_ = false;                     // it is a timer
  std::optional<std::uint64_t> deadline_;  // the timer of armed_until_
  CallbackScope callbacks_;
};

}  // namespace lockstep
