// Watch: drift as it happens. Events only wake the loop; what differs is always read back (level-triggered).
//
// Promises: an event has only the devices that it names observed again, one after which events may be missing
// all that its watcher stands for; all of them are read every `poll_every`, as drivers have events for some
// of their rows only; an item is reported when it comes and when it goes; an entry that changes `flaps_max`
// times within `flap_window` is reported as flapping once and healed ever more rarely until it is quiet for a
// whole window. One thing at a time: while it heals, it does not observe. Single-threaded over the executor.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/observe.hpp"
#include "reconciler/engine/status.hpp"

namespace lockstep {

// Counts how often an entry changed. Pure: time is an argument.
class Damping {
 public:
  struct Limits {
    int flaps_max = 4;
    std::chrono::milliseconds flap_window{10'000};
    std::chrono::milliseconds heal_wait_min{1'000};
    std::chrono::milliseconds heal_wait_max{300'000};
  };
  explicit Damping(Limits limits) : limits_(limits) {}
  Damping() : Damping(Limits{}) {}
  // A change of state (came or went) at `now`. True: it flaps.
  bool changed(const std::string& device, Path path, Time now);
  bool flaps(const std::string& device, Path path, Time now) const;
  // When it may be healed: now, or later while it flaps. Each healing doubles the wait until the next, so
  // that what can't be healed is not tried for ever; a quiet window forgets it.
  Time may_heal_at(const std::string& device, Path path, Time now) const;
  void healed(const std::string& device, Path path, Time now);

 private:
  struct Counted {
    std::vector<Time> changes;
    int heals = 0;
    Time last_heal{};
  };
  Limits limits_;
  std::map<std::pair<std::string, std::uint32_t>, Counted> entries_;
};

struct WatchEvent {
  enum class Kind : std::uint8_t { appeared, cleared, flapping, unreadable, readable };
  Kind kind = Kind::appeared;
  DriftEntry item;                           // for unreadable: device and reason only
  std::chrono::microseconds since_event{0};  // from the wake-up to this report

  bool about_entry() const { return kind != Kind::unreadable && kind != Kind::readable; }
};
constexpr auto words(WatchEvent::Kind) {
  return std::to_array<std::string_view>({"drift", "cleared", "flapping", "unreadable", "readable"});
}

struct WatchSettings {
  ObserveOptions observe;
  std::chrono::milliseconds poll_every{30'000};
  std::chrono::milliseconds gather{5};  // events that come together are read together
  Damping::Limits damping;
  // Called with the devices that drift and may be healed now (converge); `healed` goes on. Null: watch only.
  std::function<void(const std::vector<std::size_t>& devices, std::function<void()> healed)> heal;
  // Called with each device that was read, before what differs is reported.
  std::function<void(std::size_t device, const DeviceState& state)> observed{};
};

class Watch {
 public:
  using Answer = Result<Done>;
  // All outlive it.
  Watch(Fleet& fleet, Executor& executor, const Origins& origins, const Sources& sources,
        WatchSettings settings, std::function<void(const WatchEvent&)> report);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // `done`: it was stopped and nothing is under way any more, or it could not begin.
  void start(std::function<void(Answer)> done);
  void stop();

 private:
  using Item = std::pair<Path, DriftState>;
  struct Watched {
    std::shared_ptr<Watcher> watcher;
    std::vector<std::size_t> devices;  // whose drivers answered with it
  };
  Result<Done> open();
  void drain(const Watched& watched);
  void wake(std::size_t device);
  void schedule_poll();
  void gathered();
  void observe();
  void observed(const std::vector<DeviceState>& states);
  void at_rest();
  void end(Answer answer);
  void report_item(WatchEvent::Kind kind, DriftEntry item, Time since);
  void report_readable(std::size_t device, const DeviceState& state, Time since);
  void note_change(const DriftEntry& item, WatchEvent::Kind kind, Time since);
  void compare_with_known(std::size_t device, const DeviceState& state, Time since);
  std::vector<std::size_t> due_for_healing();
  void heal();

  Fleet& fleet_;
  Executor& executor_;
  const Origins& origins_;
  const Sources& sources_;
  const WatchSettings settings_;
  const std::function<void(const WatchEvent&)> report_;
  std::function<void(Answer)> done_;
  Damping damping_;
  std::vector<Watched> watched_;
  std::vector<std::map<Item, DriftEntry>> known_;
  std::vector<bool> readable_;
  std::map<std::size_t, Time> woken_;
  std::map<std::size_t, Time> observing_;  // those of the round under way, and when each was woken
  std::optional<ObserveRound> round_;
  std::uint64_t gather_timer_ = 0;
  std::uint64_t poll_timer_ = 0;
  std::uint64_t heal_timer_ = 0;
  bool busy_ = false;  // observes or heals
  bool due_ = false;   // events were gathered while it was busy
  bool stopping_ = false;
  CallbackScope callbacks_;
};

}  // namespace lockstep
