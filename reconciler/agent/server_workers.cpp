#include "reconciler/agent/server_workers.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace lockstep::agent {

Result<std::unique_ptr<Workers>> Workers::start(std::size_t threads) {
  std::unique_ptr<Workers> out(new Workers(threads));
  try {
    for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i)
      out->threads_.emplace_back([workers = out.get()] { workers->work(); });
  } catch (const std::system_error& none) {
    return Error{ErrorKind::transient, std::string("no thread for calls: ") + none.what()};
  }
  return out;
}

Workers::~Workers() { stop(); }

std::uint64_t Workers::add(bool minor, std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  ++last_;
  if (!stopped_) waiting_.push_back({last_, minor, std::move(job)});
  changed_.notify_one();
  return last_;
}

bool Workers::remove(std::uint64_t job) {
  Job dropped{};  // its destructor runs without the lock
  const std::lock_guard lock(mutex_);
  const auto at =
      std::find_if(waiting_.begin(), waiting_.end(), [job](const Job& one) { return one.id == job; });
  if (at == waiting_.end()) return false;
  dropped = std::move(*at);
  waiting_.erase(at);
  return true;
}

void Workers::stop() {
  std::deque<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (std::thread& one : threads_)
    if (one.joinable()) one.join();
}

std::deque<Workers::Job>::iterator Workers::next() {
  const auto major =
      std::find_if(waiting_.begin(), waiting_.end(), [](const Job& one) { return !one.minor; });
  if (major != waiting_.end() || minor_running_ >= minor_max_) return major;
  return waiting_.begin();
}

void Workers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto at = waiting_.end();
    changed_.wait(lock, [&] {
      at = next();
      return stopped_ || at != waiting_.end();
    });
    if (stopped_) return;
    Job job = std::move(*at);
    waiting_.erase(at);
    minor_running_ += job.minor ? 1 : 0;
    lock.unlock();
    job.run();
    job.run = nullptr;
    lock.lock();
    minor_running_ -= job.minor ? 1 : 0;
  }
}

}  // namespace lockstep::agent
