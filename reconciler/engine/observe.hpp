// ObserveRound: reads many devices at once and compares each with its intent.
//
// Promises: every driver of every chosen device is read, again if the error is transient; until its traits
// are known, the same job reads those too; what a driver did not answer for is unread, never absent; armed
// transactions on a device are reported, and for a leader rolled back before anything else is planned. A
// round that is started in parts passes on what was read after kPassOn at the latest, whatever other devices
// take. Single-threaded over the executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/fleet.hpp"

namespace lockstep {

struct ObserveOptions {
  std::chrono::milliseconds timeout{10'000};  // per driver
  int tries = 2;                              // for transient errors
  std::vector<std::size_t> only;              // indices into the fleet; empty: all
  // For a leader with nothing under way: armed transactions were left by a run that ended before it settled
  // them.
  bool undoes_armed = false;
};

// One driver's reply, read on a worker thread. Shared with the worker, which may outlive the round.
struct DriverReply {
  std::optional<Result<Traits>> traits;  // none: they were known
  Result<Observation> seen = Error{ErrorKind::transient, "not asked"};

  // `is_known`: its traits are known.
  void observe(Driver& driver, bool is_known, const Scope& scope, const Call& call);
};

using DriverAnswers = std::vector<Result<Observation>>;

class ObserveRound {
 public:
  using Answer = std::vector<DeviceState>;  // in fleet order
  ObserveRound(Fleet& fleet, Executor& executor, ObserveOptions options = {});
  ~ObserveRound();
  ObserveRound(const ObserveRound&) = delete;
  ObserveRound& operator=(const ObserveRound&) = delete;

  // What was read since the last part, in fleet order. Only the last one may end the round.
  struct Part {
    std::vector<std::pair<std::size_t, DeviceState>> devices;  // by index into the fleet
    bool is_last = false;
  };
  // A choice: readers do work that grows with the fleet for each part.
  static constexpr std::chrono::milliseconds kPassOn{50};

  // Reads all devices at once, each on its own lane.
  void start(std::function<void(Answer)> done);
  void start_in_parts(std::function<void(Part)> some);
  // Cancels the calls under way: returns what was read so far; the rest is unreachable with
  // ErrorKind::cancelled.
  void stop();

 private:
  struct Reading {
    std::shared_ptr<const Scope> scope;
    DriverAnswers answers;
    std::size_t open = 0;  // calls under way
  };
  void observe(std::size_t device, std::size_t driver, int attempt);
  void answered(std::size_t device, std::size_t driver, int attempt, DriverReply& reply,
                const Outcome& outcome);
  void undo_armed(std::size_t device, std::size_t driver, int attempt);
  void ended(std::size_t device);
  void pass_on();

  Fleet& fleet_;
  Executor& executor_;
  const ObserveOptions options_;
  std::function<void(Part)> some_;
  std::map<std::size_t, Reading> reading_;                // by device: the chosen ones
  std::vector<std::size_t> ended_;                        // devices to be passed on
  std::size_t left_ = 0;                                  // devices that have not ended
  std::uint64_t timer_ = 0;                               // for what has ended, while some are left
  std::set<std::pair<std::size_t, std::size_t>> undone_;  // device, driver: transactions rolled back there
  std::vector<std::uint64_t> jobs_;
  bool stopped_ = false;
  CallbackScope callbacks_;
};

// Merges the drivers' answers for one device, one answer each, compares the result with the intent, and
// separates what is not applicable. A device without a driver is unreachable, with the reason.
DeviceState compare(const FleetDevice& device, const Carriers& carriers, DriverAnswers answers);

}  // namespace lockstep
