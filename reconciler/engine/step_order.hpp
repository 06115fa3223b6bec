// The order of a plan's steps: what each step waits for and what waits for it, with its barriers (plan.hpp).
//
// Promises: pure; linear in the plan's size, except steps_before().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "reconciler/engine/plan.hpp"

namespace lockstep {

// Whether one barrier is shorter than listing each of `before` steps for each of `after` others.
bool barrier_pays(std::size_t before, std::size_t after);

// All steps that a step waits for, barriers expanded: ids, in order, each once.
std::vector<std::uint32_t> steps_before(const Plan& plan, const Step& step);

// Whether a wave may begin: there is no step before it, remedies aside, or some of them begin.
template <typename Begins>
bool wave_may_begin(const Plan& plan, std::uint32_t wave, Begins begins) {
  bool some = false;
  for (const Step& step : plan.steps) {
    if (step.wave >= wave || !step.remedy.empty()) continue;
    if (begins(step.id)) return true;
    some = true;
  }
  return !some;
}

struct NextSteps {
  std::vector<std::vector<std::uint32_t>> of_step;     // by id: steps that wait for it directly
  std::vector<std::vector<std::uint32_t>> barriers;    // by id: numbers of the barriers that contain it
  std::vector<std::vector<std::uint32_t>> of_barrier;  // by number: steps that wait for it
};

// For steps in the order of ids, from 1; `step_of`: the Step of each element.
template <typename Steps, typename StepOf = std::identity>
NextSteps next_steps(const Steps& steps, const std::vector<Barrier>& barriers, StepOf step_of = {}) {
  NextSteps out;
  out.of_step.resize(steps.size() + 1);
  out.barriers.resize(steps.size() + 1);
  out.of_barrier.resize(barriers.size() + 1);
  for (const auto& one : steps) {
    const Step& step = std::invoke(step_of, one);
    for (const std::uint32_t before : step.after) out.of_step[before].push_back(step.id);
    for (const std::uint32_t number : step.after_barriers) out.of_barrier[number].push_back(step.id);
  }
  for (std::uint32_t number = 1; number <= barriers.size(); ++number)
    for (const std::uint32_t id : barriers[number - 1].after) out.barriers[id].push_back(number);
  return out;
}

// The joined knowledge about the steps that one waits for. Call it in the order of ids: everything about a
// barrier's steps is known when the barrier is first asked about, and is cached.
template <typename T, typename OfStep, typename Join>
class Before {
 public:
  Before(const std::vector<Barrier>& barriers, T of_none, OfStep of_step, Join join)
      : barriers_(barriers),
        of_none_(std::move(of_none)),
        of_step_(std::move(of_step)),
        join_(std::move(join)),
        known_(barriers.size()) {}

  T of(const Step& step) {
    T out = joined(step.after);
    for (const std::uint32_t number : step.after_barriers) {
      std::optional<T>& known = known_[number - 1];
      if (!known) known = joined(barriers_[number - 1].after);
      out = join_(out, *known);
    }
    return out;
  }

 private:
  T joined(const std::vector<std::uint32_t>& ids) const {
    T out = of_none_;
    for (const std::uint32_t id : ids) out = join_(out, of_step_(id));
    return out;
  }

  const std::vector<Barrier>& barriers_;
  T of_none_;
  OfStep of_step_;
  Join join_;
  std::vector<std::optional<T>> known_;  // by number, from 0
};

}  // namespace lockstep
