// QuietCheck: waits until nothing uses any more what a step is about to take away (Step::quiet).
//
// Promises: what lasts has to be closed, and what passes not to have passed for quiet_time; the device is
// asked again and again, until the drain's time is over (the policy's drain.timeout, else settle_time), or
// the run is asked to stop; a quiet that began in time is waited out. Where an entry gives no answer, nobody
// can tell, which is no quiet; where it has none to give (unsupported), it is not waited for, and that is
// said. A person's word for drains does not end the wait before its time. Answered once, never from within
// start(). Single-threaded over the executor.
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
    std::string still;                 // what uses it at the end of the time; empty: nothing does
    bool proceeds = false;             // all the same, as the policy's onTimeout or a person says
    std::vector<std::string> unknown;  // of which entries nobody can tell, and why
  };

  // Whether a step waits: an undo does not, as what it takes back is worse.
  static bool concerns(const RunContext& context, const Step& step);

  // `context` and `step`, which is of a device of the fleet, outlive it.
  QuietCheck(const RunContext& context, const Step& step, std::function<void(const Answer&)> done);
  ~QuietCheck();
  QuietCheck(const QuietCheck&) = delete;
  QuietCheck& operator=(const QuietCheck&) = delete;

  void start();

 private:
  // The answers on all entries that are asked for, in order.
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
  std::map<Path, std::uint64_t> passed_;  // when last asked
  std::optional<Time> quiet_since_;       // nothing is open, and nothing has passed; none: that is not so
  std::optional<std::uint64_t> pending_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
