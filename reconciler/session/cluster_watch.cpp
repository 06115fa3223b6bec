#include "reconciler/session/cluster_watch.hpp"

#include <utility>

#include "reconciler/engine/refused_writes.hpp"
#include "reconciler/session/owed.hpp"

namespace lockstep {

ClusterWatch::ClusterWatch(WatchGround ground, WatchRequest request)
    : ground_(std::move(ground)),
      request_(std::move(request)),
      board_(ground_.executor, ground_.fleet.size()),
      watch_(ground_.fleet, ground_.executor, ground_.origins, ground_.sources, settings(),
             [this](const WatchEvent& event) { report(event); }) {}

WatchSettings ClusterWatch::settings() {
  WatchSettings settings;
  settings.observed = [this](std::size_t device, const DeviceState& state) {
    const FleetDevice& one = ground_.fleet[device];
    if (const std::string why = why_unread(state); why.empty())
      unread_.erase(device);
    else
      unread_[device] = why;
    if (!one.drivers.empty()) board_.observed(device, state, one.maintenance);
  };
  if (request_.converge)
    settings.heal = [this](const std::vector<std::size_t>& devices, std::function<void()> healed) {
      heal(devices, std::move(healed));
    };
  return settings;
}

void ClusterWatch::start(std::function<void(Answer)> done) { watch_.start(std::move(done)); }

void ClusterWatch::stop() {
  stopped_ = true;
  watch_.stop();
  if (round_) round_->stop();
  if (application_) application_->stop();
}

void ClusterWatch::heal(const std::vector<std::size_t>& devices, std::function<void()> healed) {
  go_on_ = std::move(healed);
  healing_ = {};
  choice_ = {};
  choice_.person = false;
  for (const std::size_t index : devices) choice_.only.push_back(ground_.fleet[index].name);
  ObserveOptions options;
  options.only = ground_.fleet.with_far_ends(devices);
  application_.reset();
  round_.emplace(ground_.fleet, ground_.executor, std::move(options));
  round_->start([this](const std::vector<DeviceState>& states) { observed(states); });
}

// What may happen by itself is what the specs put under mode: converge.
void ClusterWatch::observed(const std::vector<DeviceState>& states) {
  if (stopped_) return go_on_();
  const auto no_plan = [this](Error why) {
    healing_.no_plan = std::move(why);
    healing_over();
  };
  if (Result<Plan> plan = plan_of(states, {}, {}); plan)
    healing_.plan = *std::move(plan);
  else
    return no_plan(std::move(plan.error()));
  if (healing_.plan.empty()) return go_on_();
  if (Result<Done> led = lead(); !led) {
    healing_.locked = std::move(led.error());
    return healing_over();
  }
  Result<std::vector<RefusedWrite>> refused = store_->history().refused();
  if (!refused) return no_plan(std::move(refused.error()));
  Result<std::vector<OwedChange>> open = open_changes(*store_);
  if (!open) return no_plan(std::move(open.error()));
  // What is not judged yet counts in its budgets, and what a gate had undone is held.
  if (!open->empty() || !refused->empty()) {
    Result<Plan> plan = plan_of(states, *open, *refused);
    if (!plan) return no_plan(std::move(plan.error()));
    healing_.plan = *std::move(plan);
  }
  ApplyOptions options;
  options.choice = choice_;
  options.author = request_.author;
  options.reason = "drift";
  options.policy_for = ground_.policies;
  options.before_writing = ground_.before_writing;
  options.open = *std::move(open);
  application_.emplace(ground_.fleet, ground_.executor, store_->history(), healing_.plan, std::move(options),
                       progress());
  application_->start([this](ApplyReport report) {
    healing_.report = std::move(report);
    board_.change(std::nullopt);
    healing_over();
  });
}

Result<Plan> ClusterWatch::plan_of(const std::vector<DeviceState>& states,
                                   const std::vector<OwedChange>& open,
                                   const std::vector<RefusedWrite>& refused) const {
  PlanInput input =
      input_of(ground_.fleet, states, ground_.origins, ground_.sources, ground_.policies, choice_, open);
  for (const auto& [device, why] : unread_)  // devices that are not healed now are not read now
    if (!states[device].reachable) input.devices[device].unread = why;
  input.undone_before = undone_before(refused, choice_.person);
  return make_plan(input);
}

Result<Done> ClusterWatch::lead() {
  TRY(Lead led, ground_.lead(request_.command));
  if (const auto ended = recover_in_flight(led.store->history()); !ended) return ended.error();
  store_ = std::move(led.store);
  machine_locks_ = std::move(led.machines);
  return Done{};
}

void ClusterWatch::report(const WatchEvent& event) {
  board_.happened(event);
  if (request_.event) request_.event(event);
}

void ClusterWatch::note_change() {
  board_.change(ChangeUnderWay{request_.author, application_->phase(), application_->plan().steps.size()});
}

Progress ClusterWatch::progress() {
  Progress progress = request_.progress;
  progress.step = [this](const Step& step, const StepResult& result) {
    note_change();
    if (request_.progress.step) request_.progress.step(step, result);
  };
  progress.phase = [this](std::string_view what) {
    note_change();
    if (request_.progress.phase) request_.progress.phase(what);
  };
  return progress;
}

void ClusterWatch::healing_over() {
  machine_locks_.clear();
  store_.reset();
  if (request_.healed) request_.healed(healing_);
  go_on_();
}

}  // namespace lockstep
