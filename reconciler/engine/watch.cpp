#include "reconciler/engine/watch.hpp"

#include <algorithm>
#include <utility>

namespace lockstep {

bool Damping::changed(const std::string& device, Path path, Time now) {
  Counted& entry = entries_[{device, path.id()}];
  std::erase_if(entry.changes, [&](Time at) { return now - at > limits_.flap_window; });
  if (entry.changes.empty()) entry.heals = 0;  // quiet for a whole window
  entry.changes.push_back(now);
  return static_cast<int>(entry.changes.size()) >= limits_.flaps_max;
}

bool Damping::flaps(const std::string& device, Path path, Time now) const {
  const auto found = entries_.find({device, path.id()});
  if (found == entries_.end()) return false;
  const auto& changes = found->second.changes;
  const auto recent =
      std::count_if(changes.begin(), changes.end(), [&](Time at) { return now - at <= limits_.flap_window; });
  return recent >= limits_.flaps_max;
}

Time Damping::may_heal_at(const std::string& device, Path path, Time now) const {
  const auto found = entries_.find({device, path.id()});
  if (found == entries_.end() || found->second.heals == 0) return now;
  const int doublings = std::min(found->second.heals - 1, 20);  // 2^20 s is past any heal_wait_max
  const auto wait = std::min(limits_.heal_wait_min * (1 << doublings), limits_.heal_wait_max);
  return std::max(now, found->second.last_heal + wait);
}

void Damping::healed(const std::string& device, Path path, Time now) {
  Counted& entry = entries_[{device, path.id()}];
  entry.last_heal = now;
  ++entry.heals;
}

Watch::Watch(Fleet& fleet, Executor& executor, const Origins& origins, const Sources& sources,
             WatchSettings settings, std::function<void(const WatchEvent&)> report)
    : fleet_(fleet),
      executor_(executor),
      origins_(origins),
      sources_(sources),
      settings_(std::move(settings)),
      report_(std::move(report)),
      damping_(settings_.damping) {}

Watch::~Watch() {
  for (const Watched& one : watched_) executor_.forget(one.watcher->descriptor());
  for (const std::uint64_t timer : {poll_timer_, heal_timer_, gather_timer_})
    if (timer != 0) executor_.cancel(timer);
}

void Watch::start(std::function<void(Answer)> done) {
  done_ = std::move(done);
  known_.resize(fleet_.size());
  readable_.assign(fleet_.size(), true);
  if (const Result<Done> opened = open(); !opened) return end(opened.error());
  for (std::size_t i = 0; i < fleet_.size(); ++i) wake(i);
  schedule_poll();
}

void Watch::stop() {
  if (std::exchange(stopping_, true)) return;
  if (round_) round_->stop();
  if (!busy_) end(Done{});
}

void Watch::end(Answer answer) {
  busy_ = stopping_ = true;
  executor_.defer(callbacks_.bind([this, answer = std::move(answer)] {
    const auto done = std::move(done_);  // which may end this watch
    if (done) done(answer);
  }));
}

// Opens the watches before the first observation, so that nothing falls in between.
Result<Done> Watch::open() {
  for (std::size_t device = 0; device < fleet_.size(); ++device)
    for (const Attached* attached : fleet_[device].drivers) {
      if (!attached->watch) continue;
      TRY(std::shared_ptr<Watcher> watcher, attached->watch());
      const auto same = std::ranges::find(watched_, watcher, &Watched::watcher);
      if (same == watched_.end())
        watched_.push_back({std::move(watcher), {device}});
      else
        same->devices.push_back(device);
    }
  for (std::size_t i = 0; i < watched_.size(); ++i)
    if (Result<Done> watched =
            executor_.watch(watched_[i].watcher->descriptor(), [this, i] { drain(watched_[i]); });
        !watched)
      return wrap(fleet_[watched_[i].devices.front()].name, std::move(watched.error()));
  return Done{};
}

void Watch::drain(const Watched& watched) {
  const Result<Woken> woken = watched.watcher->drain();
  if (!woken) executor_.forget(watched.watcher->descriptor());
  // Of a watch that broke, too, any may have changed.
  if (!woken || woken->all)
    for (const std::size_t device : watched.devices) wake(device);
  if (!woken) return;
  for (const std::string& name : woken->devices)
    if (const auto device = fleet_.find(name)) wake(*device);
}

void Watch::wake(std::size_t device) {
  woken_.try_emplace(device, executor_.now());
  if (gather_timer_ != 0) return;
  gather_timer_ = executor_.at(executor_.now() + settings_.gather, [this] {
    gather_timer_ = 0;
    gathered();
  });
}

void Watch::schedule_poll() {
  poll_timer_ = executor_.at(executor_.now() + settings_.poll_every, [this] {
    for (std::size_t device = 0; device < fleet_.size(); ++device) wake(device);
    schedule_poll();
  });
}

void Watch::gathered() {
  due_ = true;
  if (!busy_) observe();
}

void Watch::observe() {
  due_ = false;
  observing_ = std::exchange(woken_, {});
  ObserveOptions options = settings_.observe;
  options.only.clear();
  for (const auto& [device, since] : observing_) options.only.push_back(device);
  if (options.only.empty()) return;
  busy_ = true;
  round_.emplace(fleet_, executor_, std::move(options));
  round_->start([this](const std::vector<DeviceState>& states) { observed(states); });
}

void Watch::observed(const std::vector<DeviceState>& states) {
  if (stopping_) return at_rest();
  for (const auto& [device, since] : observing_) {
    if (settings_.observed) settings_.observed(device, states[device]);
    compare_with_known(device, states[device], since);
  }
  heal();
}

// Nothing is under way: what came meanwhile is next.
void Watch::at_rest() {
  busy_ = false;
  if (stopping_) return end(Done{});
  if (due_) observe();
}

void Watch::report_item(WatchEvent::Kind kind, DriftEntry item, Time since) {
  item.flapping = damping_.flaps(item.device, item.path, executor_.now());
  report_(WatchEvent{kind, std::move(item),
                     std::chrono::duration_cast<std::chrono::microseconds>(executor_.now() - since)});
}

void Watch::report_readable(std::size_t device, const DeviceState& state, Time since) {
  const bool readable = state.complete();
  if (readable_[device] == readable) return;
  readable_[device] = readable;
  DriftEntry item;
  item.device = fleet_[device].name;
  item.maintenance = fleet_[device].maintenance;
  if (!readable) item.reason = state.why_incomplete();
  if (!readable && item.reason.empty()) item.reason = "some of it could not be read";
  report_(WatchEvent{readable ? WatchEvent::Kind::readable : WatchEvent::Kind::unreadable, std::move(item),
                     std::chrono::duration_cast<std::chrono::microseconds>(executor_.now() - since)});
}

void Watch::note_change(const DriftEntry& item, WatchEvent::Kind kind, Time since) {
  const bool before = damping_.flaps(item.device, item.path, executor_.now());
  const bool flaps = damping_.changed(item.device, item.path, executor_.now());
  if (flaps && !before) report_item(WatchEvent::Kind::flapping, item, since);
  if (!flaps) report_item(kind, item, since);
}

void Watch::compare_with_known(std::size_t device, const DeviceState& state, Time since) {
  report_readable(device, state, since);
  if (!state.reachable) return;
  ReportChoice choice;
  choice.overruled = false;
  std::map<Item, DriftEntry> now;
  for (DriftEntry& entry : device_report(fleet_, device, state, origins_, sources_, choice).items)
    if (entry.differs()) now.emplace(Item{entry.path, entry.state}, std::move(entry));
  auto& known = known_[device];
  for (const auto& [key, entry] : now) {
    const auto found = known.find(key);
    if (found == known.end() || found->second.have != entry.have)
      note_change(entry, WatchEvent::Kind::appeared, since);
  }
  for (const auto& [key, entry] : known)
    if (!now.contains(key) && !is_unread(state.observation.unread, key.first))
      note_change(entry, WatchEvent::Kind::cleared, since);
    else if (!now.contains(key))
      now.emplace(key, entry);
  known = std::move(now);
}

// Devices of which some item may be healed now; the others get their turn when their wait is over.
std::vector<std::size_t> Watch::due_for_healing() {
  const Time now = executor_.now();
  Time next = Time::max();
  std::vector<std::size_t> due;
  for (std::size_t device = 0; device < known_.size(); ++device) {
    if (known_[device].empty()) continue;
    Time latest = now;
    for (const auto& [key, entry] : known_[device])
      latest = std::max(latest, damping_.may_heal_at(entry.device, entry.path, now));
    if (latest > now) {
      next = std::min(next, latest);
      continue;
    }
    due.push_back(device);
    for (const auto& [key, entry] : known_[device]) damping_.healed(entry.device, entry.path, now);
  }
  if (heal_timer_ != 0) executor_.cancel(std::exchange(heal_timer_, 0));
  if (next != Time::max())
    heal_timer_ = executor_.at(next, [this] {
      heal_timer_ = 0;
      for (std::size_t device = 0; device < known_.size(); ++device)
        if (!known_[device].empty()) wake(device);
    });
  return due;
}

void Watch::heal() {
  if (!settings_.heal) return at_rest();
  const std::vector<std::size_t> due = due_for_healing();
  if (due.empty()) return at_rest();
  settings_.heal(due, callbacks_.bind([this, due] {
    for (const std::size_t device : due) wake(device);
    at_rest();
  }));
}

}  // namespace lockstep
