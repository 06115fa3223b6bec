// TimeKeeper: rolls back in time, on a thread of its own, whatever the rest of the agent waits for.
//
// Contract: from its start to its end keep_time() of the DeadMan runs when something is due, at most a second
// late. The end waits for a try of a rollback that runs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "reconciler/agent/dead_man.hpp"

namespace lockstep::agent {

class TimeKeeper {
 public:
  // Errors (transient): the system has no thread left.
  static Result<std::unique_ptr<TimeKeeper>> start(std::shared_ptr<DeadMan> dead_man, Machine machine);

  // How long a try has been running; 0: none runs. Beyond kStuckAfter, a driver does not return.
  std::chrono::nanoseconds busy_for() const;
  // A try takes kRollbackTry at the most, and waits as long for a running call, which it has asked to stop.
  static constexpr std::chrono::minutes kStuckAfter = 2 * kRollbackTry + std::chrono::minutes(1);

 private:
  TimeKeeper(std::shared_ptr<DeadMan> dead_man, Machine machine)
      : dead_man_(std::move(dead_man)), machine_(std::move(machine)) {}
  void run(const std::stop_token& stop);
  std::chrono::nanoseconds wait() const;

  const std::shared_ptr<DeadMan> dead_man_;
  const Machine machine_;
  std::atomic<std::chrono::steady_clock::time_point> busy_since_{
      std::chrono::steady_clock::time_point::max()};
  std::jthread thread_;  // last: it uses the others until it has ended
};

}  // namespace lockstep::agent
