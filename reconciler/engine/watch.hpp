// Watch: drift as it happens. Events only wake the loop; what differs is always read back (level-triggered).
//
// Promises: an event has only the devices that it names observed again, one after which events may be missing
// all that its watcher stands for; all of them are read every `poll_every`, as drivers have events for some
// of their rows only. The first event has its device read at once, those that follow at most once in
// `event_floor`; the last is always followed by a read. A watcher that breaks, or can't be opened yet, is
// opened again, and all that it stands for is read when it broke and when it is back. An item is reported
// when it comes and when it goes; one that changes often is reported as flapping once, one that comes back
// after it was healed is reported so each time from the third on, with how often it came back (damping.hpp).
// Each item has its own time from which it may be healed: its device is due with the first of them, and with
// it those at the other ends of its cables that differ; a healing is of the whole device, so that it counts
// for all items that are there. One healing at a time.
// While it is under way all other devices are observed and reported as ever; those that are healed are not
// read, as what is there then is half made: their events wait, and they are read when it is over.
// Single-threaded over the executor.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/damping.hpp"
#include "reconciler/engine/observe.hpp"
#include "reconciler/engine/status.hpp"

namespace lockstep {

struct WatchEvent {
  enum class Kind : std::uint8_t { appeared, cleared, flapping, unreadable, readable };
  Kind kind = Kind::appeared;
  DriftEntry item;                           // for unreadable: device and reason only
  std::chrono::microseconds since_event{0};  // from the wake-up to this report
  int returns = 0;                           // how often the item came back after it was healed

  bool about_entry() const { return kind != Kind::unreadable && kind != Kind::readable; }
};
constexpr auto words(WatchEvent::Kind) {
  return std::to_array<std::string_view>({"drift", "cleared", "flapping", "unreadable", "readable"});
}

// Devices of a healing that something was tried for. For the others it counts for nothing: another run has
// the cluster, or has brought them to other specs.
using Tried = std::vector<std::size_t>;

struct WatchSettings {
  ObserveOptions observe;
  std::chrono::milliseconds poll_every{30'000};
  std::chrono::milliseconds gather{5};  // events that come together are read together
  // A choice: a storm costs two reads a second of a device, and what changes in it is seen half a second
  // late.
  std::chrono::milliseconds event_floor{500};
  // Of a watcher that broke; doubled up to the second. Choices: a namespace that is replaced is back within
  // some 100 ms, and opening one that is not there takes some 40 us.
  std::chrono::milliseconds reopen_min{100};
  std::chrono::milliseconds reopen_max{1'000};
  // Of devices that were not tried; doubled up to `poll_every`. A choice, as another run has the cluster for
  // seconds at least.
  std::chrono::milliseconds retry_healing{5'000};
  Damping::Limits damping;
  // Called with the devices that drift and may be healed now (converge); `healed` goes on. Null: watch only.
  std::function<void(const std::vector<std::size_t>& devices, std::function<void(const Tried&)> healed)> heal;
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

  // `done`: it was stopped and nothing is under way any more, or no watcher can be opened at all, for a
  // reason that does not pass by itself.
  void start(std::function<void(Answer)> done);
  void stop();
  bool is_healing() const { return healing_.has_value(); }

 private:
  using Item = std::pair<Path, DriftState>;
  struct Source {
    std::size_t device;
    const Attached* driver;
  };
  struct Watched {
    std::shared_ptr<Watcher> watcher;
    std::vector<Source> sources;  // drivers that answered with it
  };
  struct Broken {
    Source source;
    std::chrono::milliseconds wait;  // before the next try
    Time next;
  };
  struct Wake {
    Time since;  // the first of what woke it
    Time due;
    bool by_event;
  };
  struct Healing {
    std::set<std::size_t> devices;
    std::vector<std::pair<std::size_t, Item>> items;  // that were there as it began
  };
  Result<Done> open_all();
  Result<Done> open(const Source& source);
  void drain(std::uint64_t watched);
  void broke(std::uint64_t watched);
  void reopen();
  void schedule_reopen();
  void wake(std::size_t device, bool by_event = false);
  void arm(Time when);
  void arm_next();
  void schedule_poll();
  void observe();
  void observed(const std::vector<DeviceState>& states);
  void end_if_at_rest();
  void end(Answer answer);
  void report_item(WatchEvent::Kind kind, DriftEntry item, Time since);
  void report_readable(std::size_t device, const DeviceState& state, Time since);
  void note_change(const DriftEntry& item, WatchEvent::Kind kind, Time since);
  void compare_with_known(std::size_t device, const DeviceState& state, Time since);
  bool differs(std::size_t device) const;
  Time due_at(std::size_t device, Time now) const;
  std::vector<std::size_t> due_for_healing();
  void schedule_healing(Time next);
  void heal();
  void healed(const Tried& tried);
  void retry_later(std::size_t device, bool tried, Time now);

  Fleet& fleet_;
  Executor& executor_;
  const Origins& origins_;
  const Sources& sources_;
  const WatchSettings settings_;
  const std::function<void(const WatchEvent&)> report_;
  std::function<void(Answer)> done_;
  Damping damping_;
  std::map<std::uint64_t, Watched> watched_;
  std::uint64_t watches_ = 0;  // ever opened
  std::vector<Broken> broken_;
  std::map<const Attached*, std::chrono::milliseconds>
      reopen_wait_;  // of those that broke and said nothing since
  std::vector<std::map<Item, DriftEntry>> known_;
  std::vector<bool> readable_;
  std::vector<Time> heal_after_;                       // by device: where it was not tried
  std::vector<std::chrono::milliseconds> retry_wait_;  // by device: that wait; zero: none since it was tried
  std::vector<Time> after_event_;                      // by device: from when on the next event has it read
  std::map<std::size_t, Wake> woken_;
  std::map<std::size_t, Wake> observing_;  // those of the round under way
  std::optional<ObserveRound> round_;
  std::optional<Healing> healing_;
  std::uint64_t gather_timer_ = 0;
  Time gather_at_{};  // when it fires
  std::uint64_t poll_timer_ = 0;
  std::uint64_t heal_timer_ = 0;
  std::uint64_t reopen_timer_ = 0;
  bool stopping_ = false;
  CallbackScope callbacks_;
};

}  // namespace lockstep
