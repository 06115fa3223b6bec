#include "reconciler/agent/time_keeper.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

namespace lockstep::agent {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Any call may change what is due, and when.
constexpr std::chrono::seconds kLongestWait{1};

}  // namespace

Result<std::unique_ptr<TimeKeeper>> TimeKeeper::start(std::shared_ptr<DeadMan> dead_man, Machine machine) {
  std::unique_ptr<TimeKeeper> out(new TimeKeeper(std::move(dead_man), std::move(machine)));
  try {
    out->thread_ = std::jthread([keeper = out.get()](const std::stop_token& stop) { keeper->run(stop); });
  } catch (const std::system_error& none) {
    return Error{ErrorKind::transient, std::string("no thread for rollbacks: ") + none.what()};
  }
  return out;
}

nanoseconds TimeKeeper::busy_for() const {
  const auto since = busy_since_.load();
  return since == steady_clock::time_point::max() ? nanoseconds::zero() : steady_clock::now() - since;
}

void TimeKeeper::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  while (!stop.stop_requested()) {
    busy_since_ = steady_clock::now();
    dead_man_->keep_time();
    busy_since_ = steady_clock::time_point::max();
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, wait(), [] { return false; });
  }
}

nanoseconds TimeKeeper::wait() const {
  const auto next = dead_man_->next_time();
  if (!next) return kLongestWait;
  return std::clamp<nanoseconds>(*next - machine_.boot_time(), nanoseconds::zero(), kLongestWait);
}

}  // namespace lockstep::agent
