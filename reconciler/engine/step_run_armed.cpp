// How a step arms its device: what it extends, waits for and settles, and what it does when the device rolls
// back by itself or has another leader.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "reconciler/engine/met.hpp"
#include "reconciler/engine/step_run.hpp"

namespace lockstep {
namespace {

// Such an answer to an extension: the device has rolled back, or does so now.
bool says_disarmed(const Result<Done>& extended) {
  return !extended &&
         (extended.error().kind == ErrorKind::conflict || extended.error().kind == ErrorKind::unsupported);
}

}  // namespace

// `then`: the device's answer; where it gave none, unknown_outcome.
void StepRun::settle(Phase phase, const std::string& transaction, Settlement settlement,
                     std::function<void(const Result<Done>&)> then) {
  phase_ = phase;
  auto answer = std::make_shared<std::optional<Result<Done>>>();
  Driver* const driver = attached_->driver.get();
  start_job(
      context_.options.apply_timeout,
      [answer, driver, transaction, settlement](const Call& call) {
        *answer = driver->settle(transaction, settlement, call);
      },
      [this, answer, then = std::move(then)](const Outcome& outcome) {
        const Error none{ErrorKind::unknown_outcome,
                         step_.device + ": " + outcome.reason_or("no answer to a settlement")};
        const Result<Done> said = outcome == Outcome::returned && *answer ? **answer : Result<Done>(none);
        if (said || !ends_for_another_leader(said.error())) then(said);
      });
}

// A run that was killed left the device armed: its write is rolled back before anything else is written.
void StepRun::settle_earlier() {
  settle(Phase::settle_earlier, seen_.armed, Settlement::undo, [this](const Result<Done>& answer) {
    if (answer) result_.notes.push_back(step_.device + ": what an earlier run had left armed is rolled back");
    if (answer && ++reads_ <= kReadsMax) return observe(Phase::ground);
    const Error armed{ErrorKind::transient, step_.device + ": an earlier transaction stays armed"};
    react(answer ? armed : answer.error(), false);
  });
}

void StepRun::keep() {
  if (!is_armed()) {
    phase_ = Phase::keep;
    return kept();
  }
  is_being_kept_ = true;
  settle(Phase::keep, transaction(), Settlement::keep, [this](const Result<Done>& answer) {
    if (answer) return kept();
    // The device may have rolled back: observe, and write again if it did.
    react(answer.error(), true);
  });
}

// The device rolls back at that time at the latest, or soon after.
void StepRun::arm_until(Time until) {
  armed_until_ = until;
  if (deadline_) context_.executor.cancel(*deadline_);
  deadline_ = context_.executor.at(until, callbacks_.bind([this] {
    deadline_.reset();
    if (!is_being_kept_ && !failed_as_ && phase_ != Phase::settle_undo) past_saving();
  }));
}

void StepRun::extend(Phase phase, std::function<void(const Result<Done>&)> then) {
  settle(phase, transaction(), Settlement::extend,
         [this, asked = context_.executor.now(), then = std::move(then)](const Result<Done>& answer) {
           if (is_past_saving_) return observe(Phase::read_back);
           if (says_disarmed(answer)) return past_saving();
           if (answer) arm_until(asked + *step_.undo_after);
           then(answer);
         });
}

// Keeps the device armed as long as we wait.
void StepRun::extend_if_due(std::chrono::milliseconds pause) {
  const Time now = context_.executor.now();
  if (!is_armed() || failed_as_ || is_being_kept_ || now + *step_.undo_after / 2 < armed_until_)
    return observe_after(pause, Phase::regain);
  extend(Phase::regain, [this, pause](const Result<Done>& answer) {
    answer ? observe(Phase::regain) : observe_after(pause, Phase::regain);
  });
}

// It works, and waits for the other ends: the device stays armed until then.
void StepRun::hold() {
  phase_ = Phase::hold;
  const Time due = std::max(armed_until_ - *step_.undo_after / 2, next_extension_);
  waits_ = true;
  pending_ = context_.executor.at(due, callbacks_.bind([this] {
    pending_.reset();
    next_extension_ = context_.executor.now() + context_.options.poll_max;
    extending_ = true;
    extend(Phase::hold, [this](const Result<Done>&) {
      extending_ = false;
      const std::optional<Together> decision = std::exchange(decision_, std::nullopt);
      decision ? decided(*decision) : hold();
    });
  }));
}

void StepRun::go_on(Together decision) {
  if (phase_ != Phase::hold) return;
  if (extending_) {
    decision_ = decision;
    return;
  }
  if (pending_) context_.executor.cancel(*pending_);
  pending_.reset();
  decided(decision);
}

void StepRun::decided(Together decision) {
  switch (decision) {
    case Together::keep: return keep();
    case Together::wait: return hold();
    case Together::undo: return give_up("another end of its links did not succeed");
  }
}

// Seen armed, or acknowledged, and not armed any more.
bool StepRun::is_disarmed() {
  if (!is_armed() || tickets_.empty() || is_being_kept_ || seen_.error) return false;
  const bool is_there = seen_.armed == transaction();
  was_armed_ = was_armed_ || is_there;
  return was_armed_ && !is_there;
}

// Nothing settled or extended it in time, so that it can't be kept any more, whatever the device does now.
void StepRun::past_saving() {
  if (std::exchange(is_past_saving_, true)) return;
  silent_until_ = context_.executor.now() + context_.options.settle_time;
  leave_others();
  if (pending_ && !waits_) return;  // what is under way ends first
  if (pending_) context_.executor.cancel(*std::exchange(pending_, std::nullopt));
  observe(Phase::read_back);
}

// The others need not wait for the effects here, which may not return before these are rolled back too.
void StepRun::leave_others() {
  if (!std::exchange(has_left_, true)) (void)holds_(false);
}

// Whether the device has rolled back by itself; while it does not answer, it is asked again.
void StepRun::check_rolled_back() {
  const std::string nothing =
      fmt::format("nothing settled it in {:g} s", std::chrono::duration<double>(*step_.undo_after).count());
  leave_others();
  if (!std::exchange(is_past_saving_, true))
    silent_until_ = context_.executor.now() + context_.options.settle_time;
  const std::chrono::milliseconds pause = context_.options.poll_max;
  const bool may_wait = context_.executor.now() + pause < silent_until_;
  if (seen_.error && may_wait) return observe_after(pause, Phase::read_back);
  if (seen_.error)
    return end(StepState::failed, seen_.error->text() + "; its own agent rolls it back, as " + nothing);
  if (seen_.armed == transaction()) return give_up(nothing);
  std::map<Path, Value> before;
  for (const PlannedChange& change : step_.changes) before.try_emplace(change.path, change.was);
  for (const auto& [path, was] : before) {
    if (!shows_at_once(path.row()) || seen_.have.value(path) == was) continue;
    if (may_wait) return observe_after(pause, Phase::read_back);
    return fail(StepState::failed, "its own agent has not rolled it back, though " + nothing + ": " +
                                       path.text() + " is " + seen_.have.value(path).to_string() +
                                       " instead of " + was.to_string());
  }
  fail(StepState::undone,
       (was_armed_ ? "" : "not written, or ") + ("rolled back by its own agent, " + nothing));
}

// A later leader settles what is armed: this one neither retries nor rolls back, and its outcome stays open.
bool StepRun::ends_for_another_leader(const Error& error) {
  if (error.kind != ErrorKind::denied || context_.options.epoch == nullptr) return false;
  const std::optional<std::string> why = context_.options.epoch->why_over(step_.device);
  if (!why) return false;
  result_.unjournalled = result_.unjournalled || !tickets_.empty();
  if (!tickets_.empty())
    result_.notes.push_back(step_.device + ": the other controller settles what was written there");
  const StepState state = tickets_.empty() ? StepState::stopped : StepState::failed;
  tickets_.clear();
  end(state, *why);
  return true;
}

}  // namespace lockstep
