// SimulatedExecutor: the Executor interface in virtual time, from a seed.
//
// Promises: those of executor.hpp; the same seed and the same calls give the same history on every machine. A
// job's body runs alone, at once and on the one thread; the executor simulates the delays: the request may be
// lost (the body never runs: abandoned), the reply may be lost or late (the body ran: abandoned). Nothing of
// Lane::bench is lost, as it runs locally, not over a network. Watched descriptors are checked before time
// moves on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "drivers/runtime/deferred.hpp"
#include "drivers/runtime/executor.hpp"
#include "drivers/runtime/random.hpp"

namespace lockstep {

struct SimulatedDelays {
  std::chrono::microseconds request_max{50'000};
  std::chrono::microseconds reply_max{100'000};
  double lost_request = 0;  // share of jobs
  double lost_reply = 0;
  double slow = 0;  // share of jobs whose reply takes up to slow_max
  std::chrono::microseconds slow_max{20'000'000};
};

class SimulatedExecutor final : public Executor {
 public:
  // `begin`: the initial value of now().
  explicit SimulatedExecutor(std::uint64_t seed, SimulatedDelays delays = {}, Time begin = {});

  Time now() const override { return now_; }
  WallTime wall_time() const override { return wall_epoch + now_.time_since_epoch(); }
  std::uint64_t start(Job job) override;
  std::uint64_t at(Time when, std::function<void()> fire) override;
  void cancel(std::uint64_t id) override;
  void defer(std::function<void()> act) override { deferred_.add(std::move(act)); }
  Result<Done> watch(int descriptor, std::function<void()> readable) override;
  void forget(int descriptor) override { watched_.erase(descriptor); }
  bool step() override;

  SimulatedDelays& delays() { return delays_; }
  Random& random() { return random_; }
  // The wall clock's value when now() is zero.
  WallTime wall_epoch{};
  // Called at the end of every step, before deferred functions.
  std::function<void()> after_step;

 private:
  struct Slot {
    Time when;
    std::uint64_t order;
    auto operator<=>(const Slot&) const = default;
  };
  struct Flight;
  std::uint64_t push(Time when, std::function<void()> fire);
  void erase(std::uint64_t order);
  std::function<void()> take_readable();
  Time random_delay(std::chrono::microseconds most);

  std::map<Slot, std::function<void()>> heap_;
  std::map<std::uint64_t, Slot> slots_;
  std::map<std::uint64_t, std::shared_ptr<Flight>> flights_;
  struct Busy {
    Time until{};
    Time overdue = Time::max();  // when its body is abandoned
  };
  std::map<std::string, Busy> busy_;
  std::map<int, std::function<void()>> watched_;
  Deferred deferred_;
  Time now_;
  std::uint64_t orders_ = 0;
  Random random_;
  SimulatedDelays delays_;
};

}  // namespace lockstep
