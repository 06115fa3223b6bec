#include "reconciler/session/watch_problems.hpp"

#include <algorithm>
#include <utility>

#include "reconciler/engine/causes.hpp"

namespace lockstep {

WatchProblems::WatchProblems(const Fleet& fleet, Executor& executor,
                             std::function<void(const DriftReport&)> found)
    : fleet_(fleet), executor_(executor), found_(std::move(found)) {}

WatchProblems::~WatchProblems() {
  if (timer_) executor_.cancel(*timer_);
}

void WatchProblems::observed(std::size_t device, const DriftReport& report) {
  if (!found_) return;
  if (!std::exchange(has_begun_, true)) happened();
  if (report.differences() == 0 && report.unobserved.empty()) {
    last_read_.erase(device);
    return;
  }
  DriftReport kept = report;
  std::erase_if(kept.items, [](const DriftEntry& one) { return !one.is_difference(); });
  last_read_.insert_or_assign(device, std::move(kept));
}

void WatchProblems::happened() {
  last_ = executor_.now();
  if (!found_ || timer_) return;
  first_ = last_;
  wait();
}

void WatchProblems::wait() {
  timer_ = executor_.at(std::min(last_ + kQuiet, first_ + kLatest), callbacks_.bind([this] {
    timer_.reset();
    if (executor_.now() < std::min(last_ + kQuiet, first_ + kLatest)) return wait();
    settled();
  }));
}

void WatchProblems::settled() {
  DriftReport all;
  for (const auto& [device, one] : last_read_) {
    all.items.insert(all.items.end(), one.items.begin(), one.items.end());
    all.unobserved.insert(all.unobserved.end(), one.unobserved.begin(), one.unobserved.end());
  }
  all.problems = problems_of(all, fleet_.wiring());
  found_(all);
}

}  // namespace lockstep
