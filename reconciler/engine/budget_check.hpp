// BudgetCheck: checks minCapacity once more before steps that disturb live traffic begin: the plan may be
// minutes old, and something may have gone down meanwhile.
//
// Promises: the whole fleet is read again for each question, and repeatedly while there is not room for all,
// until settle_time has passed since the set of running steps last changed, so that what recovers by itself
// does not hold a rollout. Then steps may begin that have room, in the order asked, beside the running ones;
// every other step gets a reason that names what is down. One question at a time; each is answered once,
// never from within its call. Single-threaded over the executor.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/observe.hpp"
#include "reconciler/engine/step_run.hpp"

namespace lockstep {

class BudgetCheck {
 public:
  using Reasons = std::map<std::uint32_t, std::string>;  // by id, of those that must not begin

  // `context` outlives it.
  explicit BudgetCheck(const RunContext& context) : context_(context) {}
  ~BudgetCheck();
  BudgetCheck(const BudgetCheck&) = delete;
  BudgetCheck& operator=(const BudgetCheck&) = delete;

  // Whether this check applies to a step.
  bool concerns(const Step& step) const;
  bool under_way() const { return done_ != nullptr; }
  // `running`: the steps under way, in the order of the plan; queried again at each reading.
  using Running = std::function<std::vector<const Step*>()>;
  void ask(std::vector<const Step*> steps, Running running, std::function<void(const Reasons&)> done);
  // Answers at once, from what was read so far.
  void stop();

 private:
  double least_of(const Step& step) const;
  Outage outage_of(const Step& step) const;
  void observe();
  void observed(const std::vector<DeviceState>& states);
  void answer(const Reasons& reasons);
  Reasons judge(const std::vector<DeviceState>& states) const;

  const RunContext& context_;
  std::vector<const Step*> steps_;
  Running running_;
  std::vector<const Step*> beside_;  // the running steps at the last reading
  std::function<void(const Reasons&)> done_;
  Time until_{};
  std::chrono::milliseconds pause_{0};
  std::optional<ObserveRound> round_;
  std::optional<std::uint64_t> timer_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
