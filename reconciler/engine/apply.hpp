// What an apply is asked for and what it answers: options, progress, the gate's question, the report, as
// plain data; and what changes touch (BlastRadius). Application (application.hpp) carries it out.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
  nothing_to_do,  // found as wanted already
  not_needed,     // a remedy: nothing was open that it is for
  failed,
  undone,   // failed and taken back by the device
  skipped,  // something it depends on did not succeed
  held,     // needs a person's word
  stopped,  // asked to stop before it began
};
std::string_view to_string(StepState state);
// Nothing is left to be done of it.
constexpr bool is_good(StepState state) {
  return state == StepState::done || state == StepState::nothing_to_do || state == StepState::not_needed;
}

struct StepResult {
  std::uint32_t id = 0;
  StepState state = StepState::waiting;
  std::string why;                // of anything but done
  std::size_t writes = 0;         // applies that were sent
  bool waits = false;             // held by a window, or behind a step that is
  bool unjournalled = false;      // the journal took the write, and not how it ended
  bool by_plan = false;           // held, or left alone for a step that is
  std::string other_end{};        // "leaf0:swp1": the end of a cable for which it was left alone
  bool asks = false;              // held by what a person's word lifts, or behind a step that is
  std::vector<Path> treated{};    // effects, by a remedy
  std::set<std::string> words{};  // that would lift what holds it (approved.hpp)
  std::vector<std::string> notes;
  std::chrono::milliseconds took{0};
  // Of what disturbs live traffic: from its first write until it was over, and what worked before worked
  // again.
  std::chrono::milliseconds disturbed{0};
};

// What a change set can have touched: what to measure again, and the size of the budget.
struct BlastRadius {
  std::vector<std::string> devices;  // sorted; those changed as a whole, not only at the end of a cable
  std::vector<std::uint32_t>
      cables;  // into Wiring::cables: those changed, and those of devices changed as a whole
  bool touches(const std::string& device) const;
  bool touches_cable(std::uint32_t cable) const;
  // For a pair of endpoints, from the devices and cables that its paths cross.
  bool touches_path(const std::vector<std::string>& devices_crossed,
                    const std::vector<std::uint32_t>& cables_crossed) const;
  bool empty() const { return devices.empty() && cables.empty(); }
};
BlastRadius blast_radius(const std::vector<Step>& steps, const Wiring& wiring);
std::vector<Step> joined(std::vector<Step> first, const std::vector<Step>& second);
// What an owed change wrote, as steps: for its blast radius, and for an undo.
std::vector<Step> steps_of(const OwedChange& owed);

struct GateQuestion {
  // before: ahead of the first write; confirm: the same pairs once more, with controls; again: after an undo.
  enum class When : std::uint8_t { before, after, confirm, again };
  When when = When::after;
  BlastRadius affected;
  BlastRadius pending;              // its paths are left out
  std::uint32_t pending_until = 0;  // the wave with which the last of them is measured; 0: of none that comes
  BlastRadius whole;                // of all that this run may write: controls cross none of it
  std::set<std::string> also{};     // subjects beside those of `affected`
  std::set<std::string> only{};     // subjects; empty: all
};

// Runs the benchmarks that the change can have touched, but for paths that `pending` touches: they are half
// done, and later steps complete them. With all but `after` it measures kControls pairs besides, where there
// are as many. Called on a worker thread of Lane::bench; everything the engine does meanwhile is wait.
class Measurer {
 public:
  virtual ~Measurer() = default;
  virtual Result<GateMeasurement> measure(const GateQuestion& question, const Call& call) = 0;
  // Whether the traffic of a subject may cross what was changed; true where nobody can tell, false of a
  // subject that is not measured any more. Asked on the engine's thread, while nothing is measured.
  virtual bool crosses(const std::string& subject, const BlastRadius& changed) const {
    return subject.empty() || !changed.empty();
  }
};

// What a person wants to see while it runs. All on the engine's thread.
struct Progress {
  std::function<void(const Step&, const StepResult&)> step;  // at every change of state
  std::function<void(std::uint32_t wave, std::uint32_t of)> wave;
  std::function<void(std::string_view what)> phase;  // "verify effects", "measure", "undo"
  std::function<void(const GateResult&)> gate;
};

// Whether an earlier change wrote an entry; null: none did.
using WasWritten = std::function<bool(const std::string& device, Path path)>;

struct ApplyOptions {
  Approved approved{};  // a person's word
  bool refusals_approved = false;
  Measurer* measurer = nullptr;    // null: no gate
  std::vector<OwedChange> owed{};  // of earlier runs: measured, and kept or undone, with what this one writes
  std::vector<OwedChange> open{};  // of earlier runs, not judged yet, which this one does not take on
  OnFail on_fail = OnFail::rollback;  // of what no figure says it of (GateFigure::on_fail)
  PlanChoice choice{};                // that the plan was made with: nothing else is cured
  std::function<const Policy*(const FleetDevice&)> policy_for{};  // the rules that an undo keeps too
  WasWritten was_written{};
  std::function<Result<Done>()> before_writing{};  // what must be stored first; an error: nothing is written
  bool strict = false;                             // an unknown verdict fails the gate
  std::chrono::milliseconds observe_timeout{10'000};
  std::chrono::milliseconds apply_timeout{30'000};
  std::chrono::milliseconds step_timeout{60'000};  // no try begins after it
  std::chrono::milliseconds measure_timeout{600'000};
  std::chrono::milliseconds settle_time{20'000};  // for effects to come (BGP, LLDP, BFD)
  std::chrono::milliseconds quiet_time{5'000};  // without a packet, until a class counts as unused. A choice:
                                                // a job's steps take seconds at most
  std::chrono::milliseconds poll_min{50};       // between reads while effects settle: doubles up to poll_max
  std::chrono::milliseconds poll_max{1'000};
  // Of a step's device. Null: nothing is held back there.
  const Policy* policy_of(const Step& step, const Fleet& fleet) const {
    const auto device = fleet.find(step.device);
    return device && policy_for ? policy_for(fleet[*device]) : nullptr;
  }
  // How long a step waits until nothing uses what it takes away. What heals by itself keeps others waiting
  // meanwhile, and comes back.
  std::chrono::milliseconds drain_time(const Policy* policy) const {
    return choice.person && policy != nullptr && policy->drain_timeout ? *policy->drain_timeout : settle_time;
  }
  int tries = 4;                            // of one step, all error kinds together
  std::chrono::milliseconds back_off{200};  // after a transient error; doubles
  std::string author;
  std::string reason;
};

enum class ApplyVerdict : std::uint8_t {
  nothing_to_do,
  kept,          // all done, verified, and the gate (if any) did not fail
  partly,        // some steps failed, were held or skipped
  effects_open,  // written and read back, but some effects did not come
  undone,        // the gate failed, and the planned reverse brought everything back
  undo_failed,   // the gate failed, and the reverse did not succeed whole
  quarantined,   // the gate failed; kept, marked, waiting for a person
  waits,         // all that could be done is; the rest waits for a window
  stopped,
  not_validated,   // as kept, but the benchmarks could not tell; later waves are held
  asks,            // all that could be done is; the rest waits for a person's word
  undone_in_part,  // what is new was taken back, as it is broken; the rest is kept
};
std::string_view to_string(ApplyVerdict verdict);

// An effect that was wanted and did not come in time, or can't be told.
struct OpenEffect {
  std::string device;
  Change change;
  std::string unread;  // why it can't be told; empty: it was read
};

// A change that a gate had undone: this run's, or one of an earlier run that nobody had judged.
struct UndoneChange {
  std::uint64_t change = 0;  // of the journal
  Plan plan;                 // the reverse
  std::vector<StepResult> steps;
  std::set<std::string> hosts{};    // new ones, that alone were taken back; none: all of the change was
  bool whole = false;               // all of that is as it was before the change
  std::optional<GateResult> again;  // measured without it
  std::optional<Guilt> guilt;       // none: nothing could be measured
};

struct ApplyReport {
  std::uint64_t change_id = 0;  // of the journal
  ApplyVerdict verdict = ApplyVerdict::nothing_to_do;
  std::vector<StepResult> steps;  // as Plan::steps
  std::vector<OpenEffect> effects;
  BlastRadius blast;
  std::vector<OpenEffect> open_before;  // were open before the change, and nothing of it brings them about
  std::optional<GateResult> gate;       // of all gates: the last finding on each pair
  std::vector<UndoneChange> undone;     // newest first
  bool owes = false;                    // written, and not all of it was judged
  bool leaves_owed = false;             // something is owed that no maintenance keeps from being judged
  bool unjournalled = false;  // the journal did not take how it ended: the next run tells, and settles it
  bool fell_short = false;    // a step of this run failed, and not all of it was undone
  std::vector<std::string> notes;
  std::size_t count(StepState state) const;
  // Of the change that was undone last; none: nothing was, or nobody could measure it.
  std::optional<Guilt> guilt() const { return undone.empty() ? std::nullopt : undone.back().guilt; }
  // 0 kept or nothing to do; 2 undone, in part too, effects open (also before), quarantined, waits, asks, and
  // an SLO that is broken without the change; 3 what no benchmark could tell, or what is still owed; 1
  // partly, also beside what was undone in part, quarantined or not validated, stopped, undo failed, what was
  // undone and is broken although it held before, and whatever the journal did not take.
  int exit_code() const;
};

// The one place that decides what an error leads to.
enum class Reaction : std::uint8_t { retry_later, observe_again, plan_again, give_up, stop };
Reaction reaction_to(ErrorKind kind);

}  // namespace lockstep
