#include "reconciler/engine/step_order.hpp"

#include <algorithm>

namespace lockstep {

bool barrier_pays(std::size_t before, std::size_t after) { return before * after > before + after; }

std::vector<std::uint32_t> steps_before(const Plan& plan, const Step& step) {
  std::vector<std::uint32_t> out = step.after;
  for (const std::uint32_t number : step.after_barriers) {
    const std::vector<std::uint32_t>& more = plan.barriers[number - 1].after;
    out.insert(out.end(), more.begin(), more.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

NextSteps next_steps(const Plan& plan) {
  NextSteps out;
  out.of_step.resize(plan.steps.size() + 1);
  out.barriers.resize(plan.steps.size() + 1);
  out.of_barrier.resize(plan.barriers.size() + 1);
  for (const Step& step : plan.steps) {
    for (const std::uint32_t before : step.after) out.of_step[before].push_back(step.id);
    for (const std::uint32_t number : step.after_barriers) out.of_barrier[number].push_back(step.id);
  }
  for (std::uint32_t number = 1; number <= plan.barriers.size(); ++number)
    for (const std::uint32_t id : plan.barriers[number - 1].after) out.barriers[id].push_back(number);
  return out;
}

}  // namespace lockstep
