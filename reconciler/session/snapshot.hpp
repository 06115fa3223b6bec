// Snapshot: the state of a watched cluster for readers, as of one turn of the engine's loop; SnapshotBoard
// publishes the newest one.
//
// Promises: a snapshot never changes, and lives as long as it is referenced; read() may be called on any
// thread while the board lives, and never waits for a device; `generation` increases with each snapshot.
// Everything that one turn of the loop changed appears together. The board is created, written and destroyed
// on the engine's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/application.hpp"
#include "reconciler/engine/watch.hpp"

namespace lockstep {

// One device, as of its last observation.
struct DeviceStatus {
  std::string device;
  WallTime observed{};
  bool reachable = false;
  std::string why_incomplete;   // empty if it is complete, or if there is no reason
  std::size_t differences = 0;  // of configuration and effects
  std::string maintenance{};    // "until 2026-12-01: optics"; empty: it is in service
  bool complete = false;
  bool in_sync() const { return complete && differences == 0; }
};

// One device of the fleet, whether it was observed or not.
struct NamedDevice {
  std::string name;
  std::string role;            // as FleetDevice
  std::string why_unattached;  // why it is unreachable from this machine; empty: no reason is known
};

struct ChangeUnderWay {
  std::string author;
  Application::Phase phase = Application::Phase::waiting;
  std::size_t steps = 0;  // of its plan
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
  void observed(std::size_t device, const DeviceState& state, const std::string& maintenance = {});
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
