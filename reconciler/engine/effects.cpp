#include "reconciler/engine/effects.hpp"

#include <algorithm>

#include "reconciler/engine/step_run.hpp"
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
  if (!step.remedy.empty() && here && change.path == effect) return true;
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

// How many of the entries that some steps wrote are unread, or as they were before.
std::size_t not_shown(const std::vector<const Step*>& steps, const DeviceState& state) {
  std::size_t count = 0;
  for (const Step* const step : steps)
    for (const PlannedChange& change : step->changes)
      count += is_unread(state.observation.unread, change.path) ||
               state.observation.have.value(change.path) == change.was;
  return count;
}

}  // namespace

Effects::Effects(Fleet& fleet, Executor& executor, Ledger& ledger, const ApplyOptions& options)
    : fleet_(fleet), executor_(executor), ledger_(ledger), options_(options) {}

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

void Effects::settle(std::vector<Step> touched, bool all, std::function<void(OpenEffects)> done) {
  settling_ = Settling{};
  settling_->touched = std::move(touched);
  settling_->all = all;
  settling_->done = std::move(done);
  begin_round();
}

void Effects::begin_round() {
  settling_->devices = around(settling_->touched);
  settling_->until = executor_.now() + options_.settle_time;
  settling_->pause = options_.poll_min;
  observe_open();
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
    const std::size_t before = open.size();
    add_open(device, states[device], open, open_before_);
    if (open.size() > before) again.push_back(device);
  }
  if (again.empty() || executor_.now() >= settling_->until || must_stop_) return round_over(std::move(open));
  settling_->devices = std::move(again);
  const auto pause = settling_->pause;
  settling_->pause = std::min(pause * 2, options_.poll_max);
  wait(pause, [this] { observe_open(); });
}

void Effects::round_over(OpenEffects open) {
  const bool last = !settling_->all || settling_->round == kRemedyRounds || must_stop_;
  OpenEffects curable = open;
  curable.insert(curable.end(), open_before_.begin(), open_before_.end());
  if (curable.empty() || last || !try_remedies(curable)) {
    const auto done = std::move(settling_->done);
    settling_.reset();
    return done(std::move(open));
  }
  ++settling_->round;
}

// What could not be read counts where it was there before, or where we wrote; what a neighbour does not
// tell now and did not tell before is none of this change's. Nobody waits for what a maintenance explains.
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

// Whether something that was written or cured may bring it about.
bool Effects::is_awaited(std::size_t device, Path effect) const {
  const std::string& name = fleet_[device].name;
  const auto may = [&](const Step& step) {
    return std::ranges::any_of(step.changes, [&](const PlannedChange& change) {
      return brings_about(step, change, name, effect, fleet_.wiring());
    });
  };
  return std::ranges::any_of(settling_->touched, may) || std::ranges::any_of(settling_->cured, may);
}

bool Effects::may_cure(const OpenEffect& open) const {
  return open.unread.empty() && options_.choice.allows(fleet_[*fleet_.find(open.device)]);
}

bool Effects::is_approved(std::size_t device, const Remedy::Offer& offer) const {
  const Policy* const policy = options_.policy_for ? options_.policy_for(fleet_[device]) : nullptr;
  if (policy == nullptr || options_.approved.lifts(Hold::Kind::approval, offer.disruption)) return true;
  const auto manual = policy->needs_approval.find(offer.disruption);
  return manual == policy->needs_approval.end() || !manual->second;
}

// By the device's own policy.
std::optional<std::string> Effects::why_refused(const Attached& attached, const Change& effect,
                                                const Remedy::Offer& offer) const {
  if (attached.permission == nullptr) return std::nullopt;
  if (auto why = attached.permission->why_not(effect)) return why;
  const bool unasked = !options_.approved.lifts(Hold::Kind::in_person, offer.disruption);
  if (unasked && offer.disruption >= Disruption::traffic) return attached.permission->why_not_unasked();
  return std::nullopt;
}

// False: there is none to try.
bool Effects::try_remedies(const OpenEffects& open) {
  for (const OpenEffect& one : open) {
    if (!may_cure(one)) continue;
    const std::size_t device = *fleet_.find(one.device);
    for (Attached* const attached : fleet_[device].drivers)
      if (attached->remedy != nullptr && try_remedy(one, device, *attached)) break;
  }
  return settling_->remedies_running > 0;
}

// True: this driver has a remedy for it, begun or not.
bool Effects::try_remedy(const OpenEffect& open, std::size_t device, Attached& attached) {
  const auto offer = attached.remedy->offer(open.change);
  if (!offer) return false;
  if (const std::optional<std::string> why = why_refused(attached, open.change, *offer)) {
    notes_.push_back(open.device + ": remedy '" + offer->name + "' for " + open.change.path.text() + ": " +
                     *why);
    return true;
  }
  if (!is_approved(device, *offer)) {
    notes_.push_back(open.device + ": remedy '" + offer->name + "' needs a person's word");
    return true;
  }
  const auto counted =
      count_cure(ledger_, open.device, *offer, executor_.wall_time(), options_.choice.person);
  if (!counted) {
    notes_.push_back(counted.error().what);
    return true;
  }
  ++settling_->remedies_running;
  if (offer->disruption != Disruption::none) cures_.push_back(step_of(open, *offer));
  settling_->cured.push_back(step_of(open, *offer));
  notes_.push_back(open.device + ": remedy '" + offer->name + "' for " + open.change.path.text());
  const std::string about = open.device + ": remedy '" + offer->name + "': ";
  executor_.start(
      Job{.key = open.device,
          .lane = fleet_[device].lane,
          .timeout = options_.apply_timeout,
          .run = [remedy = attached.remedy, change = open.change](
                     const Call& call) { [[maybe_unused]] const auto done = remedy->cure(change, call); },
          .done = callbacks_.bind([this, about](const Outcome& outcome) {
            if (!outcome.reason.empty()) notes_.push_back(about + outcome.reason);
            remedy_over();
          })});
  return true;
}

void Effects::remedy_over() {
  if (--settling_->remedies_running == 0) executor_.defer(callbacks_.bind([this] { begin_round(); }));
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
