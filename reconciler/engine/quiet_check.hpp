// QuietCheck: waits until nothing uses what a step is about to remove (Step::quiet).
//
// Promises: open connections must be closed, and no packet must have passed for quiet_time; the device is
// asked repeatedly until the drain time is over (the policy's drain.timeout, else settle_time) or a stop is
// requested; a quiet period that began in time is waited out. An entry without an answer counts as in use; an
// entry that can't be answered for (unsupported) is not waited for, with a note. Approval of drains does not
// shorten the wait. Answered once, never from within start(). Single-threaded over the executor.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/step_run.hpp"

namespace lockstep {

class QuietCheck {
 public:
  struct Answer {
    std::string still;                 // what still uses it when the time is over; empty: nothing does
    bool proceeds = false;             // in spite of that, by the policy's onTimeout or an approval
    std::vector<std::string> unknown;  // entries whose use is unknown, and why
  };

  // Whether a step waits: a rollback does not, as what it rolls back is worse.
  static bool concerns(const RunContext& context, const Step& step);

  // `context` and `step`, which is of a device of the fleet, outlive this object.
  QuietCheck(const RunContext& context, const Step& step, std::function<void(const Answer&)> done);
  ~QuietCheck();
  QuietCheck(const QuietCheck&) = delete;
  QuietCheck& operator=(const QuietCheck&) = delete;

  void start();

 private:
  // The answers for all entries in question, in order.
  using Told = std::vector<std::pair<Path, Result<Usage::Use>>>;
  void ask();
  void answered(const Outcome& outcome, const Told& told);
  void over(const std::string& still);
  std::string in_use(const Told& told);
  void note_unsupported(const Told& told);

  const RunContext& context_;
  const Step& step_;
  const FleetDevice& device_;
  std::function<void(const Answer&)> done_;
  bool proceeds_ = false;
  Time until_{};
  std::chrono::milliseconds pause_{0};
  std::map<Path, std::string> unknown_;
  std::map<Path, std::uint64_t> passed_;  // at the last reading
  std::optional<Time> quiet_since_;  // since when nothing is open and nothing passes; none: it is not quiet
  std::optional<std::uint64_t> pending_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
