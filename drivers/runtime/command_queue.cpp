#include "drivers/runtime/command_queue.hpp"

#include <utility>

namespace lockstep {

Result<std::unique_ptr<CommandQueue>> CommandQueue::open(Executor& executor) {
  std::unique_ptr<CommandQueue> queue(new CommandQueue(executor));
  if (!queue->wake_) return Error{ErrorKind::transient, "no descriptor is left to wake the engine with"};
  TRY_DONE(executor.watch(queue->wake_.number(), [raw = queue.get()] { raw->take(); }));
  return queue;
}

void CommandQueue::post(std::function<void()> act) {
  {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(act));
  }
  wake_.signal();
}

void CommandQueue::take() {
  wake_.clear();
  std::vector<std::function<void()>> acts;
  {
    const std::scoped_lock lock(mutex_);
    acts.swap(posted_);
  }
  for (std::function<void()>& act : acts) executor_.defer(callbacks_.bind(std::move(act)));
}

}  // namespace lockstep
