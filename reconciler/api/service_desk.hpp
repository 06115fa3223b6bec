// ServiceDesk: what threads other than the engine's may do with a service: read its status, and say something
// to it.
//
// Promises: all of it may be called by any thread while the desk lives. An action runs on the engine's
// thread, at most once, and never after its deadline or after it was withdrawn: whoever withdraws in time
// knows that nothing has changed. What runs is answered, exactly once, on the engine's thread. Actions that
// have not begun when the desk ends never run and are not answered.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/runtime/command_queue.hpp"
#include "reconciler/api/kinds.hpp"
#include "reconciler/service/service_loop.hpp"

namespace lockstep::api {

struct Action {
  Verb verb{};
  std::string name{};                // of the object; the start of a revision's is enough (ServiceLoop)
  std::vector<std::string> steps{};  // of an approval: the starts of digests; empty: all that wait
  SpokenBy by{};
};

// An action that was asked for.
class AskedAction {
 public:
  explicit AskedAction(Time deadline) : deadline_(deadline) {}
  // False: it runs, or has run.
  bool withdraw() { return take(State::withdrawn); }
  // For the desk, before it runs the action. False: it must not.
  bool begin(Time now) { return now < deadline_ && take(State::begun); }

 private:
  enum class State : std::uint8_t { waiting, begun, withdrawn };
  bool take(State as) {
    State waiting = State::waiting;
    return state_.compare_exchange_strong(waiting, as);
  }

  const Time deadline_;
  std::atomic<State> state_{State::waiting};
};

class ServiceDesk {
 public:
  using Answer = Result<Done>;
  virtual ~ServiceDesk() = default;
  virtual std::shared_ptr<const ServiceStatus> status() const = 0;
  virtual std::shared_ptr<AskedAction> ask(Action action, Time deadline,
                                           std::function<void(Answer)> then) = 0;
  // A webhook: the specs have changed.
  virtual void fetch_soon() = 0;
};

// Over a loop, which outlives it. Created and destroyed on the engine's thread. Errors: as CommandQueue.
Result<std::unique_ptr<ServiceDesk>> open_desk(Executor& executor, ServiceLoop& loop);

}  // namespace lockstep::api
