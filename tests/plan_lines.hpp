// Prints a plan for goldens and failure messages: one line per step and one per change.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "reconciler/engine/plan.hpp"

namespace lockstep {

inline std::string plan_lines(const Plan& plan) {
  std::string out;
  for (const Step& step : plan.steps) {
    out += fmt::format("step {} {}", step.id, step.device);
    if (!step.driver.empty()) out += " by " + step.driver;
    out += fmt::format(" wave {} {}{}", step.wave, to_string(step.disruption), step.live ? " live" : "");
    for (std::size_t i = 0; i < step.after.size(); ++i)
      out += (i == 0 ? " after " : ",") + std::to_string(step.after[i]);
    for (const std::uint32_t number : step.after_barriers) out += fmt::format(" after barrier {}", number);
    if (step.together != 0) out += fmt::format(" together {}", step.together);
    if (!step.remedy.empty()) out += " remedy " + step.remedy;
    if (step.undo_after) out += fmt::format(" undo after {} ms", step.undo_after->count());
    out += '\n';
    for (const PlannedChange& change : step.changes)
      out += fmt::format("  {}: {} -> {}{}\n", change.path.text(), change.was.to_string(),
                         change.want.to_string(), change.transient ? " (transient)" : "");
    for (const Hold& hold : step.holds) out += "  held: " + hold.reason + "\n";
    for (const std::string& note : step.notes) out += "  note: " + note + "\n";
  }
  for (std::size_t b = 0; b < plan.barriers.size(); ++b)
    out += fmt::format("barrier {} {}\n", b + 1, fmt::join(plan.barriers[b].after, ","));
  for (const std::uint32_t wave : plan.ungated) out += fmt::format("wave {} is not gated\n", wave);
  for (const std::string& refusal : plan.refusals) out += "refused: " + refusal + "\n";
  return out;
}

}  // namespace lockstep
