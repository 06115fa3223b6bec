// The input and output of an apply (options, progress, the gate's question, the report) as plain data, and
// what changes touch (BlastRadius). Application (application.hpp) runs it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/runtime/current_epoch.hpp"
#include "drivers/runtime/executor.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/gate.hpp"
#include "reconciler/engine/ledger.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

enum class StepState : std::uint8_t {
  waiting,
  running,
  done,
  nothing_to_do,  // already as desired
  not_needed,     // a remedy: none of its effects was open
  failed,
  undone,   // failed, and rolled back by the device
  skipped,  // something it depends on did not succeed
  held,     // needs approval
  stopped,  // a stop was requested before it began
};
std::string_view to_string(StepState state);
// Nothing of it is left to do.
constexpr bool is_good(StepState state) {
  return state == StepState::done || state == StepState::nothing_to_do || state == StepState::not_needed;
}

struct StepResult {
  std::uint32_t id = 0;
  StepState state = StepState::waiting;
  std::string why;              // of every state except done
  std::size_t writes = 0;       // apply calls that were sent
  bool waits = false;           // held by a window, or behind a step that is
  bool unjournalled = false;    // the journal recorded the write but not its outcome
  bool by_plan = false;         // held by the plan, or left alone because of such a step
  std::string other_end{};      // "leaf0:swp1": the other end of the cable because of which it was left alone
  bool asks = false;            // held by a hold that approval lifts, or behind such a step
  std::vector<Path> treated{};  // effects that a remedy treated
  std::set<std::string> words{};  // approvals that would lift its holds (approved.hpp)
  std::vector<std::string> notes;
  std::chrono::milliseconds took{0};
  // For a step that disturbs live traffic: from its first write until it was over and everything that worked
  // before worked again.
  std::chrono::milliseconds disturbed{0};
};

// What a set of changes can have touched: determines what to measure again, and the size of the budget.
struct BlastRadius {
  std::vector<std::string> devices;  // sorted; those changed as a whole, not only at the end of a cable
  std::vector<std::uint32_t>
      cables;  // into Wiring::cables: those changed, and those of devices changed as a whole
  bool touches(const std::string& device) const;
  bool touches_cable(std::uint32_t cable) const;
  // For a pair of endpoints, given the devices and cables that its paths cross.
  bool touches_path(const std::vector<std::string>& devices_crossed,
                    const std::vector<std::uint32_t>& cables_crossed) const;
  bool empty() const { return devices.empty() && cables.empty(); }
};
BlastRadius blast_radius(const std::vector<Step>& steps, const Wiring& wiring);
std::vector<Step> joined(std::vector<Step> first, const std::vector<Step>& second);
// What a change that is not validated yet wrote, as steps: for its blast radius, and for a rollback.
std::vector<Step> steps_of(const OwedChange& owed);

struct GateQuestion {
  // before: ahead of the first write; confirm: the same pairs once more, with controls; again: after a
  // rollback.
  enum class When : std::uint8_t { before, after, confirm, again };
  When when = When::after;
  BlastRadius affected;
  BlastRadius pending;              // its paths are left out
  std::uint32_t pending_until = 0;  // the wave whose gate measures the last of them; 0: no later wave does
  BlastRadius whole;                // of all that this run may write: controls cross none of it
  std::set<std::string> also{};     // subjects to measure in addition to those of `affected`
  std::set<std::string> only{};     // subjects; empty: all
};

// Runs the benchmarks that the change can have touched, except on paths that `pending` touches: those are
// half done, and later steps complete them. For every question except `after` it also measures kControls
// control pairs, if there are as many. Called on a worker thread of Lane::bench; the engine waits meanwhile.
class Measurer {
 public:
  virtual ~Measurer() = default;
  virtual Result<GateMeasurement> measure(const GateQuestion& question, const Call& call) = 0;
  // Whether the traffic of a subject may cross what was changed; true if that is unknown, false for a subject
  // that is no longer measured. Called on the engine's thread, while nothing is measured.
  virtual bool crosses(const std::string& subject, const BlastRadius& changed) const {
    return subject.empty() || !changed.empty();
  }
};

// Reports progress to the user while an apply runs. All calls come on the engine's thread.
struct Progress {
  std::function<void(const Step&, const StepResult&)> step;  // at every change of state
  std::function<void(std::uint32_t wave, std::uint32_t of)> wave;
  std::function<void(std::string_view what)> phase;  // "verify effects", "measure", "undo"
  std::function<void(const GateResult&)> gate;
};

// Whether an earlier change wrote an entry; null: none did.
using WasWritten = std::function<bool(const std::string& device, Path path)>;

struct ApplyOptions {
  Approved approved{};  // what the user approved
  bool refusals_approved = false;
  Measurer* measurer = nullptr;       // null: no gate
  std::vector<OwedChange> owed{};     // of earlier runs: measured, kept or rolled back with this run's
  std::vector<OwedChange> open{};     // of earlier runs, not validated yet and not taken over by this run
  OnFail on_fail = OnFail::rollback;  // for figures without their own GateFigure::on_fail
  PlanChoice choice{};                // that the plan was made with: remedies are limited to it too
  std::function<const Policy*(const FleetDevice&)> policy_for{};  // applied to rollbacks too
  WasWritten was_written{};
  // Steps of an earlier change that this plan rolls back: effects that go with them are not awaited, nor
  // desired effects that the change did not bring.
  std::vector<Step> takes_back{};
  std::function<Result<Done>()> before_writing{};  // stores what must precede writes; on error none is made
  bool strict = false;                             // an unknown verdict fails the gate
  bool is_heal = false;                            // corrects drift by itself
  std::chrono::milliseconds observe_timeout{10'000};
  std::chrono::milliseconds apply_timeout{30'000};
  std::chrono::milliseconds step_timeout{60'000};  // no try begins after it
  std::chrono::milliseconds measure_timeout{600'000};
  std::chrono::milliseconds settle_time{20'000};  // for effects to appear (BGP, LLDP, BFD)
  std::chrono::milliseconds quiet_time{5'000};  // how long without a packet until a class counts as unused. A
                                                // choice: a job's steps take seconds at most
  std::chrono::milliseconds poll_min{50};       // between reads while effects settle; doubles up to poll_max
  std::chrono::milliseconds poll_max{1'000};
  // The policy of a step's device. Null: it has none, and nothing is held back there.
  const Policy* policy_of(const Step& step, const Fleet& fleet) const {
    const auto device = fleet.find(step.device);
    return device && policy_for ? policy_for(fleet[*device]) : nullptr;
  }
  // How long a step waits until nothing uses what it removes. An automatic heal always uses settle_time: a
  // longer wait would keep other devices waiting, and the heal is tried again later.
  std::chrono::milliseconds drain_time(const Policy* policy) const {
    return !is_heal && policy != nullptr && policy->drain_timeout ? *policy->drain_timeout : settle_time;
  }
  int tries = 4;                            // of one step, for all error kinds together
  std::chrono::milliseconds back_off{200};  // after a transient error; doubles
  std::string author;
  std::string reason;
  // Of the leader on whose behalf it runs; null: devices accept whoever writes.
  CurrentEpoch* epoch = nullptr;
  // Why another controller leads by now; none: this one does, as far as is known.
  std::optional<std::string> why_over() const { return epoch == nullptr ? std::nullopt : epoch->why_over(); }
};

enum class ApplyVerdict : std::uint8_t {
  nothing_to_do,
  kept,          // all done and verified, and the gate (if any) did not fail
  partly,        // some steps failed, were held or skipped
  effects_open,  // written and read back, but some effects did not appear
  undone,        // the gate failed, and the planned reverse restored everything
  undo_failed,   // the gate failed, and the reverse did not succeed completely
  quarantined,   // the gate failed; kept, marked, and requires manual action
  waits,         // everything possible is done; the rest waits for a window
  stopped,
  not_validated,   // as kept, but the benchmarks could not judge; later waves are held
  asks,            // everything possible is done; the rest needs approval
  undone_in_part,  // what is new was rolled back because it is broken; the rest is kept
  taken_over,      // another controller leads by now, and settles what this run left
};
std::string_view to_string(ApplyVerdict verdict);

// A desired effect that did not appear in time, or that could not be read.
struct OpenEffect {
  std::string device;
  Change change;
  std::string unread;  // why it could not be read; empty: it was read
};

// A change that was rolled back because of a gate: this run's, or an earlier run's that was not validated
// yet.
struct UndoneChange {
  std::uint64_t change = 0;  // of the journal
  Plan plan;                 // the reverse
  std::vector<StepResult> steps;
  std::set<std::string> hosts{};    // new hosts, if only they were rolled back; none: the whole change was
  bool whole = false;               // everything in that scope is as it was before the change
  std::optional<GateResult> again;  // measured without it
  std::optional<Guilt> guilt;       // none: nothing could be measured
};

struct ApplyReport {
  std::uint64_t change_id = 0;  // of the journal
  ApplyVerdict verdict = ApplyVerdict::nothing_to_do;
  std::vector<StepResult> steps;  // as Plan::steps
  std::vector<OpenEffect> effects;
  BlastRadius blast;
  std::vector<OpenEffect> open_before;  // open before the change, and nothing in it brings them about
  std::optional<GateResult> gate;       // over all gates: the last finding on each pair
  std::vector<UndoneChange> undone;     // newest first
  bool owes = false;                    // something was written, and not all of it was judged
  bool leaves_owed = false;   // something is not validated yet, and no maintenance prevents judging it
  bool unjournalled = false;  // the journal did not record the outcome: the next run reports and settles it
  bool fell_short = false;    // a step of this run failed, and not all of it was rolled back
  std::vector<std::string> notes;
  std::size_t count(StepState state) const;
  // Of the change that was rolled back last; none: nothing was, or it could not be measured.
  std::optional<Guilt> guilt() const { return undone.empty() ? std::nullopt : undone.back().guilt; }
  // Exit codes: 0 kept or nothing to do; 2 rolled back (also in part), effects open (also before the change),
  // quarantined, waits, asks, or an SLO that is broken without the change too; 3 nothing could be validated,
  // or something is not validated yet; 1 partly (also together with rolled back in part, quarantined or not
  // validated), stopped, taken over, rollback failed, still broken after the rollback although it held
  // before, and every outcome that the journal did not record.
  int exit_code() const;
};

// The only place that decides what an error leads to.
enum class Reaction : std::uint8_t { retry_later, observe_again, plan_again, give_up, stop };
Reaction reaction_to(ErrorKind kind);

}  // namespace lockstep
