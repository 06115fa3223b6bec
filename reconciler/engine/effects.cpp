#include "reconciler/engine/effects.hpp"

#include <algorithm>

#include "reconciler/engine/new_ends.hpp"
#include "reconciler/engine/remedies.hpp"
#include "reconciler/engine/step_run.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

bool is_part_of_what(const Row& change, Path written, const Row& effect, Path wanted) {
  return !change.refers_to.empty() && effect.is_part_of(change.refers_to) && written.key_count() > 0 &&
         wanted.key_count() > 0 && written.key(0) == wanted.key(0);
}

// Whether a change of a step may bring about an effect of a device, its own or a neighbour.
bool brings_about(const Step& step, const PlannedChange& change, const std::string& device, Path effect,
                  const Wiring& wiring) {
  const Row& wanted = schema_row(effect.row());
  const Row& written = schema_row(change.path.row());
  const bool here = step.device == device;
  if (here && is_part_of_what(written, change.path, wanted, effect)) return true;
  switch (wanted.follows) {
    case Follows::device:
      return here && (written.power == Power::runs_code || written.disruption >= Disruption::reset);
    case Follows::link: {
      const auto at = change.path.key_count() > 0 ? wiring.cable_at(step.device, change.path.key(0))
                                                  : std::optional<std::uint32_t>();
      if (at) return at == wiring.cable_at(device, effect.key(0));
      const PortName* const far = wiring.peer(device, effect.key(0));
      const bool at_an_end = here || (far != nullptr && far->device == step.device);
      return at_an_end && (written.disruption >= Disruption::traffic || written.facet == Facet::effect);
    }
    case Follows::network: return written.disruption >= Disruption::traffic || written.facet == Facet::effect;
  }
  return true;
}

// What a remedy brings about spreads as far as a change of the same effects would.
bool remedy_brings_about(const Step& step, const std::string& device, Path effect) {
  if (step.device == device && is_for(step, effect)) return true;
  return !step.if_open.empty() && schema_row(effect.row()).follows == Follows::network;
}

// How many of the entries that some steps wrote are unread, or still have their old value.
std::size_t not_shown(const std::vector<const Step*>& steps, const DeviceState& state) {
  std::size_t count = 0;
  for (const Step* const step : steps)
    for (const PlannedChange& change : step->changes)
      count += is_unread(state.observation.unread, change.path) ||
               state.observation.have.value(change.path) == change.was;
  return count;
}

}  // namespace

Effects::Effects(Fleet& fleet, Executor& executor, const ApplyOptions& options)
    : fleet_(fleet), executor_(executor), options_(options) {}

Effects::~Effects() {
  if (timer_) executor_.cancel(*timer_);
}

// The devices of some steps and those at the other ends of their cables.
std::vector<std::size_t> Effects::around(const std::vector<Step>& steps) const {
  std::set<std::size_t> devices;
  for (const Step& step : steps)
    if (const auto index = fleet_.find(step.device)) devices.insert(*index);
  return fleet_.with_far_ends({devices.begin(), devices.end()});
}

void Effects::observe(std::vector<std::size_t> devices, std::function<void(States)> done) {
  ObserveOptions options;
  options.timeout = options_.observe_timeout;
  options.only = std::move(devices);
  round_.emplace(fleet_, executor_, std::move(options));
  round_->start(std::move(done));
  if (must_stop_) round_->stop();
}

void Effects::wait(std::chrono::milliseconds how_long, std::function<void()> then) {
  after_wait_ = std::move(then);
  if (must_stop_) return wait_over();
  timer_ = executor_.at(executor_.now() + how_long, callbacks_.bind([this] { wait_over(); }));
}

void Effects::wait_over() {
  timer_.reset();
  executor_.defer(callbacks_.bind([then = std::exchange(after_wait_, {})] { then(); }));
}

void Effects::stop() {
  if (holds_out_ || std::exchange(must_stop_, true)) return;
  if (round_) round_->stop();
  if (!timer_) return;
  executor_.cancel(*timer_);
  wait_over();
}

void Effects::remember(const std::vector<Step>& steps,
                       std::function<void(std::set<std::string> unseen)> done) {
  std::vector<std::size_t> devices = around(steps);
  observe(devices, [this, devices, done = std::move(done)](const States& states) {
    std::set<std::string> unseen;
    for (const std::size_t device : devices) {
      if (!states[device].reachable) unseen.insert(fleet_[device].name);
      for (const Entry& want : fleet_[device].intent->want.entries())
        if (schema_row(want.path.row()).facet == Facet::effect &&
            satisfies(want.path.row(), want.value, states[device].observation.have.value(want.path)))
          held_.emplace(device, want.path);
      for (const Change& effect : states[device].difference.effects) were_open_.emplace(device, effect.path);
    }
    done(std::move(unseen));
  });
}

void Effects::settle(std::vector<Step> touched, const std::vector<Step>& remedies, bool all,
                     std::function<void(OpenEffects)> done) {
  settling_ = Settling{};
  settling_->devices = around(joined(touched, remedies));
  settling_->touched = std::move(touched);
  settling_->all = all;
  settling_->done = std::move(done);
  settling_->until = executor_.now() + options_.settle_time;
  settling_->pause = options_.poll_min;
  open_before_.clear();
  open_of_.clear();
  observe_open();
}

const ChangeSet& Effects::open_of(const std::string& device) const {
  static const ChangeSet kNone;
  const auto found = open_of_.find(device);
  return found == open_of_.end() ? kNone : found->second;
}

void Effects::observe_open() {
  observe(settling_->devices, [this](const States& states) { observed_open(states); });
}

void Effects::observed_open(const States& states) {
  OpenEffects open;
  std::vector<std::size_t> again;
  std::erase_if(open_before_, [&](const OpenEffect& one) {
    return std::ranges::find(settling_->devices, *fleet_.find(one.device)) != settling_->devices.end();
  });
  for (const std::size_t device : settling_->devices) {
    ChangeSet& now = open_of_[fleet_[device].name];
    now.clear();
    for (const Change& effect : states[device].difference.effects)
      if (maintenance_of(fleet_, device, states[device], effect).empty()) now.push_back(effect);
    const std::size_t before = open.size();
    add_open(device, states[device], open, open_before_);
    if (open.size() > before) again.push_back(device);
  }
  if (again.empty() || executor_.now() >= settling_->until || must_stop_ || options_.why_over())
    return settled(std::move(open));
  settling_->devices = std::move(again);
  const auto pause = settling_->pause;
  settling_->pause = std::min(pause * 2, options_.poll_max);
  wait(pause, [this] { observe_open(); });
}

void Effects::settled(OpenEffects open) {
  const auto done = std::move(settling_->done);
  settling_.reset();
  done(std::move(open));
}

// An effect that could not be read counts as open if it was there before, or if we wrote there; what a
// neighbour does not report now and did not report before is not due to this change. Effects explained by a
// maintenance are not awaited.
void Effects::add_open(std::size_t device, const DeviceState& state, OpenEffects& open,
                       OpenEffects& before) const {
  const std::string& name = fleet_[device].name;
  const bool all = settling_->all;
  for (const Change& effect : state.difference.effects) {
    if (!all && !held_.contains({device, effect.path})) continue;
    if (!maintenance_of(fleet_, device, state, effect).empty()) continue;
    const bool stands = were_open_.contains({device, effect.path}) && !is_awaited(device, effect.path);
    (stands ? before : open).push_back({name, effect, ""});
  }
  const std::vector<Step>& touched = settling_->touched;
  const bool ours = all && std::any_of(touched.begin(), touched.end(),
                                       [&name](const Step& step) { return step.device == name; });
  for (const Entry& want : state.difference.unobserved) {
    if (schema_row(want.path.row()).facet != Facet::effect) continue;
    if (!ours && !held_.contains({device, want.path})) continue;
    open.push_back({name, Change{want.path, {}, want.value, want.origin}, state.why_unread(want.path)});
  }
}

// Whether something that was written or remedied may bring it about.
bool Effects::is_awaited(std::size_t device, Path effect) const {
  return may_bring_about(settling_->touched, fleet_[device].name, effect);
}

bool Effects::may_bring_about(const std::vector<Step>& steps, const std::string& device, Path effect) const {
  return std::ranges::any_of(steps, [&](const Step& step) {
    if (!step.remedy.empty() && remedy_brings_about(step, device, effect)) return true;
    return std::ranges::any_of(step.changes, [&](const PlannedChange& change) {
      return brings_about(step, change, device, effect, fleet_.wiring());
    });
  });
}

Effects::GoesWith Effects::goes_with(std::vector<Step> undone) const {
  NewEnds new_with_it = new_ends(undone, fleet_);
  return [this, ends = std::move(new_with_it), undone = std::move(undone)](const std::string& device,
                                                                           Path effect) {
    const bool is_figure = schema_row(effect.row()).type == EntryType::integer;
    return (is_figure && may_bring_about(undone, device, effect)) || comes_with(ends, fleet_, device, effect);
  };
}

void Effects::forget_what_goes_with(const std::vector<Step>& undone) {
  const GoesWith goes = goes_with(undone);
  std::erase_if(held_, [&](const auto& one) { return goes(fleet_[one.first].name, one.second); });
}

void Effects::forget_what_came_with(const std::vector<Step>& undone) {
  forget_what_goes_with(undone);
  std::vector<Step> making = undone;
  for (Step& step : making)
    std::erase_if(step.changes, [](const PlannedChange& change) {
      return change.was || schema_row(change.path.row()).type != EntryType::present;
    });
  std::erase_if(held_,
                [&](const auto& one) { return may_bring_about(making, fleet_[one.first].name, one.second); });
}

void Effects::observe_written(std::vector<Step> steps, std::function<void(States)> done) {
  reading_ = Reading{};
  reading_->steps = std::move(steps);
  for (const Step& step : reading_->steps)
    if (const auto device = fleet_.find(step.device)) reading_->steps_of[*device].push_back(&step);
  reading_->pause = options_.poll_min;
  reading_->done = std::move(done);
  observe(around(reading_->steps), [this](States states) {
    reading_->best = std::move(states);
    reading_->observations = 1;
    read_again();
  });
}

void Effects::read_again() {
  std::vector<std::size_t> again;
  for (const auto& [device, those] : reading_->steps_of)
    if (not_shown(those, reading_->best[device]) > 0) again.push_back(device);
  if (again.empty() || reading_->observations == kReadsMax) return reading_over();
  wait(reading_->pause, [this, again] {
    observe(again, [this, again](States states) {
      for (const std::size_t device : again) {
        const auto& those = reading_->steps_of[device];
        if (not_shown(those, states[device]) < not_shown(those, reading_->best[device]))
          reading_->best[device] = std::move(states[device]);
      }
      ++reading_->observations;
      reading_->pause *= 2;
      read_again();
    });
  });
}

void Effects::reading_over() {
  const auto done = std::move(reading_->done);
  States best = std::move(reading_->best);
  reading_.reset();
  done(std::move(best));
}

}  // namespace lockstep
