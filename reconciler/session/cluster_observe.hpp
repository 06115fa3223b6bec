// ClusterObserve: one observation of some devices of a session, as an object that the executor drives.
//
// Promises: answers once, in fleet order; a device with an armed transaction does not count as observed
// completely, and for a leader the transaction has been rolled back; a leader that devices deny reads all of
// them once more if it has proved its leadership; after stop() with what was read so far. It is destroyed
// before the executor and the session.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "reconciler/engine/observe.hpp"

namespace lockstep {

class ClusterObserve {
 public:
  using Answer = std::vector<DeviceState>;
  // `only`: indices into the fleet; empty: all. `leads`: no other process changes the cluster, and nothing of
  // this one is under way. `seen`: called with the answer first. `prove`: called once when all were read;
  // whether this process leads under a higher epoch now. Null: never.
  ClusterObserve(Fleet& fleet, Executor& executor, std::vector<std::size_t> only, bool leads,
                 std::function<void(const Answer&)> seen = {}, std::function<bool()> prove = {});
  ClusterObserve(const ClusterObserve&) = delete;
  ClusterObserve& operator=(const ClusterObserve&) = delete;

  void start(std::function<void(Answer)> done);
  void stop();

 private:
  void observe();
  void observed(Answer states);

  Fleet& fleet_;
  Executor& executor_;
  const ObserveOptions options_;
  const std::function<void(const Answer&)> seen_;
  std::function<bool()> prove_;
  std::function<void(Answer)> done_;
  bool stopped_ = false;
  std::optional<ObserveRound> round_;
};

}  // namespace lockstep
