// Deferred: the acts that an executor was asked to run once the callback under way has returned.
//
// Promises: run in the order asked for, those included that they ask for in turn; an act that throws leaves
// the rest for the next run.
#pragma once

#include <deque>
#include <functional>
#include <utility>

namespace lockstep {

class Deferred {
 public:
  void add(std::function<void()> act) { acts_.push_back(std::move(act)); }
  // False: there was none.
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
