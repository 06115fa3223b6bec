#include "reconciler/engine/runner.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "reconciler/engine/remedies.hpp"
#include "reconciler/engine/step_order.hpp"

namespace lockstep {

Runner::Runner(RunContext context, const Plan& plan, const Progress& progress)
    : context_(std::move(context)), plan_(plan), progress_(progress), check_(context_) {
  context_.next_ticket = [this](const std::string& transaction) {
    return transaction + "-" + std::to_string(++tickets_);
  };
  context_.remedy_follows = [this](const std::string& device, Path effect) {
    return remedy_follows(device, effect);
  };
  other_ends_.resize(plan.steps.size() + 1);
  if (!context_.undoes) other_ends_ = other_ends(plan, context_.fleet.wiring());
  next_ = next_steps(plan.steps, plan.barriers);
  passing_.resize(plan.barriers.size() + 1);
  for (std::size_t i = 0; i < plan.barriers.size(); ++i) passing_[i + 1].left = plan.barriers[i].after.size();
  waits_.resize(plan.steps.size() + 1);
  for (const Step& step : plan.steps) {
    results_.push_back(
        {.id = step.id, .state = StepState::waiting, .why = {}, .writes = 0, .notes = {}, .took = {}});
    waits_[step.id] = step.after.size() + step.after_barriers.size();
  }
}

void Runner::run_wave(std::uint32_t wave, std::function<void()> done) {
  wave_over_ = std::move(done);
  wave_ = wave;
  remedies_.clear();
  groups_.clear();
  for (const Step& step : plan_.steps)
    if (step.wave == wave && step.together != 0 && results_[step.id - 1].state == StepState::waiting)
      groups_[step.together].open.insert(step.id);
  for (const Step& step : plan_.steps)
    if (step.wave == wave && step.remedy.empty()) consider(step.id);
  start_ready();
  advance_soon();
}

void Runner::run_remedies(const std::set<std::uint32_t>& needed, std::function<void()> done) {
  wave_over_ = std::move(done);
  remedies_ = needed;
  groups_.clear();
  for (const std::uint32_t id : needed) {
    ran_in_[id] = wave_;
    have_room_.erase(id);
  }
  std::map<std::uint32_t, std::size_t> left;  // by number of a barrier: its steps that are needed
  for (const std::uint32_t id : needed)
    for (const std::uint32_t number : next_.barriers[id]) ++left[number];
  for (const auto& [number, count] : left) passing_[number].left = count;
  const auto is_needed = [&needed](std::uint32_t before) { return needed.contains(before); };
  const auto is_left = [&left](std::uint32_t number) { return left.contains(number); };
  for (const std::uint32_t id : needed) {
    const Step& step = plan_.steps[id - 1];
    waits_[id] = static_cast<std::size_t>(std::ranges::count_if(step.after, is_needed) +
                                          std::ranges::count_if(step.after_barriers, is_left));
  }
  for (const std::uint32_t id : needed) consider(id);
  start_ready();
  advance_soon();
}

void Runner::judge(std::uint32_t id, StepState state, const std::string& why) {
  if (results_[id - 1].state != state || results_[id - 1].why != why) set(id, state, why);
}

// A remedy that was refused before it did anything may have come too early; and one that helped, or was not
// needed, may be needed after the next wave.
bool Runner::may_run(const Step& remedy) const {
  const StepResult& result = results_[remedy.id - 1];
  const auto ran = ran_in_.find(remedy.id);
  switch (result.state) {
    case StepState::waiting:
    case StepState::not_needed: return true;
    case StepState::failed: return result.writes == 0 && !result.treated.empty();
    case StepState::done: return ran == ran_in_.end() || ran->second < wave_;
    default: return false;
  }
}

// A step that broke the effect need not have failed.
bool Runner::remedy_follows(const std::string& device, Path effect) const {
  return std::ranges::any_of(plan_.steps, [&](const Step& step) {
    return step.device == device && !step.remedy.empty() && step.wave <= wave_ && is_for(step, effect) &&
           may_run(step) && standing_holds(step, context_.options.approved).empty();
  });
}

std::vector<Step> Runner::tried() const {
  std::vector<Step> steps;
  for (const Step& step : plan_.steps) {
    const StepState state = results_[step.id - 1].state;
    if (!step.remedy.empty() && (state == StepState::done || state == StepState::failed))
      steps.push_back(step);
  }
  return steps;
}

// Nothing depends on a remedy: what comes after it only avoids running beside it.
void Runner::not_begun(std::uint32_t id) {
  plan_.steps[id - 1].remedy.empty() ? skip_dependants(id) : release_dependants(id, false);
}

// Deferred until the callback under way has returned: what has ended may be what others waited for.
void Runner::advance_soon() {
  if (!std::exchange(advances_, true)) context_.executor.defer(callbacks_.bind([this] { advance(); }));
}

void Runner::advance() {
  advances_ = false;
  ended_.clear();
  ended_quiet_.clear();
  start_ready();
  // Nothing can begin that the waiting steps wait for: what works is kept without it.
  if (only_holds())
    for (auto& [number, group] : groups_)
      decide(group, may_begin() ? StepRun::Together::keep : StepRun::Together::undo);
  if (!running_.empty() || check_.under_way() || !await_quiet_.empty()) return;
  if (!ready_.empty() && may_begin()) return advance_soon();  // steps that were over as soon as they began
  if (!may_begin()) skip_from(1, StepState::stopped, context_.options.why_over().value_or("asked to stop"));
  const auto done = std::move(wave_over_);  // which may run the next wave, or end this runner
  if (done) done();
}

void Runner::consider(std::uint32_t id) {
  if (results_[id - 1].state != StepState::waiting) return;
  const Step& step = plan_.steps[id - 1];
  std::string reasons;
  bool only_windows = true;
  bool yields = true;
  for (const Hold& hold : standing_holds(step, context_.options.approved)) {
    reasons += (reasons.empty() ? "" : "; ") + hold.reason;
    const bool is_window = hold.kind == Hold::Kind::window;
    only_windows = only_windows && is_window;
    const std::string_view word = word_of(hold.kind, step.disruption);
    yields = yields && (is_window || !word.empty());
    if (!word.empty()) results_[id - 1].words.emplace(word);
  }
  // A step that arms its device waits for the other end (Group), and its device rolls it back.
  const bool alone = other_ends_[id].empty() || step.undo_after;
  if (!reasons.empty()) {
    results_[id - 1].waits = only_windows;
    results_[id - 1].by_plan = true;
    results_[id - 1].asks = yields && !only_windows;
    set(id, StepState::held, reasons);
    not_begun(id);
  } else if (!alone && context_.unseen.contains(step.device)) {
    set(id, StepState::failed, step.device + " can't be observed");
    not_begun(id);
  } else if (waits_[id] == 0) {
    ready_[step.device].insert(id);
  }
}

void Runner::skip_from(std::uint32_t wave, StepState state, const std::string& why,
                       const std::set<std::uint32_t>& spared) {
  std::vector<std::uint32_t> marked;
  for (const Step& step : plan_.steps) {
    if (step.wave < wave || results_[step.id - 1].state != StepState::waiting || spared.contains(step.id))
      continue;
    set(step.id, state, why);
    marked.push_back(step.id);
  }
  if (!spared.empty())
    for (const std::uint32_t id : marked) skip_dependants(id);
  ready_.clear();
}

bool Runner::wave_failed(std::uint32_t wave) const {
  return std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const Step& step) {
    const StepState state = results_[step.id - 1].state;
    // A remedy that did not help changed nothing that others depend on; its effect stays open.
    return step.wave == wave && step.remedy.empty() &&
           (state == StepState::failed || state == StepState::undone);
  });
}

bool Runner::wave_held(std::uint32_t wave) const {
  return std::ranges::any_of(plan_.steps, [&](const Step& step) {
    return step.wave == wave && results_[step.id - 1].state == StepState::held;
  });
}

void Runner::leave_without_forerunner(std::uint32_t wave) {
  const auto state_of = [this](std::uint32_t id) { return results_[id - 1].state; };
  if (wave_may_begin(plan_, wave, [&](std::uint32_t id) {
        return state_of(id) != StepState::held && state_of(id) != StepState::skipped;
      }))
    return;
  const auto first = std::ranges::find_if(plan_.steps, [&](const Step& step) {
    return step.wave < wave && step.remedy.empty() && state_of(step.id) == StepState::held;
  });
  if (first == plan_.steps.end()) return;
  const std::uint32_t held = first->id;
  const std::string why = "wave " + std::to_string(plan_.steps[held - 1].wave) + " goes first, and step " +
                          std::to_string(held) + " (" + plan_.steps[held - 1].device +
                          ") was held: " + results_[held - 1].why;
  for (const Step& step : plan_.steps)
    if (step.wave >= wave && results_[step.id - 1].state == StepState::waiting)
      leave_alone(step.id, held, why);
}

std::vector<Step> Runner::to_come() const {
  std::set<std::uint32_t> never;
  std::set<std::uint32_t> dropped;  // barriers
  std::deque<std::uint32_t> left;
  const auto waits = [this](std::uint32_t id) { return results_[id - 1].state == StepState::waiting; };
  const auto drop = [&](std::uint32_t id) {
    if (waits(id) && never.insert(id).second) left.push_back(id);
  };
  for (const Step& step : plan_.steps)
    if (!standing_holds(step, context_.options.approved).empty()) drop(step.id);
  for (; !left.empty(); left.pop_front()) {
    for (const OtherEnd& end : other_ends_[left.front()]) drop(end.step);
    for (const std::uint32_t next : next_.of_step[left.front()]) drop(next);
    for (const std::uint32_t number : next_.barriers[left.front()])
      if (dropped.insert(number).second)
        for (const std::uint32_t next : next_.of_barrier[number]) drop(next);
  }
  std::vector<Step> steps;
  for (const Step& step : plan_.steps)
    if (waits(step.id) && !never.contains(step.id)) steps.push_back(step);
  return steps;
}

std::vector<Step> Runner::written() const {
  std::vector<Step> steps;
  for (const Step& step : plan_.steps)
    if (results_[step.id - 1].writes > 0 && step.remedy.empty()) steps.push_back(step);
  return steps;
}

void Runner::start_ready() {
  if (!may_begin()) return;
  for (auto device = ready_.begin(); device != ready_.end();) {
    if (running_.contains(device->first)) {
      ++device;
      continue;
    }
    const std::uint32_t id = *device->second.begin();
    const bool begins = results_[id - 1].state == StepState::waiting;  // not left alone since
    if (begins && waits_for_quiet(id)) {
      await_quiet(id);
      ++device;
      continue;
    }
    if (begins && check_.concerns(plan_.steps[id - 1]) && !have_room_.contains(id)) {
      ++device;
      continue;
    }
    device->second.erase(device->second.begin());
    if (device->second.empty())
      device = ready_.erase(device);
    else if (begins)
      ++device;
    if (begins) begin(id);
  }
  ask_budgets();
}

void Runner::begin(std::uint32_t id) {
  const Step& step = plan_.steps[id - 1];
  auto run = std::make_unique<StepRun>(
      context_, step, results_[id - 1],
      [this, id](bool works) {
        if (works) return holds(id);
        leave_group(id, false);
        return StepRun::Together::undo;
      },
      [this, id](const StepRun::End& end) { over(id, end); });
  StepRun* const begun = run.get();
  running_.emplace(step.device, std::move(run));
  set(id, StepState::running, "");
  begun->start();
}

void Runner::over(std::uint32_t id, const StepRun::End& end) {
  const Step& step = plan_.steps[id - 1];
  const auto at = running_.find(step.device);
  ended_.push_back(std::move(at->second));
  running_.erase(at);
  set(id, end.state, end.why);
  advance_soon();
  const bool good = end.state == StepState::done || end.state == StepState::nothing_to_do;
  leave_group(id, good);
  if (!good && step.remedy.empty()) return skip_dependants(id);
  release_dependants(id, false);
}

// `of_group`: releases only steps of its own group (Step::together), which it waits for.
void Runner::release_dependants(std::uint32_t id, bool of_group) {
  const Step& step = plan_.steps[id - 1];
  const bool again = !of_group && released_.contains(id);
  const bool is_first = of_group || let_go_.insert(id).second;  // a remedy may have several turns
  for (const std::uint32_t next : next_.of_step[id]) {
    const Step& one = plan_.steps[next - 1];
    const bool same = step.together != 0 && one.together == step.together;
    if (of_group ? !same : again && same) continue;
    if (is_first || !one.remedy.empty()) one_less_before(next, step);
  }
  if (is_first || !step.remedy.empty()) pass_barriers(id, of_group);
  if (of_group) released_.insert(id);
}

// Steps that wait at a barrier pass once all of its steps are over; steps of a group pass earlier, when all
// unfinished steps of the barrier are in that group and wait for them.
void Runner::pass_barriers(std::uint32_t id, bool of_group) {
  const Step& step = plan_.steps[id - 1];
  for (const std::uint32_t number : next_.barriers[id]) {
    Passing& at = passing_[number];
    if (of_group) ++at.held[step.together];
    if (!of_group && released_.contains(id)) --at.held[step.together];
    if (!of_group) --at.left;
    for (const auto& [group, held] : at.held) {
      if (at.left == 0 || held != at.left || !at.let_through.insert(group).second) continue;
      for (const std::uint32_t next : next_.of_barrier[number])
        if (plan_.steps[next - 1].together == group) one_less_before(next, step);
    }
    if (at.left != 0) continue;
    for (const std::uint32_t next : next_.of_barrier[number])
      if (!at.let_through.contains(plan_.steps[next - 1].together)) one_less_before(next, step);
  }
}

void Runner::one_less_before(std::uint32_t next, const Step& released) {
  const Step& one = plan_.steps[next - 1];
  if (!one.remedy.empty() && !remedies_.contains(next)) return;  // run_remedies() handles it later, or never
  const bool of_turn = one.wave == released.wave || !one.remedy.empty();
  if (--waits_[next] == 0 && of_turn && results_[next - 1].state == StepState::waiting)
    ready_[one.device].insert(next);
}

StepRun::Together Runner::holds(std::uint32_t id) {
  const auto group = groups_.find(plan_.steps[id - 1].together);
  if (group == groups_.end()) return StepRun::Together::keep;
  group->second.open.erase(id);
  if (group->second.open.empty() && !group->second.failed) {
    decide(group->second, StepRun::Together::keep);
    return StepRun::Together::keep;
  }
  group->second.held.insert(id);
  if (group->second.failed) {
    const std::uint32_t next = take_next_back(group->second);
    if (next == id) return StepRun::Together::undo;
    if (next != 0) go_on(next, StepRun::Together::undo);
    return StepRun::Together::wait;
  }
  if (!released_.contains(id)) release_dependants(id, true);
  advance_soon();
  return StepRun::Together::wait;
}

void Runner::leave_group(std::uint32_t id, bool works) {
  const auto group = groups_.find(plan_.steps[id - 1].together);
  if (group == groups_.end()) return;
  group->second.open.erase(id);
  group->second.held.erase(id);
  if (group->second.going_back == id) group->second.going_back = 0;
  group->second.failed = group->second.failed || !works;
  if (group->second.failed)
    decide(group->second, StepRun::Together::undo);
  else if (group->second.open.empty())
    decide(group->second, StepRun::Together::keep);
}

void Runner::go_on(std::uint32_t id, StepRun::Together decision) {
  running_.at(plan_.steps[id - 1].device)->go_on(decision);
}

void Runner::decide(Group& group, StepRun::Together decision) {
  group.failed = group.failed || decision == StepRun::Together::undo;
  if (!group.failed)
    for (const std::uint32_t id : std::exchange(group.held, {})) go_on(id, StepRun::Together::keep);
  else if (const std::uint32_t next = take_next_back(group); next != 0)
    go_on(next, StepRun::Together::undo);
}

// In a failed group, the last waiting step of the plan, once no step is under way any more: what each step
// disturbs as its device rolls back is back before the next one rolls back. 0: none now.
std::uint32_t Runner::take_next_back(Group& group) {
  const auto is_under_way = [this](std::uint32_t id) { return results_[id - 1].state == StepState::running; };
  if (group.going_back != 0 || group.held.empty() || std::ranges::any_of(group.open, is_under_way)) return 0;
  group.going_back = *group.held.rbegin();
  group.held.erase(group.going_back);
  return group.going_back;
}

// Whether all steps under way wait for others, and none of those can begin.
bool Runner::only_holds() const {
  return !running_.empty() && std::all_of(running_.begin(), running_.end(), [](const auto& one) {
    return one.second->waits_for_others();
  }) && (!may_begin() || std::all_of(ready_.begin(), ready_.end(), [this](const auto& one) {
    return running_.contains(one.first);
  }));
}

// What comes after a failed step does not begin, nor what is tied to it.
void Runner::skip_dependants(std::uint32_t id) {
  const auto named = [this](std::uint32_t of) {
    return "step " + std::to_string(of) + " (" + plan_.steps[of - 1].device + ")";
  };
  const auto state = [this](std::uint32_t of) { return std::string(to_string(results_[of - 1].state)); };
  const std::string first = named(id) + " was " + state(id) + ": " + results_[id - 1].why;
  std::deque<std::uint32_t> undone{id};
  for (; !undone.empty(); undone.pop_front()) {
    const std::uint32_t of = undone.front();
    for (const OtherEnd& end : other_ends_[of]) {
      if (results_[end.step - 1].state != StepState::waiting) continue;
      results_[end.step - 1].other_end = end.here.text();
      leave_alone(end.step, of,
                  end.there.text() + " is not changed without " + end.here.text() +
                      ", the other end of its cable: " + first);
      undone.push_back(end.step);
    }
    const auto skip = [&](std::uint32_t next) {
      if (results_[next - 1].state != StepState::waiting) return;
      leave_alone(next, of, "waits for " + named(of) + ", which was " + state(of));
      undone.push_back(next);
    };
    for (const std::uint32_t next : next_.of_step[of]) skip(next);
    for (const std::uint32_t number : next_.barriers[of])
      for (const std::uint32_t next : std::exchange(next_.of_barrier[number], {})) skip(next);
  }
}

void Runner::leave_alone(std::uint32_t id, std::uint32_t for_step, const std::string& why) {
  results_[id - 1].waits = results_[for_step - 1].waits;
  results_[id - 1].by_plan = results_[for_step - 1].by_plan;
  results_[id - 1].asks = results_[for_step - 1].asks;
  set(id, StepState::skipped, why);
}

void Runner::set(std::uint32_t id, StepState state, const std::string& why) {
  results_[id - 1].state = state;
  results_[id - 1].why = why;
  if (state == StepState::skipped || state == StepState::held || state == StepState::stopped)
    leave_group(id, false);
  if (progress_.step) progress_.step(plan_.steps[id - 1], results_[id - 1]);
}

}  // namespace lockstep
