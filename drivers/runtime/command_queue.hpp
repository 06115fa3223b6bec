// CommandQueue: lets any thread run a function on the engine's thread: what is posted runs inside the
// executor's step(), which wakes for it.
//
// Promises: functions run one by one, in the order in which they were posted, after the current callback;
// post() blocks only on another post(). Functions that have not run when the queue is destroyed never do.
// Refuses (transient) if no descriptor is available. Created and destroyed on the engine's thread, before the
// executor ends.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/runtime/callback_scope.hpp"
#include "drivers/runtime/executor.hpp"

namespace lockstep {

class CommandQueue {
 public:
  static Result<std::unique_ptr<CommandQueue>> open(Executor& executor);
  ~CommandQueue() { executor_.forget(wake_.number()); }
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  void post(std::function<void()> act);

 private:
  explicit CommandQueue(Executor& executor) : executor_(executor) {}
  void take();

  Executor& executor_;
  WakeDescriptor wake_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // under mutex_; everything else belongs to the engine's thread
  CallbackScope callbacks_;
};

}  // namespace lockstep
