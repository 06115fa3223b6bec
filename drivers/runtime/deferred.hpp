// Deferred: functions that an executor was asked to run once the current callback has returned.
//
// Promises: they run in the order added, including those that they add themselves; if one throws, the rest
// remain for the next run.
#pragma once

#include <deque>
#include <functional>
#include <utility>

namespace lockstep {

class Deferred {
 public:
  void add(std::function<void()> act) { acts_.push_back(std::move(act)); }
  // False: there were none.
  bool run() {
    if (acts_.empty()) return false;
    while (!acts_.empty()) {
      const std::function<void()> act = std::move(acts_.front());
      acts_.pop_front();
      act();
    }
    return true;
  }

 private:
  std::deque<std::function<void()>> acts_;
};

}  // namespace lockstep
