#include "reconciler/engine/watch.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "specs/model/schema_rows.hpp"

namespace lockstep {

nlohmann::json to_json(const WatchEvent& event) {
  nlohmann::json out;
  if (event.about_leaf()) {
    out = to_json(event.item);
  } else {
    out["device"] = event.item.device;
    if (!event.item.reason.empty()) out["reason"] = event.item.reason;
  }
  out["event"] = to_string(event.kind);
  out["microseconds"] = event.since_event.count();
  return out;
}

bool Damping::changed(const std::string& device, Path path, Time now) {
  Leafs& leaf = leaves_[{device, path.id()}];
  std::erase_if(leaf.changes, [&](Time at) { return now - at > limits_.flap_window; });
  if (leaf.changes.empty()) leaf.heals = 0;  // quiet for a whole window
  leaf.changes.push_back(now);
  return static_cast<int>(leaf.changes.size()) >= limits_.flaps_max;
}

bool Damping::flaps(const std::string& device, Path path, Time now) const {
  const auto found = leaves_.find({device, path.id()});
  if (found == leaves_.end()) return false;
  const auto& changes = found->second.changes;
  const auto recent =
      std::count_if(changes.begin(), changes.end(), [&](Time at) { return now - at <= limits_.flap_window; });
  return recent >= limits_.flaps_max;
}

Time Damping::may_heal_at(const std::string& device, Path path, Time now) const {
  const auto found = leaves_.find({device, path.id()});
  if (found == leaves_.end() || found->second.heals == 0) return now;
  const int doublings = std::min(found->second.heals - 1, 20);  // 2^20 s is past any heal_wait_max
  const auto wait = std::min(limits_.heal_wait_min * (1 << doublings), limits_.heal_wait_max);
  return std::max(now, found->second.last_heal + wait);
}

void Damping::healed(const std::string& device, Path path, Time now) {
  Leafs& leaf = leaves_[{device, path.id()}];
  leaf.last_heal = now;
  ++leaf.heals;
}

namespace {

class Watch {
 public:
  Watch(Fleet& fleet, RealExecutor& executor, const Origins& origins, const Sources& sources,
        const WatchSettings& settings, const std::function<void(const WatchEvent&)>& report,
        std::stop_token stop)
      : fleet_(fleet),
        executor_(executor),
        origins_(origins),
        sources_(sources),
        settings_(settings),
        report_(report),
        stop_(std::move(stop)),
        damping_(settings.damping) {}
  ~Watch() {
    for (const auto& watcher : watchers_) executor_.forget(watcher->descriptor());
    if (poll_timer_ != 0) executor_.cancel(poll_timer_);
    if (heal_timer_ != 0) executor_.cancel(heal_timer_);
    if (gather_timer_ != 0) executor_.cancel(gather_timer_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Result<Done> run() {
    known_.resize(fleet_.size());
    ground_.resize(fleet_.size());
    readable_.assign(fleet_.size(), true);
    for (std::size_t i = 0; i < fleet_.size(); ++i) TRY_DONE(open(i));
    for (std::size_t i = 0; i < fleet_.size(); ++i) wake(i);
    schedule_poll();
    while (!stop_.stop_requested()) {
      if (look_now_) look();
      if (!stop_.stop_requested() && !executor_.step()) break;
    }
    return Done{};
  }

 private:
  using Item = std::pair<Path, DriftState>;

  // Opens the watches before the first look, so that nothing falls in between.
  Result<Done> open(std::size_t device) {
    for (const Attached* attached : fleet_[device].drivers) {
      if (!attached->watch) continue;
      TRY(std::unique_ptr<Watcher> watcher, attached->watch());
      Watcher* const raw = watcher.get();
      watchers_.push_back(std::move(watcher));
      executor_.watch(raw->descriptor(), [this, raw, device] {
        const auto changed = raw->drain();
        // A watch that broke counts as a change.
        if (!changed) executor_.forget(raw->descriptor());
        if (!changed || *changed) wake(device);
      });
    }
    return Done{};
  }

  void wake(std::size_t device) {
    woken_.try_emplace(device, executor_.now());
    if (gather_timer_ != 0) return;
    gather_timer_ = executor_.at(executor_.now() + settings_.gather, [this] {
      gather_timer_ = 0;
      look_now_ = true;
    });
  }

  void schedule_poll() {
    poll_timer_ = executor_.at(executor_.now() + settings_.poll_every, [this] {
      for (std::size_t device = 0; device < fleet_.size(); ++device) wake(device);
      schedule_poll();
    });
  }

  void look() {
    look_now_ = false;
    const std::map<std::size_t, Time> woken = std::exchange(woken_, {});
    ObserveOptions options = settings_.observe;
    options.only.clear();
    for (const auto& [device, since] : woken) options.only.push_back(device);
    if (options.only.empty()) return;
    const std::vector<DeviceState> states = observe(fleet_, executor_, options, stop_);
    if (stop_.stop_requested()) return;
    for (const auto& [device, since] : woken) {
      if (has_moved(device, states[device])) {
        ask_again(device);
        wake(device);
      }
      compare_with_known(device, states[device], since);
    }
    heal();
  }

  // Another boot, or other ports (what can only be found there): what the device can do may be another thing.
  bool has_moved(std::size_t device, const DeviceState& state) {
    if (!state.reachable || !state.errors.empty()) return false;
    std::string ground = state.observation.boot_id;
    for (const Leaf& leaf : state.observation.have.leaves()) {
      const Row& row = schema_row(leaf.path.row());
      if (row.type == LeafType::present && row.takes == Takes::read_only) ground += " " + leaf.path.text();
    }
    const bool moved = !ground_[device].empty() && ground_[device] != ground;
    ground_[device] = std::move(ground);
    return moved;
  }

  void ask_again(std::size_t device) {
    const auto asked = fleet_.refresh(device);
    if (asked) return;
    DriftEntry item;
    item.device = fleet_[device].name;
    item.reason = asked.error().text();
    report_(WatchEvent{WatchEvent::Kind::unreadable, std::move(item), {}});
  }

  void tell(WatchEvent::Kind kind, DriftEntry item, Time since) {
    item.flapping = damping_.flaps(item.device, item.path, executor_.now());
    report_(WatchEvent{kind, std::move(item),
                       std::chrono::duration_cast<std::chrono::microseconds>(executor_.now() - since)});
  }

  void tell_readable(std::size_t device, const DeviceState& state, Time since) {
    const bool readable = state.complete();
    if (readable_[device] == readable) return;
    readable_[device] = readable;
    DriftEntry item;
    item.device = fleet_[device].name;
    if (!readable) item.reason = state.why_incomplete();
    if (!readable && item.reason.empty()) item.reason = "some of it could not be read";
    report_(WatchEvent{readable ? WatchEvent::Kind::readable : WatchEvent::Kind::unreadable, std::move(item),
                       std::chrono::duration_cast<std::chrono::microseconds>(executor_.now() - since)});
  }

  void note_change(const DriftEntry& item, WatchEvent::Kind kind, Time since) {
    const bool before = damping_.flaps(item.device, item.path, executor_.now());
    const bool flaps = damping_.changed(item.device, item.path, executor_.now());
    if (flaps && !before) tell(WatchEvent::Kind::flapping, item, since);
    if (!flaps) tell(kind, item, since);
  }

  void compare_with_known(std::size_t device, const DeviceState& state, Time since) {
    tell_readable(device, state, since);
    if (!state.reachable) return;
    ReportChoice choice;
    choice.overruled = false;
    std::map<Item, DriftEntry> now;
    for (DriftEntry& entry : device_report(fleet_, device, state, origins_, sources_, choice).items)
      if (entry.is_difference()) now.emplace(Item{entry.path, entry.state}, std::move(entry));
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
  void heal() {
    if (!settings_.heal) return;
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
    if (!due.empty()) {
      settings_.heal(due);
      for (const std::size_t device : due) wake(device);
    }
    if (heal_timer_ != 0) executor_.cancel(std::exchange(heal_timer_, 0));
    if (next != Time::max())
      heal_timer_ = executor_.at(next, [this] {
        heal_timer_ = 0;
        for (std::size_t device = 0; device < known_.size(); ++device)
          if (!known_[device].empty()) wake(device);
      });
  }

  Fleet& fleet_;
  RealExecutor& executor_;
  const Origins& origins_;
  const Sources& sources_;
  const WatchSettings& settings_;
  const std::function<void(const WatchEvent&)>& report_;
  std::stop_token stop_;
  Damping damping_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::vector<std::map<Item, DriftEntry>> known_;
  std::vector<bool> readable_;
  std::vector<std::string> ground_;  // by device
  std::map<std::size_t, Time> woken_;
  std::uint64_t gather_timer_ = 0;
  std::uint64_t poll_timer_ = 0;
  std::uint64_t heal_timer_ = 0;
  bool look_now_ = false;
};

}  // namespace

Result<Done> watch(Fleet& fleet, RealExecutor& executor, const Origins& origins, const Sources& sources,
                   const WatchSettings& settings, const std::function<void(const WatchEvent&)>& report,
                   std::stop_token stop) {
  return Watch(fleet, executor, origins, sources, settings, report, std::move(stop)).run();
}

}  // namespace lockstep
