// Application: applies a Plan, wave by wave: observes, writes under a ticket that is already in the ledger,
// verifies and keeps; then measures, and keeps or rolls back.
//
//   remember ──► write ──► even_out ──► verify ◄──► remedies
//                            failed        └──► measure ──► (next wave) ──► over
//                                                      └ fails: undo ──► verify ──► measure ──┬► over
//                                                         └── the next older change ◄─────────┘
//
// Promises: nothing is written without a fresh observation that still matches what the plan was made from. A
// lost reply is settled by observing, never by guessing. Nothing counts as done until it was observed again,
// effect included. A failure leaves its dependants undone and reports it; what must be alike at both ends of
// a cable is rolled back at the end that was changed (link_ends.hpp), also after a stop in between. After
// stop() no new step begins, steps under way finish, and the ledger is consistent. Once another controller
// leads (ApplyOptions::epoch), nothing begins, and nothing is rolled back or measured: it settles what this
// run left. A change written under a gate is not validated until the gate has judged it or it was rolled
// back, however this run ends: the ledger lists each pair that could not be measured, and a later run's gate
// judges it (`owed`) against what was measured before that change, as far as the change is still in place. A
// gate leaves out only paths that are half done until a later wave of this run completes them; the last gate
// leaves out none. An unknown finding holds later waves, except steps that put back what such a change
// wrote. When an SLO is broken, the newest change that may have broken it is rolled back, and an older one
// only if the SLO is still broken; a change whose pairs were judged is never rolled back for what a later
// one broke; what counts as rolled back is what still has its restored value at the end. Those values are
// refused until the specs want another value there (refused_writes.hpp). Only the plan's remedies run, at
// most once per wave, after its writes and where their effects stay open, and not again when they did not
// help; other open effects are reported with the remedies that a new plan would have. Single-threaded over
// the executor: the same seams give the same history.
// Refuses: held steps that `approved` does not name, and beginning a change outside its windows
// (windows.hpp).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/effects.hpp"
#include "reconciler/engine/runner.hpp"

namespace lockstep {

struct UnevenEnds;

// A remedy may be needed by another one (a daemon must restart before a lost next hop returns), and may be
// refused at first.
inline constexpr int kRemedyRounds = 3;

class Application {
 public:
  using Answer = ApplyReport;
  enum class Phase : std::uint8_t { waiting, remember, write, even_out, verify, measure, undo, over };

  // The ledger must be the leader's (reconciler/store). The fleet, the executor, the ledger and everything
  // that the options point to outlive it; the measurer outlives the executor.
  Application(Fleet& fleet, Executor& executor, Ledger& ledger, Plan plan, ApplyOptions options,
              Progress progress = {});
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  void start(std::function<void(ApplyReport)> done);
  void stop();
  Phase phase() const { return phase_; }
  // The plan as it is applied, with the holds of closed windows.
  const Plan& plan() const { return plan_; }

 private:
  // What the benchmarks found; `judged` is false when there was nothing to measure.
  struct Verdict {
    GateResult gate;
    bool judged = false;
  };
  // A measurement that decides something, with the rounds that confirm it.
  struct Confirmation {
    GateQuestion question;
    const GateMeasurement* before = nullptr;
    std::map<std::string, GateFigure> owed{};
    GateMeasurement measured;
    std::optional<std::set<std::string>> subjects{};  // the subjects that decide; none: all
    std::vector<ConfirmingRound> rounds{};
    std::function<void(const Result<GateMeasurement>& best)> then{};
  };
  // A change whose steps wrote, and that may have to be rolled back.
  struct Written {
    std::uint64_t change = 0;
    std::vector<Step> steps;
    bool of_this_run = false;
    std::set<std::string> subjects{};         // of an earlier run: those not validated yet; empty: all
    const GateMeasurement* before = nullptr;  // measured before the change; null: not measured
    std::set<std::string> hosts{};  // new hosts, if the rollback is limited to them; empty: the whole change
  };
  // What was rolled back so far, what is still broken, and what runs afterwards.
  struct Undoing {
    std::vector<Written> left;       // newest first
    std::set<std::string> broken{};  // subjects
    Written now{};                   // the change being rolled back
    std::vector<Step> not_done{};
    std::function<void(bool)> then{};
  };
  // An entry with the value that was put back, and the value read back at that time.
  struct PutBack {
    std::uint64_t change = 0;  // that is rolled back
    Value was{};
    Value value{};
    std::string boot_id{};  // of the device, before the rollback
    bool is_lost = false;
  };
  // A plan from the actual values to those from before some steps, under the same rules, and its execution.
  struct Reverse {
    Reverse();
    Plan plan;
    std::uint64_t change = 0;  // of the ledger; 0: not begun
    std::vector<StepResult> steps;
    std::vector<NotPutBack> left_out;
    bool whole = false;
    std::map<std::string, std::string> boots{};  // by device: its boot id when the reverse begins
    std::optional<Runner> runner{};
    std::function<void()> done{};
  };

  std::vector<Step> may_begin() const;
  void set_aside_neighbours();
  Result<Done> begin();
  void refuse_all(const std::string& why);
  void enter(Phase phase);
  void note(const Result<Done>& journalled);
  void end_change(std::uint64_t change, const std::vector<StepResult>& steps, const std::string& outcome);

  void next_wave();
  void wave_over();
  void verify_wave();
  void carry_out_remedies();
  void judge_remedies();
  void remedies_over();
  void note_unplanned_remedies();
  void judge_wave();
  void waves_over();
  void conclude();
  void finish();

  void settle(std::vector<Step> touched, const std::vector<Step>& remedies, bool all,
              std::function<void()> then);
  void ask(GateQuestion question, std::function<void(const Result<GateMeasurement>&)> then);
  void measure_before(std::function<void()> then);
  void measure(const std::vector<Step>& later, std::function<void(std::optional<Verdict>)> then);
  void measure_again(std::function<void(std::set<std::string> broken)> then);
  std::set<std::string> measured_again(const Result<GateMeasurement>& again);
  std::set<std::string> still_broken(const Result<GateMeasurement>& again);
  bool is_broken(const std::string& subject) const;
  void confirm(Confirmation confirmation);
  void remember_verdict(const Verdict& verdict);
  static const GateMeasurement* pointer(const std::optional<GateMeasurement>& measured) {
    return measured ? &*measured : nullptr;
  }
  const GateMeasurement* before() const { return pointer(compared_); }
  void compare_with_earlier();
  void pass_gate(std::function<void(bool)> then);
  void gate_answered(const std::vector<Step>& later, const std::optional<Verdict>& verdict,
                     const std::function<void(bool)>& then);
  std::set<std::string> undone_for(const GateResult& gate);
  void gate_failed(const std::vector<Step>& later, const GateResult& gate,
                   const std::function<void(bool)>& then);
  void reverse(std::vector<Step> written, const std::vector<DeviceState>& now, const std::string& reason,
               std::function<void()> done);
  std::function<ComesBack(const std::string& device, Path effect)> comes_back_after(
      const std::vector<Step>& undone) const;
  bool takes_back() const { return !options_.takes_back.empty(); }
  void reverse_wave(std::uint32_t wave);
  void even_out(std::function<void()> then);
  void even_out_ends(const std::vector<Step>& short_of, const std::vector<DeviceState>& now,
                     const std::function<void()>& then);
  void evened_out(const UnevenEnds& uneven, bool whole);
  void undo(std::vector<Step> not_done, std::function<void(bool)> then);
  void undo_next();
  void undone();
  void look_again(std::uint64_t change, std::function<void(bool is_there)> then);
  void note_lost(const std::vector<DeviceState>& now);
  void undone_as_far_as(bool whole);
  void undo_over();
  void refuse(const UndoneChange& undone);
  void accept_kept();
  static std::vector<Written> earlier_of(const std::vector<OwedChange>& owed);
  static std::vector<Step> steps_of_all(const std::vector<Written>& newest_first);
  std::vector<Written> changes() const;
  std::set<std::string> blamed_on(const Written& change, std::set<std::string> subjects) const;
  bool is_to_be_undone(std::size_t place) const;
  Written take_from(std::size_t place);
  std::set<std::string> new_hosts_to_blame(const Written& change) const;
  void forget_what_is_to_come(GateMeasurement& measured) const;
  std::set<std::string> owed_subjects() const;
  std::map<std::string, GateFigure> owed_figures() const;
  std::set<std::uint32_t> putting_back() const;
  bool leave_unvalidated(const std::string& why);
  std::vector<Step> never_measured() const;
  void drop_what_is_gone(std::function<void()> then);
  void forget_gone(const std::vector<DeviceState>& now);
  std::optional<std::set<std::string>> still_owed(const Written& change) const;
  void settle_earlier();
  bool is_maintained(const std::string& device) const;
  bool is_all_maintained(const Written& change) const;
  void note_owed();

  std::vector<OwedChange> open_changes() const;
  std::vector<Step> written() const;
  std::vector<Step> remedies_left() const;
  ChangeSet open_for(const Step& remedy, std::size_t device) const;
  std::vector<Step> cures() const;
  std::vector<Step> due(const std::vector<Step>& later) const;
  std::vector<Step> pending() const;
  bool fails(const std::optional<GateResult>& gate) const;
  bool must_stop() const { return stop_.stop_requested() || is_over(); }
  bool is_over() const { return options_.why_over().has_value(); }
  bool any_failed() const;
  ApplyVerdict judge() const;

  Fleet& fleet_;
  Executor& executor_;
  Ledger& ledger_;
  const ApplyOptions options_;
  const Progress progress_;
  const Plan plan_;
  std::vector<Written> earlier_;  // what earlier runs wrote and is still in place, newest first
  std::vector<Step> owed_;        // the steps of `earlier_`
  std::stop_source stop_;
  std::function<void(ApplyReport)> done_;
  Phase phase_ = Phase::waiting;
  ApplyReport report_;
  std::uint32_t wave_ = 0;
  int remedy_rounds_ = 0;  // in this wave
  bool wave_failed_ = false;
  bool answered_ = false;             // everything written was judged or rolled back
  std::set<std::string> unsure_{""};  // subjects that the last gate could not judge; "": any
  bool uncovered_ = false;            // the last gate found something that no benchmark can ever judge
  bool left_out_later_ = false;       // the last gate left out paths that later steps complete
  std::size_t gates_ = 0;             // that judged something, or had nothing to measure
  bool judged_any_ = false;           // some gate measured
  std::set<std::uint32_t> judged_;    // steps that wrote before the last gate
  std::set<std::uint32_t> left_out_;  // steps whose paths the last gate did not measure
  bool stays_ = false;                // the gate failed, and nothing that was written can have caused it
  bool not_validated_ = false;        // the benchmarks could not judge
  bool held_later_ = false;           // and steps were held for that reason
  BlastRadius whole_;                 // of all that this run may write, and of `earlier_`
  // As this run measured it; and merged with what was measured before the changes in `earlier_`.
  std::optional<GateMeasurement> before_;
  std::optional<GateMeasurement> compared_;
  std::map<std::string, SloState> states_before_;  // by subject
  std::map<std::string, Judged> last_;             // the last finding on each subject
  std::set<std::string> by_this_run_;  // subjects that this run's change broke, as of the last gate
  std::optional<Undoing> undoing_;
  std::map<std::pair<std::string, Path>, PutBack> put_back_;  // by any reverse
  std::optional<std::uint64_t> measuring_;
  Effects effects_;
  std::optional<Runner> runner_;
  std::optional<Reverse> reverse_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
