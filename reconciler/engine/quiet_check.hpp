// QuietCheck: waits until nothing uses any more what a step is about to take away (Step::quiet).
//
// Promises: what lasts has to be closed, and what passes not to have passed for quiet_time; the device is
// asked again and again, until the drain's time is over (the policy's drain.timeout, else settle_time), or
// the run is asked to stop. Where it gives no answer, nobody can tell, which is no quiet; where it has none
// to give (unsupported), the step goes on, and says so. Answered once, never from within start().
// Single-threaded over the executor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/step_run.hpp"

namespace lockstep {

class QuietCheck {
 public:
  struct Answer {
    std::string still;      // what uses it at the end of the time; empty: nothing does
    bool proceeds = false;  // all the same, as the policy's onTimeout says, or as nobody can tell
  };

  // Whether a step waits: an undo does not, as what it takes back is worse, nor where a person's word lifts
  // its drain.
  static bool concerns(const RunContext& context, const Step& step);

  // `context` and `step`, which is of a device of the fleet, outlive it.
  QuietCheck(const RunContext& context, const Step& step, std::function<void(const Answer&)> done);
  ~QuietCheck();
  QuietCheck(const QuietCheck&) = delete;
  QuietCheck& operator=(const QuietCheck&) = delete;

  void start();

 private:
  using Uses = std::vector<Usage::Use>;
  void ask();
  void answered(const Outcome& outcome, const std::optional<Result<Uses>>& answer);
  std::string in_use(const Uses& uses);

  const RunContext& context_;
  const Step& step_;
  const FleetDevice& device_;
  std::function<void(const Answer&)> done_;
  bool proceeds_ = false;
  Time until_{};
  std::chrono::milliseconds pause_{0};
  Uses last_;
  Time quiet_since_{};  // nothing has passed since
  std::optional<std::uint64_t> pending_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
