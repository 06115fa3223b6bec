// Snapshot: the state of a watched cluster for readers, as of one turn of the engine's loop; SnapshotBoard
// publishes the newest one.
//
// Promises: a snapshot never changes, and lives as long as it is referenced; read() may be called on any
// thread while the board lives, and never waits for a device; `generation` increases with each snapshot.
// Everything that one turn of the loop changed appears together. The board is created, written and destroyed
// on the engine's thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/application.hpp"
#include "reconciler/engine/watch.hpp"

namespace lockstep {

// Numbers of a device's entries, by DriftState.
using DriftCounts = std::array<std::uint32_t, words(DriftState{}).size()>;
constexpr std::uint32_t count_of(const DriftCounts& counts, DriftState state) {
  return counts[static_cast<std::size_t>(state)];
}

// What an object of the specs has on a device that is to be reported.
struct ObjectDrift {
  std::string object;  // "Fabric/backend"
  DriftCounts counts{};
  std::uint32_t manual = 0;  // not applied, differs, and requires manual action (DriftEntry::by_hand)
  std::uint32_t differences() const {
    return count_of(counts, DriftState::drifted) + count_of(counts, DriftState::effect) + manual;
  }
};

// Of a device's DriftEntry: a choice, one screen.
inline constexpr std::size_t kItemsKept = 50;

// One device, as of its last observation.
struct DeviceStatus {
  std::string device;
  WallTime observed{};
  bool reachable = false;
  std::string why_incomplete;   // empty if it is complete, or if there is no reason
  std::size_t differences = 0;  // DriftEntry::differs(): of configuration and effects
  std::string maintenance{};    // "until 2026-12-01: optics"; empty: it is in service
  bool complete = false;
  std::string boot_id{};
  Facts facts{};
  DriftCounts counts{};
  std::uint32_t manual = 0;            // as ObjectDrift
  std::vector<DriftEntry> items{};     // the first kItemsKept, those that differ first
  std::vector<ObjectDrift> objects{};  // by name, those that have items
  bool in_sync() const { return complete && differences == 0; }
  std::size_t items_in_all() const { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }
};

// One device of the fleet, whether it was observed or not.
struct NamedDevice {
  std::string name;
  std::string role;                     // as FleetDevice
  std::string why_unattached;           // why it is unreachable from this machine; empty: no reason is known
  Conduct conduct = Conduct::converge;  // as Intent
  std::string set{};                    // as FleetDevice, with what follows
  std::string platform{};
  std::map<std::string, std::string> labels{};
  bool operator==(const NamedDevice&) const = default;
};

using DeviceNames = std::shared_ptr<const std::set<std::string>>;

// Those that a plan has steps for that nothing holds; remedies that only stand by are none.
DeviceNames devices_of(const Plan& plan);

struct ChangeUnderWay {
  std::string author;
  Application::Phase phase = Application::Phase::waiting;
  std::size_t steps = 0;  // of its plan
  DeviceNames devices{};  // of these steps
};

struct Snapshot {
  std::uint64_t generation = 0;
  std::vector<std::shared_ptr<const DeviceStatus>> devices;  // in fleet order; null: not observed, as yet
                                                             // or because it is unreachable from this machine
  std::shared_ptr<const std::vector<NamedDevice>> named;     // in fleet order
  std::optional<ChangeUnderWay> change;
  std::deque<std::shared_ptr<const WatchEvent>> events;  // the newest kEventsKept, oldest first
};

// As many as one page shows.
inline constexpr std::size_t kEventsKept = 100;

class SnapshotBoard {
 public:
  SnapshotBoard(Executor& executor, std::vector<NamedDevice> devices);
  SnapshotBoard(const SnapshotBoard&) = delete;
  SnapshotBoard& operator=(const SnapshotBoard&) = delete;

  std::shared_ptr<const Snapshot> read() const;

  // Called on the engine's thread.
  // `report`: of this device alone (device_report).
  void observed(std::size_t device, const DeviceState& state, const DriftReport& report,
                const std::string& maintenance = {});
  void happened(const WatchEvent& event);
  void change(std::optional<ChangeUnderWay> change);

 private:
  void publish_soon();
  void publish();

  Executor& executor_;
  Snapshot next_;
  bool publishes_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> newest_;  // under mutex_
  CallbackScope callbacks_;
};

}  // namespace lockstep
