// The remedies of a plan: which ones run, their outcomes, and which ones a new plan would have.
#include <algorithm>
#include <map>
#include <utility>

#include "reconciler/engine/application.hpp"
#include "reconciler/engine/remedies.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {

// Remedies that may run now if they are needed: of this wave or an earlier one.
std::vector<Step> Application::remedies_left() const {
  std::vector<Step> out;
  for (const Step& step : plan_.steps)
    if (!step.remedy.empty() && step.wave <= wave_ && runner_->may_run(step)) out.push_back(step);
  return out;
}

// Open effects of a remedy's device that it may be needed for. A remedy that stands by is for what the
// changes broke; an effect that was open before may still appear until the last wave is over.
ChangeSet Application::open_for(const Step& remedy, std::size_t device) const {
  ChangeSet open = effects_.open_of(remedy.device);
  if (remedy.stands_by() && wave_ < plan_.waves())
    std::erase_if(open, [&](const Change& one) { return !effects_.held(device, one.path); });
  return treatable(fleet_, device, remedy, open);
}

void Application::carry_out_remedies() {
  std::set<std::uint32_t> needed;
  std::set<std::uint32_t> later;  // effects that other remedies bring about
  for (const Step& step : remedies_left()) {
    const auto device = fleet_.find(step.device);
    if (device && !open_for(step, *device).empty()) (step.if_open.empty() ? needed : later).insert(step.id);
  }
  if (needed.empty()) needed = std::move(later);
  if (needed.empty() || remedy_rounds_ == kRemedyRounds || must_stop()) return judge_wave();
  ++remedy_rounds_;
  for (const std::uint32_t id : needed) runner_->judge(id, StepState::waiting, "");
  enter(Phase::write);
  runner_->run_remedies(needed, [this] { must_stop() ? waves_over() : verify_wave(); });
}

// By the effects, which were awaited since: they show more than how a remedy ended.
void Application::judge_remedies() {
  for (const Step& step : plan_.steps) {
    const StepResult& result = runner_->results()[step.id - 1];
    if (step.remedy.empty() || (result.state != StepState::done && result.state != StepState::failed))
      continue;
    const ChangeSet& all = effects_.open_of(step.device);
    const auto open = std::ranges::find_if(all, [&result](const Change& one) {
      return std::ranges::find(result.treated, one.path) != result.treated.end();
    });
    if (open != all.end() && result.state == StepState::done && !runner_->may_run(step))
      runner_->judge(step.id, StepState::failed,
                     "it did not help: " + open->path.text() + " is " + open->was.to_string());
    if (open == all.end() && result.state == StepState::failed && !result.treated.empty())
      runner_->judge(step.id, result.writes > 0 ? StepState::done : StepState::not_needed,
                     "what it is for came back: " + result.why);
  }
}

// Marks the remedies that were never needed.
void Application::remedies_over() {
  for (const Step& step : remedies_left())
    if (runner_->results()[step.id - 1].state == StepState::waiting)
      runner_->judge(step.id, StepState::not_needed, "");
  for (const Step& step : plan_.steps)
    if (const StepResult& result = runner_->results()[step.id - 1]; !step.remedy.empty())
      report_.notes.insert(report_.notes.end(), result.notes.begin(), result.notes.end());
}

// Reports remedies that are not in the plan and so do not run: a new plan will have them.
void Application::note_unplanned_remedies() {
  const auto is_planned = [this](const std::string& device, const std::string& driver,
                                 const std::string& remedy) {
    return std::ranges::any_of(plan_.steps, [&](const Step& step) {
      return step.device == device && step.driver == driver && step.remedy == remedy;
    });
  };
  std::map<std::string, std::set<std::string>> devices;  // by driver and remedy
  const auto add = [&](const OpenEffect& open) {
    const auto device = fleet_.find(open.device);
    if (!device || !open.unread.empty() || !options_.choice.allows(fleet_[*device])) return;
    for (std::size_t d = 0; d < fleet_[*device].drivers.size(); ++d) {
      const Remedy* const remedy = fleet_[*device].drivers[d]->remedy;
      const Traits* const traits = fleet_.carriers(*device).traits(d);
      if (remedy == nullptr || traits == nullptr) continue;
      const auto offer = remedy->offer(open.change);
      if (!offer) continue;
      if (!is_planned(open.device, traits->driver, offer->name))
        devices[traits->driver + " remedy " + offer->name].insert(open.device);
      return;
    }
  };
  for (const OpenEffect& open : report_.effects) add(open);
  for (const OpenEffect& open : report_.open_before) add(open);
  for (const auto& [remedy, those] : devices)
    report_.notes.push_back(fold_hostlist({those.begin(), those.end()}) + ": " + remedy +
                            " may help, and is not in this plan: run \"lockstep plan\" again");
}

}  // namespace lockstep
