#include "reconciler/engine/watch.hpp"

#include <algorithm>
#include <utility>

namespace lockstep {

using std::chrono::milliseconds;

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
  for (const auto& [id, one] : watched_) executor_.forget(one.watcher->descriptor());
  for (const std::uint64_t timer : {poll_timer_, heal_timer_, gather_timer_, reopen_timer_})
    if (timer != 0) executor_.cancel(timer);
}

void Watch::start(std::function<void(Answer)> done) {
  done_ = std::move(done);
  known_.resize(fleet_.size());
  readable_.assign(fleet_.size(), true);
  silent_.assign(fleet_.size(), false);
  after_event_.assign(fleet_.size(), Time::min());
  heal_after_.assign(fleet_.size(), Time::min());
  retry_wait_.assign(fleet_.size(), milliseconds::zero());
  reread_wait_.assign(fleet_.size(), milliseconds::zero());
  // Opens the watches before the first observation, so that nothing falls in between.
  if (Result<Done> opened = open_all(); !opened) return end(std::move(opened.error()));
  for (std::size_t i = 0; i < fleet_.size(); ++i) wake(i);
  schedule_poll();
}

void Watch::stop() {
  if (std::exchange(stopping_, true)) return;
  for (const auto& [id, reading] : readings_) reading.round->stop();
  end_if_at_rest();
}

void Watch::look() {
  for (std::size_t device = 0; device < fleet_.size(); ++device) wake(device);
}

void Watch::retry_declined() {
  for (std::size_t device = 0; device < known_.size(); ++device) {
    if (heal_after_[device] <= executor_.now() || !differs(device)) continue;
    retry_wait_[device] = milliseconds::zero();
    heal_after_[device] = Time::min();
    wake(device);
  }
}

void Watch::end_if_at_rest() {
  if (stopping_ && readings_.empty() && !healing_) end(Done{});
}

void Watch::end(Answer answer) {
  stopping_ = true;
  executor_.defer(callbacks_.bind([this, answer = std::move(answer)] {
    const auto done = std::move(done_);  // which may end this watch
    if (done) done(answer);
  }));
}

// A watcher that is unavailable for now is opened later. An error: none can be opened, and the reason is not
// transient.
Result<Done> Watch::open_all() {
  std::optional<Error> stays;
  bool any_may_come = false;
  for (std::size_t device = 0; device < fleet_.size(); ++device)
    for (const Attached* attached : fleet_[device].drivers) {
      if (!attached->watch) continue;
      const Source source{device, attached};
      Result<Done> opened = open(source);
      if (opened) continue;
      if (opened.error().kind == ErrorKind::transient)
        any_may_come = true;
      else if (!stays)
        stays = std::move(opened.error());
      broken_.push_back({source, settings_.reopen_min, executor_.now() + settings_.reopen_min});
    }
  if (stays && watched_.empty() && !any_may_come) return *std::move(stays);
  schedule_reopen();
  return Done{};
}

Result<Done> Watch::open(const Source& source) {
  TRY(std::shared_ptr<Watcher> watcher, source.driver->watch());
  const auto same =
      std::ranges::find_if(watched_, [&](const auto& one) { return one.second.watcher == watcher; });
  if (same != watched_.end()) {
    same->second.sources.push_back(source);
    return Done{};
  }
  const std::uint64_t id = ++watches_;
  if (Result<Done> watched = executor_.watch(watcher->descriptor(), [this, id] { drain(id); }); !watched)
    return wrap(fleet_[source.device].name, std::move(watched.error()));
  watched_.emplace(id, Watched{std::move(watcher), {source}});
  return Done{};
}

void Watch::drain(std::uint64_t watched) {
  const Watched& from = watched_.at(watched);
  const Result<Woken> woken = from.watcher->drain();
  if (!woken) return broke(watched);
  for (const Source& source : from.sources) {
    reopen_wait_.erase(source.driver);
    if (woken->all) wake(source.device, true);
  }
  for (const std::string& name : woken->devices)
    if (const auto device = fleet_.find(name)) wake(*device, true);
}

// When a watch breaks, any of its devices may have changed.
void Watch::broke(std::uint64_t watched) {
  executor_.forget(watched_.at(watched).watcher->descriptor());
  const Watched gone = std::move(watched_.extract(watched).mapped());
  for (const Source& source : gone.sources) {
    const auto [wait, is_first] = reopen_wait_.try_emplace(source.driver, settings_.reopen_min);
    if (!is_first) wait->second = std::min(2 * wait->second, settings_.reopen_max);
    broken_.push_back({source, wait->second, executor_.now() + wait->second});
    wake(source.device, true);
  }
  schedule_reopen();
}

void Watch::reopen() {
  const Time now = executor_.now();
  for (Broken& one : broken_) {
    if (one.next > now) continue;
    if (open(one.source)) {
      wake(one.source.device, true);
      one.source.driver = nullptr;
      continue;
    }
    one.wait = std::min(2 * one.wait, settings_.reopen_max);
    one.next = now + one.wait;
  }
  std::erase_if(broken_, [](const Broken& one) { return one.source.driver == nullptr; });
  schedule_reopen();
}

void Watch::schedule_reopen() {
  if (reopen_timer_ != 0) executor_.cancel(std::exchange(reopen_timer_, 0));
  if (broken_.empty() || stopping_) return;
  const auto first = std::ranges::min_element(broken_, {}, &Broken::next);
  reopen_timer_ = executor_.at(first->next, [this] {
    reopen_timer_ = 0;
    reopen();
  });
}

void Watch::wake(std::size_t device, bool by_event) {
  const Time now = executor_.now();
  const Time due = by_event ? std::max(now, after_event_[device]) : now;
  const auto [woken, is_new] = woken_.try_emplace(device, Wake{now, due, by_event});
  if (!is_new) {
    woken->second.since = std::min(woken->second.since, now);
    woken->second.due = std::min(woken->second.due, due);
    woken->second.by_event = woken->second.by_event || by_event;
  }
  if (may_read(device)) arm(woken->second.due);
}

// Otherwise the end of that read, or of the heal, arms the next one.
bool Watch::may_read(std::size_t device) const {
  return !read_now_.contains(device) && !(healing_ && healing_->devices.contains(device));
}

// Schedules the next read for `when`, but not before events that came together with it are gathered.
void Watch::arm(Time when) {
  if (stopping_) return;
  when = std::max(when, executor_.now() + settings_.gather);
  if (gather_timer_ != 0) {
    if (gather_at_ <= when) return;
    executor_.cancel(gather_timer_);
  }
  gather_at_ = when;
  gather_timer_ = executor_.at(when, [this] {
    gather_timer_ = 0;
    observe();
  });
}

void Watch::arm_next() {
  Time next = Time::max();
  for (const auto& [device, woken] : woken_)
    if (may_read(device)) next = std::min(next, woken.due);
  if (next != Time::max()) arm(next);
}

void Watch::schedule_poll() {
  poll_timer_ = executor_.at(executor_.now() + settings_.poll_every, [this] {
    // A watcher may have ended without reporting it.
    std::vector<std::uint64_t> open;
    for (const auto& [id, watched] : watched_) open.push_back(id);
    for (const std::uint64_t id : open) drain(id);
    look();
    schedule_poll();
  });
}

void Watch::observe() {
  if (stopping_) return;
  std::vector<std::size_t> others;
  std::vector<std::size_t> silent;
  for (const auto& [device, woken] : woken_)
    if (woken.due <= executor_.now() && may_read(device))
      (silent_[device] ? silent : others).push_back(device);
  read(std::move(others), false);
  read(std::move(silent), true);
  arm_next();
}

void Watch::read(std::vector<std::size_t> devices, bool of_silent) {
  if (devices.empty()) return;
  const std::uint64_t id = ++reads_;
  Reading& reading = readings_[id];
  reading.of_silent = of_silent;
  for (const std::size_t device : devices) reading.left.insert(woken_.extract(device));
  read_now_.insert(devices.begin(), devices.end());
  ObserveOptions options = settings_.observe;
  options.only = std::move(devices);
  reading.round = std::make_unique<ObserveRound>(fleet_, executor_, std::move(options));
  reading.round->start_in_parts([this, id](const ObserveRound::Part& part) { observed(id, part); });
}

// What changed together is healed together: when the read that saw it is over. At first, that is when all
// devices were read.
void Watch::observed(std::uint64_t id, const ObserveRound::Part& part) {
  Reading& reading = readings_.at(id);
  std::vector<Wake> woken;
  for (const auto& [device, state] : part.devices) {
    woken.push_back(reading.left.extract(device).mapped());
    read_now_.erase(device);
    reading.passed.push_back(device);
  }
  if (part.is_last) readings_.erase(id);
  for (std::size_t i = 0; i < part.devices.size() && !stopping_; ++i)
    observed(part.devices[i].first, part.devices[i].second, woken[i]);
  if (stopping_) return end_if_at_rest();
  heal();
  arm_next();
  if (settings_.looked) settings_.looked();
}

void Watch::observed(std::size_t device, const DeviceState& state, const Wake& woken) {
  if (woken.by_event) {
    after_event_[device] = executor_.now() + settings_.event_floor;
    const auto again = woken_.find(device);
    if (again != woken_.end() && again->second.by_event) again->second.due = after_event_[device];
  }
  silent_[device] = !state.reachable;
  ReportChoice choice;
  choice.overruled = false;
  DriftReport report = device_report(fleet_, device, state, origins_, sources_, choice);
  if (settings_.observed) settings_.observed(device, state, report);
  if (compare_with_known(device, state, std::move(report), woken.since)) confirm(device);
  reread_later(device, state.complete());
}

void Watch::confirm(std::size_t device) {
  if (settings_.confirm_after == milliseconds::zero()) return;
  const Time due = executor_.now() + settings_.confirm_after;
  woken_.try_emplace(device, Wake{due, due, false});  // one that is there comes first, and serves as well
}

// What will not come by itself costs a read more with each poll at most. Without a driver nothing comes.
void Watch::reread_later(std::size_t device, bool complete) {
  milliseconds& wait = reread_wait_[device];
  if (complete || fleet_[device].drivers.empty() || settings_.reread_min == milliseconds::zero()) {
    wait = milliseconds::zero();
    return;
  }
  wait = std::clamp(2 * wait, settings_.reread_min, std::max(settings_.reread_min, settings_.poll_every));
  // In eight groups, as each read costs something. Which of them does not matter, but a simulation repeats
  // it: 2^64 by the golden ratio (Knuth, TAOCP 3, 6.4) mixes the index.
  const auto group = static_cast<std::int64_t>((device + 1) * 0x9e3779b97f4a7c15ULL >> 61);
  const Time due = executor_.now() + wait + wait * group / 32;
  woken_.try_emplace(device, Wake{due, due, false});
}

void Watch::report_item(WatchEvent::Kind kind, DriftEntry item, Time since) {
  const Time now = executor_.now();
  const int returns = damping_.returns(item.device, item.path, now);
  item.flapping =
      damping_.flaps(item.device, item.path, now) || damping_.is_fought_over(item.device, item.path, now);
  report_(WatchEvent{kind, std::move(item),
                     std::chrono::duration_cast<std::chrono::microseconds>(now - since), returns});
}

// Whether it changed.
bool Watch::report_readable(std::size_t device, const DeviceState& state, Time since) {
  const bool readable = state.complete();
  if (readable_[device] == readable) return false;
  readable_[device] = readable;
  DriftEntry item;
  item.device = fleet_[device].name;
  item.maintenance = fleet_[device].maintenance;
  if (!readable) item.reason = state.why_incomplete();
  if (!readable && item.reason.empty()) item.reason = "some of it could not be read";
  report_(WatchEvent{readable ? WatchEvent::Kind::readable : WatchEvent::Kind::unreadable, std::move(item),
                     std::chrono::duration_cast<std::chrono::microseconds>(executor_.now() - since)});
  return true;
}

void Watch::note_change(const DriftEntry& item, WatchEvent::Kind kind, Time since) {
  const Time now = executor_.now();
  const bool flapped = damping_.flaps(item.device, item.path, now);
  const int returned = damping_.returns(item.device, item.path, now);
  if (kind == WatchEvent::Kind::appeared)
    damping_.came(item.device, item.path, now);
  else
    damping_.went(item.device, item.path, now);
  const bool flaps = damping_.flaps(item.device, item.path, now);
  const bool is_written_back = damping_.returns(item.device, item.path, now) > returned &&
                               damping_.is_fought_over(item.device, item.path, now);
  if (is_written_back || (flaps && !flapped)) return report_item(WatchEvent::Kind::flapping, item, since);
  if (!flaps) report_item(kind, item, since);
}

bool Watch::compare_with_known(std::size_t device, const DeviceState& state, DriftReport report, Time since) {
  bool changed = report_readable(device, state, since);
  if (!state.reachable) return changed;
  std::map<Item, DriftEntry> now;
  for (DriftEntry& entry : report.items)
    if (entry.differs() || entry.state == DriftState::finding)
      now.emplace(Item{entry.path, entry.state}, std::move(entry));
  auto& known = known_[device];
  for (const auto& [key, entry] : now) {
    const auto found = known.find(key);
    if (found != known.end() && found->second.have == entry.have) continue;
    note_change(entry, WatchEvent::Kind::appeared, since);
    changed = true;
  }
  for (const auto& [key, entry] : known) {
    if (now.contains(key)) continue;
    if (is_unread(state.observation.unread, key.first)) {
      now.emplace(key, entry);
    } else {
      note_change(entry, WatchEvent::Kind::cleared, since);
      changed = true;
    }
  }
  known = std::move(now);
  if (!differs(device)) retry_wait_[device] = milliseconds::zero();
  return changed;
}

// Whether something known about the device differs; findings don't count.
bool Watch::differs(std::size_t device) const {
  return std::ranges::any_of(known_[device], [](const auto& one) { return one.second.differs(); });
}

// The earliest time of its items; never, without items that differ.
Time Watch::due_at(std::size_t device, Time now) const {
  Time first = Time::max();
  for (const auto& [key, entry] : known_[device])
    if (entry.differs()) first = std::min(first, damping_.may_heal_at(entry.device, entry.path, now));
  return std::max(first, heal_after_[device]);
}

// Devices whose read is not over, or whose far ends' is not: what must be alike at both ends is not known. Of
// silent devices it is not known anyway.
std::vector<std::size_t> Watch::not_settled() const {
  std::vector<std::size_t> out;
  for (const auto& [id, reading] : readings_) {
    if (reading.of_silent) continue;
    for (const auto& [device, woken] : reading.left) out.push_back(device);
    out.insert(out.end(), reading.passed.begin(), reading.passed.end());
  }
  return fleet_.with_far_ends(out);
}

// Devices with an item that may be healed now, and those that differ at the other ends of their cables, as
// what must be alike is healed at both ends or at neither; the others follow when their first wait is over.
std::vector<std::size_t> Watch::due_for_healing() {
  const Time now = executor_.now();
  Time next = Time::max();
  std::vector<std::size_t> due;
  for (std::size_t device = 0; device < known_.size(); ++device) {
    const Time at = due_at(device, now);
    if (at <= now)
      due.push_back(device);
    else
      next = std::min(next, at);
  }
  schedule_healing(next);
  if (!due.empty() && !readings_.empty()) {  // whose ends come back to them
    const std::vector<std::size_t> wait = not_settled();
    std::erase_if(due, [&](std::size_t device) { return std::ranges::binary_search(wait, device); });
  }
  std::vector<std::size_t> out = fleet_.with_far_ends(due);
  std::erase_if(out, [this](std::size_t device) { return !differs(device) || read_now_.contains(device); });
  return out;
}

// Devices that are due then are read again first.
void Watch::schedule_healing(Time next) {
  if (heal_timer_ != 0) executor_.cancel(std::exchange(heal_timer_, 0));
  if (next == Time::max()) return;
  heal_timer_ = executor_.at(next, [this] {
    heal_timer_ = 0;
    const Time now = executor_.now();
    for (std::size_t device = 0; device < known_.size(); ++device)
      if (due_at(device, now) <= now) wake(device);
  });
}

void Watch::heal() {
  if (!settings_.heal || healing_) return;
  const std::vector<std::size_t> due = due_for_healing();
  if (due.empty()) return;
  healing_.emplace();
  healing_->devices.insert(due.begin(), due.end());
  for (const std::size_t device : due)
    for (const auto& [key, entry] : known_[device])
      if (entry.differs()) healing_->items.emplace_back(device, key);
  settings_.heal(due, callbacks_.bind([this](const Tried& tried) { healed(tried); }));
}

void Watch::healed(const Tried& tried) {
  const Time now = executor_.now();
  const Healing over = *std::exchange(healing_, std::nullopt);
  const std::set<std::size_t> counts(tried.begin(), tried.end());
  for (const auto& [device, item] : over.items)
    if (counts.contains(device)) damping_.healed(fleet_[device].name, item.first, now);
  if (stopping_) return end_if_at_rest();
  for (const std::size_t device : over.devices) {
    retry_later(device, counts.contains(device), now);
    // A second look that is to come anyway stays apart from the first.
    const auto next = woken_.find(device);
    const bool is_soon = next != woken_.end() && next->second.due <= now + settings_.confirm_after;
    if (counts.contains(device) || !is_soon) wake(device);
  }
  arm_next();
}

void Watch::retry_later(std::size_t device, bool tried, Time now) {
  milliseconds& wait = retry_wait_[device];
  if (tried) {
    wait = milliseconds::zero();
    return;
  }
  const milliseconds longest = std::max(settings_.retry_healing, settings_.poll_every);
  wait = std::clamp(2 * wait, settings_.retry_healing, longest);
  heal_after_[device] = now + wait;
}

}  // namespace lockstep
