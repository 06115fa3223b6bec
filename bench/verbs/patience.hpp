// Patience: decides when a polling loop has waited long enough.
//
// Promises: costs a counter while polls are empty, and a clock reading every 1,024 of them (5 to 50 us);
// checks the deadline, the stall time and the interruption, which is a system call, every 10 ms.
#pragma once

#include <optional>

#include "bench/tcp/cpu.hpp"
#include "bench/verbs/transfer.hpp"

namespace lockstep::bench::verbs {

class Patience {
 public:
  Patience(const Surroundings& at, const Workload& workload)
      : at_(at),
        stall_ns_(std::uint64_t{workload.stall_ms} * 1'000'000),
        since_(now_ns()),
        checked_(since_) {}

  void progress() { progressed_ = true; }
  // True every 10 ms: the caller then checks for other events.
  bool time_to_check() {
    if (++polls_ % kPolls != 0) return false;
    const std::uint64_t now = now_ns();
    if (now - checked_ < kCheckEvery) return false;
    checked_ = now;
    if (progressed_) since_ = now;
    progressed_ = false;
    return true;
  }
  // After time_to_check: the reason to end, if any.
  Failure verdict(std::uint64_t completed) const {
    if (at_.interruption) {
      Failure why = at_.interruption();
      if (why.trouble != Trouble::none) return why;
    }
    if (checked_ >= at_.deadline_ns)
      return {Trouble::path,
              "not through at its deadline, after " + std::to_string(completed) + " were completed"};
    if (checked_ - since_ >= stall_ns_)
      return {Trouble::path, "nothing was completed for " + std::to_string(stall_ns_ / 1'000'000) +
                                 " ms, after " + std::to_string(completed) + " were"};
    return {};
  }

 private:
  static constexpr std::uint64_t kPolls = 1024;
  static constexpr std::uint64_t kCheckEvery = 10'000'000;  // ns
  const Surroundings& at_;
  std::uint64_t stall_ns_;
  std::uint64_t since_;    // time of the last progress
  std::uint64_t checked_;  // the last clock reading
  std::uint64_t polls_ = 0;
  bool progressed_ = false;
};

}  // namespace lockstep::bench::verbs
