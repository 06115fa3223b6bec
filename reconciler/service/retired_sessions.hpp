// RetiredSessions: sessions that a service has no use for any more, until the last of their calls has
// returned.
//
// Promises: a session that is put here is destroyed by sweep() once none of its calls may still run. Declared
// before the executor, it outlives the executor's bodies.
#pragma once

#include <memory>
#include <vector>

#include "drivers/runtime/executor_part.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

// A session with its own part of the executor.
struct ServedSession {
  explicit ServedSession(Executor& whole) : executor(whole) {}
  ExecutorPart executor;
  std::unique_ptr<ClusterSession> session;
};

class RetiredSessions {
 public:
  // Its operations are gone.
  void add(std::shared_ptr<ServedSession> one) { retired_.push_back(std::move(one)); }
  // On the engine's thread.
  void sweep() {
    std::erase_if(retired_, [](const auto& one) { return one->executor.is_idle(); });
  }
  std::size_t size() const { return retired_.size(); }

 private:
  std::vector<std::shared_ptr<ServedSession>> retired_;
};

}  // namespace lockstep
