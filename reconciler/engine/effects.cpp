#include "reconciler/engine/effects.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "reconciler/engine/runner.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

Step step_of(const OpenEffect& open, const Remedy::Offer& offer) {
  Step step;
  step.device = open.device;
  step.remedy = offer.name;
  step.changes = {{open.change.path, open.change.was, open.change.want, 0, false}};
  return step;
}

// How many of the leaves that some steps wrote are unread, or as they were before.
std::size_t not_shown(const std::vector<const Step*>& steps, const DeviceState& state) {
  std::size_t count = 0;
  for (const Step* const step : steps)
    for (const PlannedChange& change : step->changes)
      count += is_unread(state.observation.unread, change.path) ||
               state.observation.have.value(change.path) == change.was;
  return count;
}

}  // namespace

Effects::Effects(Fleet& fleet, Executor& executor, Ledger& ledger, const ApplyOptions& options,
                 std::stop_token stop)
    : fleet_(fleet), executor_(executor), ledger_(ledger), options_(options), stop_(std::move(stop)) {}

// The devices of some steps and those at the other ends of their cables.
std::vector<std::size_t> Effects::around(const std::vector<Step>& steps) const {
  std::set<std::size_t> devices;
  std::set<std::string> names;
  for (const Step& step : steps) names.insert(step.device);
  for (const std::string& name : names)
    if (const auto index = fleet_.find(name)) devices.insert(*index);
  for (const Cable& cable : fleet_.wiring().cables) {
    if (names.contains(cable.a.device))
      if (const auto index = fleet_.find(cable.b.device)) devices.insert(*index);
    if (names.contains(cable.b.device))
      if (const auto index = fleet_.find(cable.a.device)) devices.insert(*index);
  }
  return {devices.begin(), devices.end()};
}

std::vector<DeviceState> Effects::look_at(std::vector<std::size_t> devices) {
  ObserveOptions look;
  look.timeout = options_.observe_timeout;
  look.only = std::move(devices);
  return observe(fleet_, executor_, look, stop_);
}

// Less when asked to stop.
void Effects::wait(std::chrono::milliseconds how_long) {
  bool over = false;
  const std::uint64_t timer = executor_.at(executor_.now() + how_long, [&over] { over = true; });
  while (!over && !must_stop() && executor_.step()) {
  }
  if (!over) executor_.cancel(timer);
}

void Effects::remember(const std::vector<Step>& steps) {
  const std::vector<std::size_t> devices = around(steps);
  const std::vector<DeviceState> states = look_at(devices);
  for (const std::size_t device : devices)
    for (const Leaf& want : fleet_[device].intent->want.leaves())
      if (schema_row(want.path.row()).facet == Facet::effect &&
          satisfies(want.path.row(), want.value, states[device].observation.have.value(want.path)))
        held_.emplace(device, want.path);
}

std::vector<OpenEffect> Effects::settle(const std::vector<Step>& touched, bool all) {
  for (int round = 0;; ++round) {
    std::vector<OpenEffect> open = wait_for(touched, all);
    if (open.empty() || !all || round == kCureRounds || must_stop() || !cure(open)) return open;
  }
}

std::vector<OpenEffect> Effects::wait_for(const std::vector<Step>& touched, bool all) {
  std::vector<std::size_t> devices = around(touched);
  const Time until = executor_.now() + options_.settle_time;
  std::chrono::milliseconds pause = options_.poll_min;
  while (true) {
    std::vector<OpenEffect> open;
    std::vector<std::size_t> again;
    const std::vector<DeviceState> states = look_at(devices);
    for (const std::size_t device : devices) {
      const std::size_t before = open.size();
      add_open(device, states[device], all, touched, open);
      if (open.size() > before) again.push_back(device);
    }
    if (again.empty() || executor_.now() >= until || must_stop()) return open;
    devices = std::move(again);
    wait(pause);
    pause = std::min(pause * 2, options_.poll_max);
  }
}

// What could not be read counts where it was there before, or where we wrote; what a neighbour does not
// tell now and did not tell before is none of this change's.
void Effects::add_open(std::size_t device, const DeviceState& state, bool all,
                       const std::vector<Step>& touched, std::vector<OpenEffect>& open) const {
  const std::string& name = fleet_[device].name;
  for (const Change& effect : state.difference.effects)
    if (all || held_.contains({device, effect.path})) open.push_back({name, effect, ""});
  const bool ours = all && std::any_of(touched.begin(), touched.end(),
                                       [&name](const Step& step) { return step.device == name; });
  for (const Leaf& want : state.difference.unobserved) {
    if (schema_row(want.path.row()).facet != Facet::effect) continue;
    if (!ours && !held_.contains({device, want.path})) continue;
    open.push_back({name, Change{want.path, {}, want.value, want.origin}, state.why_unread(want.path)});
  }
}

bool Effects::may_cure(const OpenEffect& open) const {
  return open.unread.empty() && options_.choice.allows(fleet_[*fleet_.find(open.device)]);
}

bool Effects::is_approved(std::size_t device, const Remedy::Offer& offer) const {
  const Policy* const policy = options_.policy_for ? options_.policy_for(fleet_[device]) : nullptr;
  if (policy == nullptr || options_.approved.contains(Hold::Kind::approval)) return true;
  const auto manual = policy->needs_approval.find(offer.disruption);
  return manual == policy->needs_approval.end() || !manual->second;
}

// False: nothing to try.
bool Effects::cure(const std::vector<OpenEffect>& effects) {
  bool tried = false;
  std::size_t running = 0;
  for (const OpenEffect& open : effects) {
    if (!may_cure(open)) continue;
    const std::size_t device = *fleet_.find(open.device);
    for (Attached* const attached : fleet_[device].drivers) {
      if (attached->remedy == nullptr) continue;
      const auto offer = attached->remedy->offer(open.change);
      if (!offer) continue;
      if (!is_approved(device, *offer)) {
        notes_.push_back(open.device + ": remedy '" + offer->name + "' needs a person's word");
        break;
      }
      const auto counted =
          count_cure(ledger_, open.device, *offer, executor_.wall_time(), options_.choice.person);
      if (!counted) {
        notes_.push_back(counted.error().what);
        break;
      }
      tried = true;
      ++running;
      if (offer->disruption != Disruption::none) cures_.push_back(step_of(open, *offer));
      notes_.push_back(open.device + ": remedy '" + offer->name + "' for " + open.change.path.text());
      Remedy* const remedy = attached->remedy;
      executor_.start(
          Job{.key = open.device,
              .lane = fleet_[device].lane,
              .deadline = executor_.now() + options_.apply_timeout,
              .run = [remedy, change = open.change](
                         const Call& call) { [[maybe_unused]] const auto done = remedy->cure(change, call); },
              .done = [&running](Outcome) { --running; }});
      break;
    }
  }
  while (running > 0 && executor_.step()) {
  }
  return tried;
}

std::vector<DeviceState> Effects::look_well(const std::vector<Step>& steps) {
  std::map<std::size_t, std::vector<const Step*>> of;
  for (const Step& step : steps)
    if (const auto device = fleet_.find(step.device)) of[*device].push_back(&step);
  std::vector<DeviceState> best = look_at(around(steps));
  std::chrono::milliseconds pause = options_.poll_min;
  for (int look = 1; look < kLooksMax; ++look, pause *= 2) {
    std::vector<std::size_t> again;
    for (const auto& [device, those] : of)
      if (not_shown(those, best[device]) > 0) again.push_back(device);
    if (again.empty()) break;
    wait(pause);
    std::vector<DeviceState> states = look_at(again);
    for (const std::size_t device : again)
      if (not_shown(of[device], states[device]) < not_shown(of[device], best[device]))
        best[device] = std::move(states[device]);
  }
  return best;
}

}  // namespace lockstep
