// What the runner holds back only when a step's turn comes: for minCapacity, and for what is still in use.
#include <algorithm>
#include <utility>

#include "reconciler/engine/runner.hpp"

namespace lockstep {

// For the steps that are next on their device.
void Runner::ask_budgets() {
  if (check_.under_way()) return;
  std::vector<std::uint32_t> asked;
  std::vector<const Step*> steps;
  for (const auto& [device, ids] : ready_)
    if (!running_.contains(device) && results_[*ids.begin() - 1].state == StepState::waiting &&
        !waits_for_quiet(*ids.begin()) && check_.concerns(plan_.steps[*ids.begin() - 1]))
      asked.push_back(*ids.begin());
  if (asked.empty()) return;
  std::sort(asked.begin(), asked.end());
  for (const std::uint32_t id : asked) steps.push_back(&plan_.steps[id - 1]);
  check_.ask(
      std::move(steps), [this] { return under_way(); },
      [this, asked](const BudgetCheck::Reasons& reasons) { budgets_answered(asked, reasons); });
}

// Includes steps that may begin at any moment.
std::vector<const Step*> Runner::under_way() const {
  std::vector<const Step*> out;
  for (const Step& step : plan_.steps) {
    const StepState state = results_[step.id - 1].state;
    const bool goes_out = state == StepState::waiting && have_room_.contains(step.id);
    if (state == StepState::running || goes_out) out.push_back(&step);
  }
  return out;
}

void Runner::budgets_answered(const std::vector<std::uint32_t>& asked, const BudgetCheck::Reasons& reasons) {
  for (const std::uint32_t id : asked) {
    const auto why = reasons.find(id);
    if (why == reasons.end()) {
      have_room_.insert(id);
      continue;
    }
    hold_now(id, Hold::Kind::budget, why->second);
  }
  advance_soon();
}

// Holds a ready step for a reason found only now. It may have been left alone since the question was asked.
void Runner::hold_now(std::uint32_t id, Hold::Kind kind, const std::string& why) {
  const Step& step = plan_.steps[id - 1];
  ready_[step.device].erase(id);
  if (ready_[step.device].empty()) ready_.erase(step.device);
  if (results_[id - 1].state != StepState::waiting) return;
  results_[id - 1].asks = true;
  results_[id - 1].by_plan = true;
  results_[id - 1].words.emplace(word_of(kind, step.disruption));
  set(id, StepState::held, why);
  not_begun(id);
}

// The budget check may have taken some time since.
bool Runner::waits_for_quiet(std::uint32_t id) const {
  if (!QuietCheck::concerns(context_, plan_.steps[id - 1])) return false;
  const auto was_quiet = are_quiet_.find(id);
  return was_quiet == are_quiet_.end() ||
         context_.executor.now() - was_quiet->second > context_.options.settle_time;
}

// One step at a time per device.
void Runner::await_quiet(std::uint32_t id) {
  const Step& step = plan_.steps[id - 1];
  std::unique_ptr<QuietCheck>& check = await_quiet_[step.device];
  if (check != nullptr) return;
  check = std::make_unique<QuietCheck>(
      context_, step, [this, id](const QuietCheck::Answer& answer) { quiet_answered(id, answer); });
  check->start();
}

// onTimeout: stop applies to later waves too, as for a drain that the plan knows of.
void Runner::quiet_answered(std::uint32_t id, const QuietCheck::Answer& answer) {
  const Step& step = plan_.steps[id - 1];
  ended_quiet_.push_back(std::move(await_quiet_.extract(step.device).mapped()));
  advance_soon();
  if (!may_begin() || results_[id - 1].state != StepState::waiting) return;
  std::vector<std::string> notes = answer.unknown;
  if (!answer.still.empty()) notes.push_back(answer.still);
  if (answer.still.empty() || answer.proceeds) {
    for (const std::string& note : notes) results_[id - 1].notes.push_back("goes on all the same: " + note);
    are_quiet_.insert_or_assign(id, context_.executor.now());
    return;
  }
  hold_now(id, Hold::Kind::drain, answer.still);
  const Policy* const policy = context_.options.policy_of(step, context_.fleet);
  if (policy == nullptr || policy->on_timeout != Policy::Undrained::stop) return;
  for (const Step& later : plan_.steps)
    if (later.wave > step.wave && results_[later.id - 1].state == StepState::waiting)
      leave_alone(later.id, id, "a drain of wave " + std::to_string(step.wave) + " stops the rollout");
}

}  // namespace lockstep
