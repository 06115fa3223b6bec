#include "drivers/runtime/workers.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lockstep {

struct Workers::Inside {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> bodies;  // handed over, and not yet taken by a thread
  std::size_t idle = 0;                      // threads that wait for one
  bool ends = false;
  std::vector<std::thread> threads;

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      ++idle;
      wake.wait(lock, [this] { return ends || !bodies.empty(); });
      --idle;
      if (bodies.empty()) return;
      const std::function<void()> body = std::move(bodies.front());
      bodies.pop_front();
      lock.unlock();
      body();
      lock.lock();
    }
  }
};

Workers::Workers() : inside_(std::make_unique<Inside>()) {}

Workers::~Workers() {
  {
    const std::scoped_lock lock(inside_->mutex);
    inside_->ends = true;
  }
  inside_->wake.notify_all();
  for (std::thread& thread : inside_->threads) thread.join();
}

Result<Done> Workers::run(std::function<void()> body) {
  const std::scoped_lock lock(inside_->mutex);
  inside_->bodies.push_back(std::move(body));
  if (inside_->bodies.size() > inside_->idle) {
    try {
      inside_->threads.emplace_back([inside = inside_.get()] { inside->work(); });
    } catch (const std::system_error& error) {
      inside_->bodies.pop_back();
      return Error{ErrorKind::transient, std::string("no thread: ") + error.code().message()};
    }
  }
  inside_->wake.notify_one();
  return Done{};
}

}  // namespace lockstep
