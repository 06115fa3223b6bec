// CommandQueue: how any thread has the engine's thread do something: what is posted runs inside the
// executor's step(), which wakes for it.
//
// Promises: acts run one by one, in the order in which they were posted, after the callback under way;
// post() waits for nobody but another post(). What has not run when the queue goes never does. Refuses
// (transient) where no descriptor is left. Made and ended by the engine's thread, before the executor ends.
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
  std::vector<std::function<void()>> posted_;  // under mutex_; all else is the engine thread's
  CallbackScope callbacks_;
};

}  // namespace lockstep
