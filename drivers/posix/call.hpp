// Call: passed to every blocking call into a driver or a workload: its deadline, and how it is asked to stop.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "specs/model/result.hpp"

namespace lockstep {

using Time = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

struct Call {
  Time deadline = Time::max();
  std::stop_token stop;
  int wake_fd = -1;  // readable when the call must end early, polled by every wait; -1: none

  bool must_end(Time now) const { return stop.stop_requested() || now >= deadline; }
  // The reason as an error; none: it may continue.
  std::optional<Error> why_ended(Time now) const {
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, "asked to stop"};
    if (now >= deadline) return Error{ErrorKind::transient, "the deadline passed"};
    return std::nullopt;
  }
};

}  // namespace lockstep
