// ObserveRound: reads many devices at once and compares each with its intent.
//
// Promises: every driver of every chosen device is read, again if the error is transient; until its traits
// are known, the same job reads those too; what a driver did not answer for is unread, never absent; armed
// transactions on a device are reported, and for a leader rolled back before anything else is planned.
// Single-threaded over the executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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

  // Reads all devices at once, each on its own lane.
  void start(std::function<void(Answer)> done);
  // Cancels the calls under way: returns what was read so far; the rest is unreachable with
  // ErrorKind::cancelled.
  void stop();

 private:
  void observe(std::size_t device, std::size_t driver, int attempt);
  void answered(std::size_t device, std::size_t driver, int attempt, DriverReply& reply,
                const Outcome& outcome);
  void undo_armed(std::size_t device, std::size_t driver, int attempt);
  void finish_if_last();
  void finish();

  Fleet& fleet_;
  Executor& executor_;
  const ObserveOptions options_;
  std::function<void(Answer)> done_;
  std::vector<bool> chosen_;                              // by device
  std::vector<std::shared_ptr<const Scope>> scopes_;      // by device
  std::vector<DriverAnswers> answers_;                    // by device
  std::set<std::pair<std::size_t, std::size_t>> undone_;  // device, driver: transactions rolled back there
  std::vector<std::uint64_t> jobs_;
  std::size_t open_ = 0;
  bool stopped_ = false;
  CallbackScope callbacks_;
};

// Merges the drivers' answers for one device, one answer each, compares the result with the intent, and
// separates what is not applicable. A device without a driver is unreachable, with the reason.
DeviceState compare(const FleetDevice& device, const Carriers& carriers, DriverAnswers answers);

}  // namespace lockstep
