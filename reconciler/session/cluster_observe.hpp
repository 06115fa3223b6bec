// ClusterObserve: one observation of some devices of a session, as an object that the executor drives.
//
// Promises: answers once, in fleet order; a device with an armed transaction does not count as observed
// completely, and for a leader the transaction has been rolled back; after stop() with what was read so far.
// It is destroyed before the executor and the session.
#pragma once

#include <functional>
#include <vector>

#include "reconciler/engine/observe.hpp"

namespace lockstep {

class ClusterObserve {
 public:
  using Answer = std::vector<DeviceState>;
  // `only`: indices into the fleet; empty: all. `leads`: no other process changes the cluster, and nothing of
  // this one is under way. `seen`: called with the answer first.
  ClusterObserve(Fleet& fleet, Executor& executor, std::vector<std::size_t> only, bool leads,
                 std::function<void(const Answer&)> seen = {});
  ClusterObserve(const ClusterObserve&) = delete;
  ClusterObserve& operator=(const ClusterObserve&) = delete;

  void start(std::function<void(Answer)> done);
  void stop() { round_.stop(); }

 private:
  ObserveRound round_;
  std::function<void(const Answer&)> seen_;
};

}  // namespace lockstep
