#include <algorithm>
#include <map>
#include <set>

#include "reconciler/engine/step_order.hpp"
#include "reconciler/engine/steps.hpp"

namespace lockstep {
namespace {

// Earlier batches that are tried before a new one is opened: limits the number of capacity questions.
constexpr std::size_t kBatchesTried = 8;

// Steps that may be out of service at once.
struct Batch {
  std::vector<std::size_t> steps;
  std::set<std::string> groups;
  std::set<std::string> devices;
  std::set<std::uint32_t> cables;
  double least = 0;  // the strictest share that any of them requires
};

class Budgets {
 public:
  Budgets(const PlanInput& input, OrderedDrafts& drafts)
      : input_(input), steps_(drafts.steps), barriers_(drafts.barriers) {
    for (const DeviceInput& device : input_.devices) device_[device.name] = &device;
  }

  void lay() {
    level_.assign(steps_.size() + 1, 0);
    Before levels(
        barriers_, std::size_t{0}, [this](std::uint32_t id) { return level_[id]; },
        [](std::size_t a, std::size_t b) { return std::max(a, b); });
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Step& step = steps_[i].step;
      std::size_t level = levels.of(step);
      if (counts(steps_[i])) level = place(i, std::max(level, first_of_wave(step)));
      level_[step.id] = level;
    }
    for (std::size_t b = 1; b < batches_.size(); ++b)
      if (!is_first_of_wave(b)) chain(b);
  }

 private:
  const DeviceInput& device_of(std::size_t step) const { return *device_.at(steps_[step].step.device); }

  // A step that touches only what is already out of service takes nothing away, and may restore it.
  double least_of(std::size_t step) const {
    const DeviceInput& device = device_of(step);
    return device.policy == nullptr || takes_nothing(step) ? 0 : device.policy->least_capacity(device.role);
  }
  bool takes_nothing(std::size_t step) const {
    return input_.wiring != nullptr && !input_.out_of_service.empty() &&
           input_.out_of_service.covers(with({}, step), *input_.wiring);
  }
  std::string group_of(std::size_t step) const {
    const DeviceInput& device = device_of(step);
    if (device.policy == nullptr || !device.policy->by_group || input_.wiring == nullptr) return "";
    const auto found = input_.wiring->redundancy_group.find(device.name);
    return found == input_.wiring->redundancy_group.end() ? "" : found->second;
  }
  bool counts(const StepDraft& draft) const {
    if (!draft.step.live || draft.step.disruption < Disruption::traffic) return false;
    const auto index = static_cast<std::size_t>(&draft - steps_.data());
    return least_of(index) > 0 || !group_of(index).empty();
  }

  // Level b + 1 stands for batch b; level 0 for no batch. Remedies come after everything else in their wave,
  // and nothing waits for one that may not be needed.
  std::size_t first_of_wave(const Step& step) {
    const auto [found, is_new] =
        wave_start_.try_emplace({step.wave, !step.remedy.empty()}, batches_.size() + 1);
    return found->second;
  }
  bool is_first_of_wave(std::size_t batch) const {
    return std::any_of(wave_start_.begin(), wave_start_.end(),
                       [batch](const auto& one) { return one.second == batch + 1; });
  }

  Outage with(const Batch& batch, std::size_t step) const {
    std::set<std::string> devices = batch.devices;
    std::set<std::uint32_t> cables = batch.cables;
    if (steps_[step].whole_device) devices.insert(steps_[step].step.device);
    cables.insert(steps_[step].cables.begin(), steps_[step].cables.end());
    return Outage{{devices.begin(), devices.end()}, {cables.begin(), cables.end()}};
  }
  double left(std::size_t step, const Outage& outage) const {
    return input_.wiring != nullptr && input_.wiring->capacity_left
               ? input_.out_of_service.capacity_left(outage, with({}, step), *input_.wiring)
               : 1.0;
  }

  bool fits(const Batch& batch, std::size_t step) const {
    const std::string group = group_of(step);
    const bool here_already = std::any_of(batch.steps.begin(), batch.steps.end(), [&](std::size_t other) {
      return steps_[other].step.device == steps_[step].step.device;
    });
    if (!group.empty() && batch.groups.contains(group) && !here_already) return false;
    const double least = std::max(batch.least, least_of(step));
    return least <= 0 || left(step, with(batch, step)) >= least;
  }

  std::size_t place(std::size_t step, std::size_t level) {
    const std::size_t from = std::max(
        level, batches_.size() > kBatchesTried ? batches_.size() - kBatchesTried + 1 : std::size_t{1});
    for (std::size_t l = from; l <= batches_.size(); ++l)
      if (fits(batches_[l - 1], step)) return put(step, l);
    batches_.push_back({});
    const double least = least_of(step);
    if (const double alone = left(step, with(batches_.back(), step)); least > 0 && alone < least)
      steps_[step].step.holds.push_back(
          {Hold::Kind::budget,
           budget_reason(steps_[step].step.device, alone, least, input_.out_of_service, *input_.wiring)});
    return put(step, batches_.size());
  }

  std::size_t put(std::size_t step, std::size_t level) {
    Batch& batch = batches_[level - 1];
    const Outage outage = with(batch, step);
    batch.devices = {outage.devices.begin(), outage.devices.end()};
    batch.cables = {outage.cables.begin(), outage.cables.end()};
    batch.least = std::max(batch.least, least_of(step));
    if (const std::string group = group_of(step); !group.empty()) batch.groups.insert(group);
    batch.steps.push_back(step);
    return level;
  }

  void chain(std::size_t batch) {
    std::vector<std::uint32_t> all;  // ids
    for (const std::size_t before : batches_[batch - 1].steps) all.push_back(steps_[before].step.id);
    std::sort(all.begin(), all.end());
    const std::vector<std::size_t>& waiting = batches_[batch].steps;
    if (barrier_pays(all.size(), waiting.size())) {
      barriers_.push_back({std::move(all)});
      const auto number = static_cast<std::uint32_t>(barriers_.size());
      for (const std::size_t step : waiting) steps_[step].step.after_barriers.push_back(number);
      return;
    }
    for (const std::size_t step : waiting) {
      auto& after = steps_[step].step.after;
      after.insert(after.end(), all.begin(), all.end());
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
    }
  }

  const PlanInput& input_;
  std::vector<StepDraft>& steps_;
  std::vector<Barrier>& barriers_;
  std::map<std::string, const DeviceInput*> device_;
  std::vector<std::size_t> level_;  // by step id
  std::vector<Batch> batches_;
  // The level of the first batch of a wave, and of its remedies.
  std::map<std::pair<std::uint32_t, bool>, std::size_t> wave_start_;
};

// Renumbers the steps, so that every step has a larger id than those that it comes after. Until then ids are
// places.
void renumber(OrderedDrafts& drafts) {
  std::vector<StepDraft>& steps = drafts.steps;
  const NextSteps next = next_steps(steps, drafts.barriers, &StepDraft::step);
  std::vector<std::size_t> waits{0};  // by id
  std::vector<std::size_t> left{0};   // by number of a barrier: its steps without a new id
  for (const StepDraft& draft : steps)
    waits.push_back(draft.step.after.size() + draft.step.after_barriers.size());
  for (const Barrier& barrier : drafts.barriers) left.push_back(barrier.after.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> ready;  // wave, id
  for (const StepDraft& draft : steps)
    if (waits[draft.step.id] == 0) ready.emplace(draft.step.wave, draft.step.id);
  const auto one_less = [&](const std::vector<std::uint32_t>& those) {
    for (const std::uint32_t id : those)
      if (--waits[id] == 0) ready.emplace(steps[id - 1].step.wave, id);
  };
  std::vector<StepDraft> sorted;
  std::vector<std::uint32_t> new_id(steps.size() + 1, 0);
  sorted.reserve(steps.size());
  while (!ready.empty()) {
    const std::uint32_t id = ready.begin()->second;
    ready.erase(ready.begin());
    sorted.push_back(std::move(steps[id - 1]));
    new_id[id] = static_cast<std::uint32_t>(sorted.size());
    one_less(next.of_step[id]);
    for (const std::uint32_t number : next.barriers[id])
      if (--left[number] == 0) one_less(next.of_barrier[number]);
  }
  const auto rename = [&new_id](std::vector<std::uint32_t>& ids) {
    for (std::uint32_t& id : ids) id = new_id[id];
    std::sort(ids.begin(), ids.end());
  };
  for (StepDraft& draft : sorted) {
    draft.step.id = new_id[draft.step.id];
    rename(draft.step.after);
    if (draft.step.together != 0) draft.step.together = new_id[draft.step.together];
  }
  for (Barrier& barrier : drafts.barriers) rename(barrier.after);
  steps = std::move(sorted);
}

}  // namespace

void lay_budgets(const PlanInput& input, OrderedDrafts& drafts) {
  Budgets(input, drafts).lay();
  renumber(drafts);
}

}  // namespace lockstep
