// Holds that apply to all ports of a host also apply to its route locks.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "reconciler/engine/link_ends.hpp"
#include "reconciler/engine/route_locks.hpp"
#include "reconciler/engine/step_order.hpp"

namespace lockstep {
namespace {

// The holds that must be lifted before a step runs, by kind: one hold of each kind is enough.
struct KeptBack {
  std::array<const Hold*, static_cast<std::size_t>(Hold::Kind::gate) + 1> by{};  // gate: the last kind
  Disruption asks_for = Disruption::none;  // the highest disruption that needs approval

  bool any() const {
    return std::ranges::any_of(by, [](const Hold* one) { return one != nullptr; });
  }
  void add(const Hold* hold) {
    if (hold == nullptr) return;
    const Hold*& known = by.at(static_cast<std::size_t>(hold->kind));
    if (known == nullptr) known = hold;
  }
  KeptBack with(const KeptBack& other) const {
    KeptBack out = *this;
    for (const Hold* const one : other.by) out.add(one);
    out.asks_for = std::max(asks_for, other.asks_for);
    return out;
  }
  bool operator==(const KeptBack&) const = default;
};

auto of_row(const std::optional<RowId>& row) {
  return [&row](const PlannedChange& change) { return change.path.row() == row; };
}

// Whether a step locks routes temporarily.
bool is_lock(const Step& step, const Columns::MtuRows& rows) {
  return !step.changes.empty() && step.changes.front().want &&
         std::ranges::all_of(step.changes, of_row(rows.lock));
}

// By step: its own holds, and those of the steps that it comes after or is tied to.
std::vector<KeptBack> kept_back(const Plan& plan, const std::vector<std::vector<OtherEnd>>& ends) {
  std::vector<KeptBack> out(plan.steps.size());
  std::unordered_map<std::uint32_t, KeptBack> groups;
  for (const Step& step : plan.steps)
    for (const Hold& hold : step.holds) {
      out[step.id - 1].add(&hold);
      if (hold.kind == Hold::Kind::approval) out[step.id - 1].asks_for = step.disruption;
    }
  for (bool more = true; more;) {
    more = false;
    Before before(
        plan.barriers, KeptBack(), [&out](std::uint32_t id) { return out[id - 1]; },
        [](const KeptBack& one, const KeptBack& other) { return one.with(other); });
    for (const Step& step : plan.steps) {
      KeptBack by = out[step.id - 1].with(before.of(step));
      if (step.together != 0) by = groups[step.together] = groups[step.together].with(by);
      for (const OtherEnd& end : ends[step.id]) by = by.with(out[end.step - 1]);
      more = more || by != out[step.id - 1];
      out[step.id - 1] = by;
    }
  }
  return out;
}

// Returns whether any step was newly held, or held for more.
bool hold_once(const Columns::MtuRows& rows, const std::vector<std::vector<OtherEnd>>& ends, Plan& plan) {
  const std::vector<KeptBack> back = kept_back(plan, ends);
  std::unordered_map<std::string_view, std::vector<const KeptBack*>> ports;  // by device
  for (const Step& step : plan.steps)
    if (std::ranges::any_of(step.changes, of_row(rows.port)))
      ports[step.device].push_back(&back[step.id - 1]);
  std::vector<std::pair<Step*, KeptBack>> held;
  for (Step& step : plan.steps) {
    const auto found = ports.find(step.device);
    if (!is_lock(step, rows) || found == ports.end()) continue;
    if (std::ranges::any_of(found->second, [](const KeptBack* one) { return !one->any(); })) continue;
    KeptBack by = back[step.id - 1];
    for (const KeptBack* const one : found->second) by = by.with(*one);
    held.emplace_back(&step, by);
  }
  std::vector<std::vector<Hold>> holds;  // copied before any is replaced: KeptBack points into the steps
  for (const auto& [step, by] : held) {
    std::vector<Hold>& all = holds.emplace_back();
    for (const Hold* const one : by.by)
      if (one != nullptr) all.push_back(*one);
  }
  bool more = false;
  for (std::size_t i = 0; i < held.size(); ++i) {
    Step& step = *held[i].first;
    const Disruption disruption = std::max(step.disruption, held[i].second.asks_for);
    more = more || step.holds != holds[i] || step.disruption != disruption;
    step.holds = std::move(holds[i]);
    step.disruption = disruption;  // the same approval lifts it
  }
  return more;
}

}  // namespace

// A held lock holds the ports of other hosts, and these hold their locks.
void hold_route_locks(const Columns& columns, const Wiring& wiring, Plan& plan) {
  const Columns::MtuRows& rows = columns.mtu_rows();
  if (std::ranges::none_of(plan.steps, [&](const Step& step) { return is_lock(step, rows); })) return;
  const std::vector<std::vector<OtherEnd>> ends = other_ends(plan, wiring);
  while (hold_once(rows, ends, plan)) {
  }
}

}  // namespace lockstep
