// Workers: the threads on which an agent's calls run, so that a call that waits for the kernel keeps neither
// other clients' connections nor more than its share of calls waiting.
//
// Contract: at most `threads` jobs run at once, and at most half of them (at least one) are minor; jobs begin
// in the order in which they came, but those that are not minor go first. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::agent {

class Workers {
 public:
  // Errors (transient): the system has no threads left.
  static Result<std::unique_ptr<Workers>> start(std::size_t threads);
  ~Workers();  // stop()

  std::uint64_t add(bool minor, std::function<void()> job);
  // Whether it was still waiting: then it never runs.
  bool remove(std::uint64_t job);
  // Drops what waits, and waits for what runs. Jobs that are added later are dropped.
  void stop();

 private:
  struct Job {
    std::uint64_t id;
    bool minor;
    std::function<void()> run;
  };
  explicit Workers(std::size_t threads) : minor_max_(threads < 2 ? 1 : threads / 2) {}
  void work();
  // The next job that may begin; needs the lock.
  std::deque<Job>::iterator next();

  const std::size_t minor_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::uint64_t last_ = 0;
  std::size_t minor_running_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::agent
