#include "reconciler/service/goal_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/step_order.hpp"

namespace lockstep {
namespace {

std::string digest_of(const Deletion& deletion) {
  Digest digest;
  digest.add("deletion");
  for (const std::vector<std::string>* const names : {&deletion.devices, &deletion.objects}) {
    digest.add(std::to_string(names->size()));
    for (const std::string& name : *names) digest.add(name);
  }
  return digest.finish();
}

bool is_held(const Step& step) {
  return std::ranges::any_of(step.holds, [](const Hold& hold) { return can_be_lifted(hold.kind); });
}

}  // namespace

GoalPlan::GoalPlan(Plan plan, const Deletion& deletion, bool whole, bool to_judge)
    : plan_(std::move(plan)), whole_(whole), to_judge_(to_judge) {
  digests_.reserve(plan_.steps.size());
  for (const Step& step : plan_.steps) digests_.push_back(step_digest(step));
  if (plan_.empty() || deletion.why.empty()) return;
  why_confirm_ = deletion.why;
  deletion_ = digest_of(deletion);
}

PlannedSteps GoalPlan::planned() const {
  PlannedSteps out;
  out.whole = whole_;
  out.to_judge = to_judge_;
  const auto hold = [&out](const std::string& digest) {
    out.steps.insert(digest);
    out.held.insert(digest);
  };
  if (!deletion_.empty()) hold(deletion_);
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    if (plan_.steps[i].stands_by()) continue;
    out.steps.insert(digests_[i]);
    if (!deletion_.empty() || is_held(plan_.steps[i])) out.held.insert(digests_[i]);
  }
  if (out.held.empty()) return out;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    if (plan_.steps[i].stands_by() && is_held(plan_.steps[i])) hold(digests_[i]);
  return out;
}

std::string GoalPlan::why_held(const std::set<std::string>& steps, std::size_t most) const {
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    if (steps.contains(digests_[i]))
      for (const Hold& hold : plan_.steps[i].holds) ++counts[hold.reason];
  std::vector<std::pair<std::string, std::size_t>> all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, std::greater<>(), &std::pair<std::string, std::size_t>::second);
  if (!deletion_.empty()) all.insert(all.begin(), {why_confirm_, 0});
  std::string out;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) out += (i > 0 ? "; " : "") + all[i].first;
  return all.size() > most ? out + "; and others" : out;
}

std::set<std::string> GoalPlan::without_stand_bys(const std::set<std::string>& steps) const {
  std::set<std::string> out = steps;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    if (plan_.steps[i].stands_by()) out.erase(digests_[i]);
  return out;
}

Approved GoalPlan::approved(const std::set<std::string>& may_run) const {
  Approved out;
  for (const std::string& digest : digests_)
    if (may_run.contains(digest)) out.add_step(digest);
  return out;
}

Plan GoalPlan::to_run(const std::set<std::string>& may_run) const {
  Plan out = plan_;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    if (!may_run.contains(digests_[i]) && !is_held(out.steps[i]) && !out.steps[i].stands_by())
      out.steps[i].holds.push_back({Hold::Kind::approval, "this revision of the specs needs approval"});
  return out;
}

std::size_t GoalPlan::can_begin(const std::set<std::string>& may_run) const {
  if (!deletion_confirmed(may_run)) return 0;
  const Plan plan = to_run(may_run);
  const Approved lifted = approved(may_run);
  std::vector<bool> begins(plan.steps.size() + 1, true);  // by id
  Before all_begin(
      plan.barriers, true, [&](std::uint32_t id) { return begins[id]; }, std::logical_and<>());
  std::vector<bool> may(plan.steps.size() + 1, false);
  for (const Step& step : plan.steps) {
    may[step.id] = standing_holds(step, lifted).empty() && (all_begin.of(step) || !step.remedy.empty());
    begins[step.id] = may[step.id] || !step.remedy.empty();  // nothing depends on a remedy
  }
  std::set<std::uint32_t> waves;
  for (const Step& step : plan.steps) waves.insert(step.wave);
  for (const std::uint32_t wave : waves) {  // one that does not begin is none before the next
    if (wave_may_begin(plan, wave, [&](std::uint32_t id) { return begins[id]; })) continue;
    for (const Step& step : plan.steps)
      if (step.wave == wave && step.remedy.empty()) may[step.id] = begins[step.id] = false;
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.steps, [&](const Step& step) { return may[step.id] && !step.stands_by(); }));
}

std::set<std::string> GoalPlan::changes(const std::set<std::string>& may_run) const {
  std::set<std::string> out;
  for (std::size_t i = 0; i < digests_.size(); ++i)
    if (may_run.contains(digests_[i])) out.insert(plan_.steps[i].device);
  return out;
}

std::set<std::string> GoalPlan::wait_for_windows(const std::set<std::string>& may_run) const {
  const Approved lifted = approved(may_run);
  std::set<std::string> out;
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    if (!may_run.contains(digests_[i])) continue;
    const std::vector<Hold> holds = standing_holds(plan_.steps[i], lifted);
    if (!holds.empty() &&
        std::ranges::all_of(holds, [](const Hold& hold) { return hold.kind == Hold::Kind::window; }))
      out.insert(plan_.steps[i].device);
  }
  return out;
}

}  // namespace lockstep
