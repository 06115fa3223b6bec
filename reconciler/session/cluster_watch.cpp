#include "reconciler/session/cluster_watch.hpp"

#include <algorithm>
#include <utility>

#include "reconciler/engine/refused_writes.hpp"
#include "reconciler/session/applied_specs.hpp"
#include "reconciler/session/owed.hpp"

namespace lockstep {

namespace {

std::vector<NamedDevice> named_devices(const Fleet& fleet) {
  std::vector<NamedDevice> out;
  for (std::size_t i = 0; i < fleet.size(); ++i)
    out.push_back({.name = fleet[i].name,
                   .role = fleet[i].role,
                   .why_unattached = fleet[i].unattached ? fleet[i].unattached->text() : std::string(),
                   .conduct = fleet[i].intent != nullptr ? fleet[i].intent->conduct : Conduct::observe,
                   .set = fleet[i].set,
                   .platform = fleet[i].platform,
                   .labels = fleet[i].labels});
  return out;
}

// What could not be read may be.
bool may_be_misconfigured(const DeviceState& state, const DriftReport& report) {
  return !state.complete() || std::ranges::any_of(report.items, [](const DriftEntry& one) {
    return one.differs() && one.state != DriftState::effect;
  });
}

}  // namespace

ClusterWatch::ClusterWatch(WatchGround ground, WatchRequest request)
    : ground_(std::move(ground)),
      request_(std::move(request)),
      board_(ground_.executor, named_devices(ground_.fleet)),
      problems_(ground_.fleet, ground_.executor, request_.problems, request_.problems_most),
      watch_(ground_.fleet, ground_.executor, ground_.origins, ground_.sources, settings(),
             [this](const WatchEvent& event) { report(event); }) {}

WatchSettings ClusterWatch::settings() {
  WatchSettings settings;
  settings.poll_every = request_.poll_every;
  settings.confirm_after = request_.confirm_after;
  settings.looked = request_.looked;
  settings.observed = [this](std::size_t device, const DeviceState& state, const DriftReport& report) {
    const FleetDevice& one = ground_.fleet[device];
    if (const std::string why = why_unread(state); why.empty())
      unread_.erase(device);
    else
      unread_[device] = why;
    if (may_be_misconfigured(state, report))
      misconfigured_.insert(device);
    else
      misconfigured_.erase(device);
    if (!one.drivers.empty()) board_.observed(device, state, report, one.maintenance);
    problems_.observed(device, report);
  };
  if (request_.converge)
    settings.heal = [this](const std::vector<std::size_t>& devices,
                           std::function<void(const Tried&)> healed) { heal(devices, std::move(healed)); };
  return settings;
}

void ClusterWatch::start(std::function<void(Answer)> done) { watch_.start(std::move(done)); }

void ClusterWatch::stop() {
  stopped_ = true;
  watch_.stop();
  if (round_) round_->stop();
  if (application_) application_->stop();
}

void ClusterWatch::heal(const std::vector<std::size_t>& devices, std::function<void(const Tried&)> healed) {
  go_on_ = std::move(healed);
  healing_ = {};
  choice_ = {};
  choice_.person = false;
  devices_ = devices;
  silent_.clear();
  const Result<std::unique_ptr<Store>> read = ground_.read_store();
  if (!read) return no_plan(read.error());
  if (Result<Done> stood = stand_back(**read); !stood) return no_plan(std::move(stood.error()));
  if (request_.admits && !devices_.empty()) admit();
  if (devices_.empty()) return go_on_({});
  ObserveOptions options;
  options.only = ground_.fleet.with_far_ends(devices_);
  application_.reset();
  round_.emplace(ground_.fleet, ground_.executor, std::move(options));
  round_->start([this](const std::vector<DeviceState>& states) { observed(states); });
}

// Only devices under mode: converge change automatically.
void ClusterWatch::observed(const std::vector<DeviceState>& states) {
  if (stopped_) return go_on_({});
  for (const std::size_t device : devices_)
    if (!states[device].reachable) silent_.insert(device);
  if (Result<Plan> plan = plan_of(states, {}, {}); plan)
    healing_.plan = *std::move(plan);
  else
    return no_plan(std::move(plan.error()));
  if (healing_.plan.empty()) return go_on_(tried());
  if (Result<Done> led = lead(); !led) {
    healing_.locked = std::move(led.error());
    return healing_over();
  }
  // Checked again: another run may have held the lock meanwhile.
  const std::size_t chosen = devices_.size();
  if (Result<Done> stood = stand_back(*store_); !stood) return no_plan(std::move(stood.error()));
  if (devices_.empty()) return not_begun();
  Result<std::vector<RefusedWrite>> refused = store_->history().refused();
  if (!refused) return no_plan(std::move(refused.error()));
  Result<std::vector<OwedChange>> open = open_changes(*store_);
  if (!open) return no_plan(std::move(open.error()));
  // Changes that are not validated yet count in its budgets, and what a gate rolled back is held.
  if (!open->empty() || !refused->empty() || devices_.size() != chosen) {
    Result<Plan> plan = plan_of(states, *open, *refused);
    if (!plan) return no_plan(std::move(plan.error()));
    healing_.plan = *std::move(plan);
    if (healing_.plan.empty()) return not_begun();
  }
  ApplyOptions options;
  options.choice = choice_;
  options.author = request_.author;
  options.reason = "drift";
  options.is_heal = true;
  options.policy_for = ground_.policies;
  options.before_writing = ground_.before_writing;
  options.open = *std::move(open);
  options.epoch = &ground_.epoch;
  application_.emplace(ground_.fleet, ground_.executor, store_->history(), healing_.plan, std::move(options),
                       progress());
  step_devices_ = devices_of(healing_.plan);
  application_->start([this](ApplyReport report) {
    healing_.report = std::move(report);
    board_.change(std::nullopt);
    if (healing_.report.verdict == ApplyVerdict::taken_over) raise_epoch();
    healing_over();
  });
}

// Leaves devices that were brought to other specs, or to none, out of the heal.
Result<Done> ClusterWatch::stand_back(Store& store) {
  TRY(const std::vector<std::size_t> others,
      applied_otherwise(ground_.fleet, ground_.origins, devices_, request_.only_applied, store.blobs()));
  std::vector<std::string> newly;
  const PlanChoice heals_itself{.person = false, .only = {}};
  for (const std::size_t device : devices_)
    if (!std::ranges::binary_search(others, device)) stood_back_.erase(device);
  for (const std::size_t device : others)
    if (heals_itself.allows(ground_.fleet[device]) && stood_back_.insert(device).second)
      newly.push_back(ground_.fleet[device].name);
  std::erase_if(devices_, [&](std::size_t device) { return std::ranges::binary_search(others, device); });
  choose();
  if (!newly.empty() && request_.stands_back) request_.stands_back(newly);
  return Done{};
}

void ClusterWatch::admit() {
  std::set<std::size_t> only_effects(devices_.begin(), devices_.end());
  for (const std::size_t device : misconfigured_) only_effects.erase(device);
  devices_ = request_.admits(std::move(devices_), only_effects);
  choose();
}

void ClusterWatch::choose() {
  choice_.only.clear();
  for (const std::size_t device : devices_) choice_.only.push_back(ground_.fleet[device].name);
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
  lasts_ = led.lasts;
  return Done{};
}

void ClusterWatch::report(const WatchEvent& event) {
  board_.happened(event);
  problems_.happened();
  if (request_.event) request_.event(event);
}

void ClusterWatch::note_change() {
  board_.change(ChangeUnderWay{request_.author, application_->phase(), application_->plan().steps.size(),
                               step_devices_});
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

void ClusterWatch::no_plan(Error why) {
  healing_.no_plan = std::move(why);
  healing_over();
}

// Nothing was left to do once the lock was held.
void ClusterWatch::not_begun() {
  release();
  go_on_(tried());
}

void ClusterWatch::healing_over() {
  release();
  if (request_.healed) request_.healed(healing_);
  go_on_(healing_.locked ? Tried() : tried());
}

// A device that did not answer was not tried.
Tried ClusterWatch::tried() const {
  Tried out = devices_;
  std::erase_if(out, [this](std::size_t device) { return silent_.contains(device); });
  return out;
}

// As ClusterSession::prove_leadership(): the next heal has a higher epoch, if this process still holds the
// store.
void ClusterWatch::raise_epoch() {
  const std::uint64_t accepted = ground_.epoch.highest_of_others(ground_.epoch.leader().epoch + kEpochsAhead);
  if (accepted == 0 || std::exchange(has_raised_, true)) return;
  const Result<std::uint64_t> raised = store_->leadership().raise_above(accepted);
  if (!raised) healing_.report.notes.push_back(raised.error().text());
}

// What is observed from now on is observed by nobody who leads: others may have led meanwhile.
void ClusterWatch::release() {
  if (store_ && !lasts_) ground_.epoch.resign();
  machine_locks_.clear();
  store_.reset();
}

}  // namespace lockstep
