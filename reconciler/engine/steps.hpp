// Steps: the ordered atoms gathered into as few steps as their order allows, with the budgets applied to
// them. The third stage of make_plan.
//
// Promises: pure; a step belongs to one device, one driver and one wave; ids are an order in which the steps
// could run one by one.
#pragma once

#include <vector>

#include "reconciler/engine/order.hpp"

namespace lockstep {

struct StepDraft {
  Step step;                          // without origins, and without holds except the host policy's
  std::vector<std::uint32_t> nodes;   // in order
  std::vector<std::uint32_t> cables;  // live ones, sorted
  bool whole_device = false;          // some live change is not limited to one cable
};

struct OrderedDrafts {
  std::vector<StepDraft> steps;
  std::vector<Barrier> barriers;
};

OrderedDrafts gather_steps(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                           const OrderGraph& order);

// Applies redundancy groups and minCapacity to the steps: `after` and barriers for what must not be out of
// service at once, a hold for what would exceed the budget even alone.
void lay_budgets(const PlanInput& input, OrderedDrafts& drafts);

}  // namespace lockstep
