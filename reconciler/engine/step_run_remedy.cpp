// How a remedy step runs: whether it is needed, the remedy itself, and what the effects show after an error.
#include <algorithm>
#include <memory>
#include <utility>

#include "reconciler/engine/observe.hpp"
#include "reconciler/engine/remedies.hpp"
#include "reconciler/engine/service.hpp"
#include "reconciler/engine/step_run.hpp"

namespace lockstep {

// Effects of the device that are open, and that no maintenance explains.
ChangeSet StepRun::open_now() const {
  DeviceState state;
  state.device = step_.device;
  state.reachable = true;
  state.observation.have = seen_.have;
  state.observation.unread = seen_.unread;
  ChangeSet open = open_effects(*context_.fleet[device_].intent, seen_.have, seen_.unread);
  std::erase_if(open, [&](const Change& effect) {
    return !maintenance_of(context_.fleet, device_, state, effect).empty();
  });
  return open;
}

void StepRun::check_need() {
  if (seen_.error) {
    const std::chrono::milliseconds pause = context_.options.poll_min * (2 << reads_);
    if (++reads_ < kReadsMax && !is_late(pause)) return observe_after(pause, Phase::need);
    return end(StepState::failed, seen_.error->text());
  }
  if (attached_->remedy == nullptr)
    return end(StepState::failed, "the driver has no remedy '" + step_.remedy + "'");
  treated_ = treatable(context_.fleet, device_, step_, open_now());
  // The driver's offer may depend on its last observation, which may have been for another reader.
  const auto offer = treated_.empty() ? std::nullopt : attached_->remedy->offer(treated_.front());
  if (!offer) return end(StepState::not_needed, "");
  remedy(*offer);
}

void StepRun::remedy(const Remedy::Offer& offer) {
  phase_ = Phase::remedy;
  const auto counted = count_cure(context_.ledger, step_.device, offer, context_.executor.wall_time(),
                                  context_.options.choice.person);
  if (!counted) return end(StepState::failed, counted.error().what);
  disturbs_since_ = context_.executor.now();
  result_.treated.clear();
  for (const Change& effect : treated_) result_.treated.push_back(effect.path);
  auto answer = std::make_shared<std::optional<Result<Done>>>();
  start_job(
      context_.options.apply_timeout,
      [answer, remedy = attached_->remedy, effects = treated_](const Call& call) {
        *answer = remedy->cure(effects, call);
      },
      [this, answer](const Outcome& outcome) { cured(outcome, *answer); });
}

void StepRun::cured(const Outcome& outcome, const std::optional<Result<Done>>& answer) {
  const bool answered = outcome == Outcome::returned && answer;
  if (answered && *answer) {
    ++result_.writes;
    return end(StepState::done, "");
  }
  failed_ = answered
                ? answer->error()
                : Error{outcome == Outcome::never_started ? ErrorKind::refused : ErrorKind::unknown_outcome,
                        outcome.reason_or("no answer to the remedy")};
  const bool untouched = reaction_to(failed_->kind) == Reaction::give_up;
  if (untouched)
    disturbs_since_.reset();
  else
    ++result_.writes;
  reads_ = 0;
  observe(Phase::remedied);
}

// Reads may lag, and an effect that was about to appear when the remedy was refused may be there a moment
// later.
void StepRun::check_remedied() {
  ChangeSet open = open_now();
  std::erase_if(open, [this](const Change& effect) {
    return std::ranges::find(result_.treated, effect.path) == result_.treated.end();
  });
  if (!seen_.error && open.empty()) {
    result_.notes.push_back(step_.device + ": remedy '" + step_.remedy + "': " + failed_->text() +
                            "; what it is for is as desired all the same");
    return end(result_.writes > 0 ? StepState::done : StepState::not_needed, "");
  }
  const std::chrono::milliseconds pause = context_.options.poll_min * (2 << reads_);
  if (++reads_ < kReadsMax && !is_late(pause) && !context_.stop.stop_requested())
    return observe_after(pause, Phase::remedied);
  end(StepState::failed, failed_->text());
}

}  // namespace lockstep
