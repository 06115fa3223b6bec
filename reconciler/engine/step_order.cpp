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

}  // namespace lockstep
