// ObserveRound: reads many devices at once and compares each with its intent.
//
// Promises: every driver of every chosen device is asked, again where the error may pass by itself; the first
// time for its traits too, in the same job, until they are known; what a driver did not answer for is unread,
// never absent; what is armed on a device is told, and for a leader undone before anything else is planned
// on. Single-threaded over the executor.
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
  std::chrono::milliseconds timeout{10'000};  // for each driver
  int tries = 2;                              // of transient errors
  std::vector<std::size_t> only;              // indices into the fleet; empty: all
  // Of a leader under whom nothing is under way: what is armed was left by a run that ended before it
  // settled.
  bool undoes_armed = false;
};

// What one driver of a device said, as a worker has it asked. Shared with the worker, which may outlive the
// question.
struct DriverReply {
  std::optional<Result<Traits>> traits;  // none: they were known
  Result<Observation> seen = Error{ErrorKind::transient, "not asked"};

  // `is_known`: its traits.
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

  // All at once, each device on its own lane.
  void start(std::function<void(Answer)> done);
  // Ends the calls under way: what was read so far, the rest unreachable with ErrorKind::cancelled.
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
  std::set<std::pair<std::size_t, std::size_t>> undone_;  // device, driver: what was armed there
  std::vector<std::uint64_t> jobs_;
  std::size_t open_ = 0;
  bool stopped_ = false;
  CallbackScope callbacks_;
};

// Merges what the drivers of one device told, one answer for each, compares, and sets apart what can't be
// there. Of a device without a driver: not reachable, and why.
DeviceState compare(const FleetDevice& device, const Carriers& carriers, DriverAnswers answers);

}  // namespace lockstep
