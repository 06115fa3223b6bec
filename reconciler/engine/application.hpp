// Application: carries a Plan out, wave by wave: observe, write under a ticket that the ledger has, verify,
// keep; then measure, and keep or undo.
//
//   remember ──► write ──► even_out ──► verify ◄──► remedies
//                            failed        └──► measure ──► (next wave) ──► over
//                                                      └ fails: undo ──► verify ──► measure ──┬► over
//                                                         └── the next older change ◄─────────┘
//
// Promises: nothing is written without a fresh observation that still shows what the plan was made on; a lost
// reply is settled by observing, never by guessing; nothing counts as done until observed again, effect
// included; a failure leaves its dependants undone and says so, and what must be alike at both ends of a
// cable is taken back at the end that did its part (link_ends.hpp), also where a stop came between; after
// stop() no other new step begins, those under way are finished, and the ledger is consistent. What was
// written under a gate is owed to it until it was judged or taken back, however this run ends; what could
// not be measured was not judged: the ledger says so, pair by pair, and a later run's gate answers for it
// (`owed`), against what was measured before that change, as far as it is there still. A gate leaves out no
// path but what is half done until a later wave of this run completes it, and the last one none. What cannot
// be told holds later waves, but for steps that put back what such a change wrote. What is broken has the
// newest change undone that may have broken it, and an older one only if it is broken still; one whose pairs
// were judged is never undone for what a later one broke; undone is what is still as it was put back at the
// end. What was undone so is refused until the specs want another value there (refused_writes.hpp). Of
// remedies those that the plan has are carried out, once a wave at most, after its writes and where their
// effects stay open, and not again once they did not help; what else is open is reported, with the remedies
// that a new plan would have. Single-threaded over the executor: same seams, same history. Refuses: held
// steps that `approved` does not name, and to begin a change outside its windows (windows.hpp).
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

// One remedy can be what another waits for: a daemon that has to run again, then a next hop that it lost; and
// one can be refused at first.
inline constexpr int kRemedyRounds = 3;

class Application {
 public:
  using Answer = ApplyReport;
  enum class Phase : std::uint8_t { waiting, remember, write, even_out, verify, measure, undo, over };

  // The ledger must be the leader's (reconciler/store). Fleet, executor, ledger and what the options point
  // to outlive it; the measurer outlives the executor.
  Application(Fleet& fleet, Executor& executor, Ledger& ledger, Plan plan, ApplyOptions options,
              Progress progress = {});
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  void start(std::function<void(ApplyReport)> done);
  void stop();
  Phase phase() const { return phase_; }
  // The plan as it is carried out: held where a window is closed.
  const Plan& plan() const { return plan_; }

 private:
  // What the benchmarks said, `judged` if they said anything; none: there was nothing to ask.
  struct Verdict {
    GateResult gate;
    bool judged = false;
  };
  // A measurement that decides something, and the rounds that were asked for to be sure of it.
  struct Confirmation {
    GateQuestion question;
    const GateMeasurement* before = nullptr;
    std::map<std::string, GateFigure> owed{};
    GateMeasurement measured;
    std::optional<std::set<std::string>> subjects{};  // that decide; none: all
    std::vector<ConfirmingRound> rounds{};
    std::function<void(const Result<GateMeasurement>& best)> then{};
  };
  // A change whose steps wrote, and that may have to be undone.
  struct Written {
    std::uint64_t change = 0;
    std::vector<Step> steps;
    bool of_this_run = false;
    std::set<std::string> subjects{};         // of an earlier run: what is owed of it; empty: all
    const GateMeasurement* before = nullptr;  // ahead of it; null: there is none
    std::set<std::string> hosts{};            // new ones, of which alone this is; empty: all of it
  };
  // What was undone of it so far, what is still broken, and what follows.
  struct Undoing {
    std::vector<Written> left;       // newest first
    std::set<std::string> broken{};  // subjects
    Written now{};                   // that is being undone
    std::vector<Step> not_done{};
    std::function<void(bool)> then{};
  };
  // An entry as it was put back, and read back then.
  struct PutBack {
    std::uint64_t change = 0;  // that is undone
    Value was{};
    Value value{};
    std::string boot_id{};  // of the device, before
    bool is_lost = false;
  };
  // A plan from what is to what was before some steps, under the same rules, carried through.
  struct Reverse {
    Reverse();
    Plan plan;
    std::uint64_t change = 0;  // of the ledger; 0: it was not begun
    std::vector<StepResult> steps;
    std::vector<NotPutBack> left_out;
    bool whole = false;
    std::map<std::string, std::string> boots{};  // by device: its boot id as this begins
    std::optional<Runner> runner{};
    std::function<void()> done{};
  };

  std::vector<Step> may_begin() const;
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
  bool must_stop() const { return stop_.stop_requested(); }
  bool any_failed() const;
  ApplyVerdict judge() const;

  Fleet& fleet_;
  Executor& executor_;
  Ledger& ledger_;
  const ApplyOptions options_;
  const Progress progress_;
  const Plan plan_;
  std::vector<Written> earlier_;  // what earlier runs wrote and is there still, newest first
  std::vector<Step> owed_;        // the steps of that
  std::stop_source stop_;
  std::function<void(ApplyReport)> done_;
  Phase phase_ = Phase::waiting;
  ApplyReport report_;
  std::uint32_t wave_ = 0;
  int remedy_rounds_ = 0;  // of this wave
  bool wave_failed_ = false;
  bool answered_ = false;             // all that was written was judged, or taken back
  std::set<std::string> unsure_{""};  // subjects that could not be told at the last gate; "": any
  bool uncovered_ = false;            // it found what no benchmark could ever tell
  bool left_out_later_ = false;       // it left out paths for the sake of steps to come
  std::size_t gates_ = 0;             // that judged some of it, or had nothing to measure
  bool judged_any_ = false;           // some gate measured
  std::set<std::uint32_t> judged_;    // steps that wrote before the last of them
  std::set<std::uint32_t> left_out_;  // steps whose paths it did not measure
  bool stays_ = false;                // the gate failed, and nothing that was written can have broken it
  bool not_validated_ = false;        // the benchmarks could not tell
  bool held_later_ = false;           // and steps were held for it
  BlastRadius whole_;                 // of all that this run may write, and of what it owes
  // As this run measured it; and with what was measured before changes that are owed.
  std::optional<GateMeasurement> before_;
  std::optional<GateMeasurement> compared_;
  std::map<std::string, SloState> states_before_;  // by subject
  std::map<std::string, Judged> last_;             // the last finding on each subject
  std::set<std::string> by_this_run_;  // subjects that this run's change broke, as the last gate saw it
  std::optional<Undoing> undoing_;
  std::map<std::pair<std::string, Path>, PutBack> put_back_;  // by any reverse
  std::optional<std::uint64_t> measuring_;
  Effects effects_;
  std::optional<Runner> runner_;
  std::optional<Reverse> reverse_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
