#include "reconciler/session/watch_problems.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "reconciler/engine/causes.hpp"

namespace lockstep {

namespace {

bool is_same(const DriftReport& one, const DriftReport& other) {
  return std::ranges::equal(one.items, other.items,
                            [](const DriftEntry& a, const DriftEntry& b) {
                              return a.path == b.path && a.state == b.state && a.have == b.have &&
                                     a.want == b.want && a.reason == b.reason;
                            }) &&
         std::ranges::equal(one.unobserved, other.unobserved, [](const Unobserved& a, const Unobserved& b) {
           return a.path == b.path && a.why == b.why;
         });
}

}  // namespace

WatchProblems::WatchProblems(const Fleet& fleet, Executor& executor,
                             std::function<void(const DriftReport&)> found, std::size_t most)
    : fleet_(fleet), executor_(executor), found_(std::move(found)), most_(most) {}

WatchProblems::~WatchProblems() {
  if (timer_) executor_.cancel(*timer_);
}

void WatchProblems::observed(std::size_t device, const DriftReport& report) {
  if (!found_) return;
  if (!std::exchange(has_begun_, true)) happened();
  if (report.differences() == 0 && report.unobserved.empty()) {
    if (last_read_.erase(device) > 0) happened();
    return;
  }
  DriftReport kept;
  kept.unobserved = report.unobserved;
  std::ranges::copy_if(report.items, std::back_inserter(kept.items), &DriftEntry::is_difference);
  DriftReport& before = last_read_[device];
  if (!is_same(before, kept)) happened();
  before = std::move(kept);
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
  if (all.items.size() + all.unobserved.size() <= most_) all.problems = problems_of(all, fleet_.wiring());
  found_(all);
}

}  // namespace lockstep
