#include "reconciler/engine/budget_check.hpp"

#include <algorithm>
#include <utility>

namespace lockstep {

double BudgetCheck::least_of(const Step& step) const {
  const Policy* const policy = context_.options.policy_of(step, context_.fleet);
  return policy == nullptr ? 0
                           : policy->least_capacity(context_.fleet[*context_.fleet.find(step.device)].role);
}

Outage BudgetCheck::outage_of(const Step& step) const {
  Outage out;
  for (const std::string& one : step.takes_out)
    if (const auto cable = context_.fleet.wiring().cable_at(step.device, one))
      out.cables.push_back(*cable);
    else
      out.devices.push_back(step.device);
  std::sort(out.cables.begin(), out.cables.end());
  return out;
}

bool BudgetCheck::concerns(const Step& step) const {
  return context_.open_changes && context_.fleet.wiring().capacity_left && !step.takes_out.empty() &&
         !context_.options.approved.lifts(Hold::Kind::budget, step) && least_of(step) > 0;
}

void BudgetCheck::ask(std::vector<const Step*> steps, Running running,
                      std::function<void(const Reasons&)> done) {
  steps_ = std::move(steps);
  running_ = std::move(running);
  beside_ = running_();
  done_ = std::move(done);
  until_ = context_.executor.now() + context_.options.settle_time;
  pause_ = context_.options.poll_min;
  observe();
}

BudgetCheck::~BudgetCheck() {
  if (timer_) context_.executor.cancel(*timer_);
}

void BudgetCheck::stop() {
  if (round_) round_->stop();
  if (!timer_) return;
  context_.executor.cancel(*timer_);
  timer_.reset();
  context_.executor.defer(callbacks_.bind([this] { answer({}); }));
}

void BudgetCheck::observe() {
  ObserveOptions options;
  options.timeout = context_.options.observe_timeout;
  for (std::size_t i = 0; i < context_.fleet.size(); ++i)
    if (!context_.fleet[i].drivers.empty()) options.only.push_back(i);
  round_.emplace(context_.fleet, context_.executor, std::move(options));
  round_->start([this](const std::vector<DeviceState>& states) { observed(states); });
}

void BudgetCheck::observed(const std::vector<DeviceState>& states) {
  if (std::vector<const Step*> now = running_(); now != beside_) {
    beside_ = std::move(now);
    until_ = context_.executor.now() + context_.options.settle_time;
  }
  const Reasons reasons = context_.must_end() ? Reasons{} : judge(states);
  if (!reasons.empty() && context_.executor.now() + pause_ < until_) {
    timer_ = context_.executor.at(context_.executor.now() + pause_, callbacks_.bind([this] {
      timer_.reset();
      observe();
    }));
    pause_ = std::min(2 * pause_, context_.options.poll_max);
    return;
  }
  answer(reasons);
}

void BudgetCheck::answer(const Reasons& reasons) {
  const auto done = std::exchange(done_, nullptr);
  done(reasons);
}

BudgetCheck::Reasons BudgetCheck::judge(const std::vector<DeviceState>& states) const {
  const Wiring& wiring = context_.fleet.wiring();
  const OutOfService already = out_of_service(context_.fleet, states, context_.open_changes());
  Outage beside;
  double least = 0;
  const auto add = [&](const Step& step) {
    const Outage own = outage_of(step);
    beside.devices.insert(beside.devices.end(), own.devices.begin(), own.devices.end());
    beside.cables.insert(beside.cables.end(), own.cables.begin(), own.cables.end());
    least = std::max(least, least_of(step));
  };
  for (const Step* const step : beside_) add(*step);
  Reasons reasons;
  for (const Step* const step : steps_) {
    const Outage own = outage_of(*step);
    if (already.covers(own, wiring)) continue;
    const Outage before = beside;
    const double before_least = least;
    add(*step);
    const double left = already.capacity_left(beside, own, wiring);
    if (left >= least) continue;
    reasons[step->id] = budget_reason(step->device, left, least, already, wiring);
    beside = before;
    least = before_least;
  }
  return reasons;
}

}  // namespace lockstep
