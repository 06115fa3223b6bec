// Watch: reports drift as it happens. Events only wake the loop; differences are always read back
// (level-triggered).
//
// Promises: an event triggers an observation of the devices that it names; after an event that reports
// possibly lost events, all devices of its watcher are observed. All of them are read every `poll_every`, as
// drivers have events for only some of their rows. The first event triggers a read at once, later ones at
// most once per `event_floor`; the last is always followed by a read. A watcher that breaks, or can't be
// opened yet, is reopened, and all its devices are read when it broke and when it is back. A device that
// could not be read completely is read again after `reread_min`, doubled each time and spread by up to a
// quarter, so that those behind one fault don't come back at once; the poll comes first. One that does not
// answer delays no report of another: each read is passed on in parts, and more begin meanwhile. An item is
// reported when it appears and when it clears; one that changes often is reported as flapping once; one that
// returns after heals is reported each time from the third return on, with the number of returns
// (damping.hpp). Each item has its own earliest time for a heal: its device is due with the first of them,
// together with those at the other ends of its cables that differ; a heal covers the whole device, so it
// counts for all items present. What one read finds is healed together, so after that read, and the first
// heal after all devices were read. One heal at a time: meanwhile all other devices are observed and reported
// as usual; devices being healed are not read, as their state is only half applied: their events wait, and
// they are read when the heal is over. Single-threaded over the executor.
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
  int returns = 0;                           // how often the item returned after a heal

  bool about_entry() const { return kind != Kind::unreadable && kind != Kind::readable; }
};
constexpr auto words(WatchEvent::Kind) {
  return std::to_array<std::string_view>({"drift", "cleared", "flapping", "unreadable", "readable"});
}

// The devices of a heal for which something was tried. For the others the heal does not count: another run
// had the cluster, or brought them to other specs.
using Tried = std::vector<std::size_t>;

struct WatchSettings {
  ObserveOptions observe;
  std::chrono::milliseconds poll_every{30'000};
  std::chrono::milliseconds gather{5};  // events that arrive within this time are read together
  // A choice: an event storm costs two reads per second on a device, and a change during one is seen half a
  // second late.
  std::chrono::milliseconds event_floor{500};
  // A device that differs in another way than before, or can't be read any more, or again, is read once more
  // after this time: for those who believe what two looks agree on. Zero: with the next poll.
  std::chrono::milliseconds confirm_after{0};
  // For a watcher that broke; doubled up to reopen_max. Choices: a namespace that is replaced is back within
  // some 100 ms, and opening one that does not exist takes some 40 us.
  std::chrono::milliseconds reopen_min{100};
  std::chrono::milliseconds reopen_max{1'000};
  // For a device that could not be read completely; doubled up to `poll_every`. Zero: with the next poll.
  std::chrono::milliseconds reread_min{2'000};
  // For devices that were not tried; doubled up to `poll_every`. A choice, as another run has the cluster for
  // seconds at least.
  std::chrono::milliseconds retry_healing{5'000};
  Damping::Limits damping;
  // Called with the devices that drift and may be healed now (converge); `healed` continues. Null: watch
  // only.
  std::function<void(const std::vector<std::size_t>& devices, std::function<void(const Tried&)> healed)> heal;
  // Called with each device that was read and its report, before differences are reported.
  std::function<void(std::size_t device, const DeviceState& state, const DriftReport& report)> observed{};
  std::function<void()> looked{};  // after each read of some devices, and the reports of it
};

class Watch {
 public:
  using Answer = Result<Done>;
  // All arguments outlive this object.
  Watch(Fleet& fleet, Executor& executor, const Origins& origins, const Sources& sources,
        WatchSettings settings, std::function<void(const WatchEvent&)> report);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // `done`: it was stopped and nothing is under way, or no watcher can be opened at all, for a reason that is
  // not transient.
  void start(std::function<void(Answer)> done);
  void stop();
  void look();            // at all devices, now
  void retry_declined();  // devices whose heal was declined are due now
  bool is_healing() const { return healing_.has_value(); }

 private:
  using Item = std::pair<Path, DriftState>;
  struct Source {
    std::size_t device;
    const Attached* driver;
  };
  struct Watched {
    std::shared_ptr<Watcher> watcher;
    std::vector<Source> sources;  // drivers whose watch() returned this watcher
  };
  struct Broken {
    Source source;
    std::chrono::milliseconds wait;  // before the next try
    Time next;
  };
  struct Wake {
    Time since;  // of the first event that woke it
    Time due;
    bool by_event;
  };
  struct Reading {
    std::map<std::size_t, Wake> left{};  // devices that were not passed on
    std::vector<std::size_t> passed{};   // the others
    bool of_silent = false;              // devices that did not answer the last time
    std::unique_ptr<ObserveRound> round{};
  };
  struct Healing {
    std::set<std::size_t> devices;
    std::vector<std::pair<std::size_t, Item>> items;  // present when the heal began
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
  bool may_read(std::size_t device) const;
  void observe();
  void read(std::vector<std::size_t> devices, bool of_silent);
  void observed(std::uint64_t reading, const ObserveRound::Part& part);
  void observed(std::size_t device, const DeviceState& state, const Wake& woken);
  void end_if_at_rest();
  void end(Answer answer);
  void report_item(WatchEvent::Kind kind, DriftEntry item, Time since);
  bool report_readable(std::size_t device, const DeviceState& state, Time since);
  void note_change(const DriftEntry& item, WatchEvent::Kind kind, Time since);
  // Whether it is to be confirmed.
  bool compare_with_known(std::size_t device, const DeviceState& state, DriftReport report, Time since);
  void confirm(std::size_t device);
  void reread_later(std::size_t device, bool complete);
  bool differs(std::size_t device) const;
  Time due_at(std::size_t device, Time now) const;
  std::vector<std::size_t> not_settled() const;
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
  std::uint64_t watches_ = 0;  // opened so far
  std::vector<Broken> broken_;
  std::map<const Attached*, std::chrono::milliseconds>
      reopen_wait_;  // of those that broke and reported nothing since
  std::vector<std::map<Item, DriftEntry>> known_;
  std::vector<bool> readable_;
  std::vector<bool> silent_;                            // did not answer the last time
  std::vector<Time> heal_after_;                        // by device: set when it was not tried
  std::vector<std::chrono::milliseconds> retry_wait_;   // by device: the wait; zero: none since it was tried
  std::vector<std::chrono::milliseconds> reread_wait_;  // by device: the wait; zero: it was read completely
  std::vector<Time> after_event_;                       // by device: the earliest read for the next event
  std::map<std::size_t, Wake> woken_;
  std::map<std::uint64_t, Reading> readings_;  // under way
  std::uint64_t reads_ = 0;                    // begun so far
  std::set<std::size_t> read_now_;             // devices that were not passed on
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
