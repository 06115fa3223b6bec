// ClusterObserve: one observation of some devices of a session, as an object that the executor drives.
//
// Promises: answers once, in fleet order; one that will undo by itself what it shows now is not observed
// completely, and for a leader it has undone it; after stop() with what was read so far. It ends before the
// executor and the session.
#pragma once

#include <functional>
#include <vector>

#include "reconciler/engine/observe.hpp"

namespace lockstep {

class ClusterObserve {
 public:
  using Answer = std::vector<DeviceState>;
  // `only`: indices into the fleet; empty: all. `leads`: nobody else changes the cluster, and nothing of ours
  // is under way.
  // `seen`: told of the answer first.
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
