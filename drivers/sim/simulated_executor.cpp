#include "drivers/sim/simulated_executor.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace lockstep {

struct SimulatedExecutor::Flight {
  Job job;
  std::stop_source stop;
};

SimulatedExecutor::SimulatedExecutor(std::uint64_t seed, SimulatedDelays delays, Time begin)
    : now_(begin), random_(seed), delays_(delays) {}

std::uint64_t SimulatedExecutor::push(Time when, std::function<void()> fire) {
  const Slot slot{std::max(when, now_), ++orders_};
  heap_.emplace(slot, std::move(fire));
  slots_.emplace(slot.order, slot);
  return slot.order;
}

void SimulatedExecutor::erase(std::uint64_t order) {
  const auto found = slots_.find(order);
  if (found == slots_.end()) return;
  heap_.erase(found->second);
  slots_.erase(found);
}

Time SimulatedExecutor::random_delay(std::chrono::microseconds most) {
  return now_ + std::chrono::microseconds(random_.below(static_cast<std::uint64_t>(most.count()) + 1));
}

// The request takes effect at `begin`, the reply would arrive at `end`; a lost job is abandoned at the
// deadline.
std::uint64_t SimulatedExecutor::start(Job job) {
  auto flight = std::make_shared<Flight>(Flight{std::move(job), {}});
  const std::uint64_t id = ++orders_;
  flights_.emplace(id, flight);
  const bool may_lose = flight->job.timeout != kNoTimeout && flight->job.lane != Lane::bench;

  Busy& busy = busy_[flight->job.key];
  const Time begin = std::max(now_, busy.until) + (random_delay(delays_.request_max) - now_);
  const Time deadline = flight->job.timeout == kNoTimeout ? Time::max() : begin + flight->job.timeout;
  Time end = begin + (random_delay(delays_.reply_max) - now_);
  if (random_.chance(delays_.slow)) end += random_delay(delays_.slow_max) - now_;
  const bool request_lost = random_.chance(delays_.lost_request) && may_lose;
  const bool reply_lost = random_.chance(delays_.lost_reply) && may_lose;

  const auto answer = [this, id, flight](const Outcome& outcome) {
    flights_.erase(id);
    flight->job.done(outcome);
  };
  // Behind an abandoned body it waits for its own timeout, no longer.
  if (busy.until > busy.overdue && may_lose) {
    const Time patience = std::max(now_, busy.overdue) + flight->job.timeout;
    if (begin >= patience) {
      push(patience, [answer] { answer(Outcome::never_started); });
      return id;
    }
  }
  busy = {end, deadline};
  if (!request_lost) {
    push(begin, [flight, deadline] { flight->job.run(Call{deadline, flight->stop.get_token(), -1}); });
  }
  if (request_lost || reply_lost || end > deadline)
    push(deadline, [answer] { answer(Outcome::abandoned); });
  else
    push(end, [answer] { answer(Outcome::returned); });
  return id;
}

std::uint64_t SimulatedExecutor::at(Time when, std::function<void()> fire) {
  return push(when, std::move(fire));
}

void SimulatedExecutor::cancel(std::uint64_t id) {
  if (const auto found = flights_.find(id); found != flights_.end())
    found->second->stop.request_stop();
  else
    erase(id);
}

Result<Done> SimulatedExecutor::watch(int descriptor, std::function<void()> readable) {
  watched_[descriptor] = std::move(readable);
  return Done{};
}

// The callback of the first readable watched descriptor; empty: none is readable.
std::function<void()> SimulatedExecutor::take_readable() {
  for (const auto& [descriptor, readable] : watched_) {
    pollfd asked{descriptor, POLLIN, 0};
    if (::poll(&asked, 1, 0) > 0) return readable;
  }
  return {};
}

bool SimulatedExecutor::step() {
  if (deferred_.run()) return true;
  if (const auto readable = take_readable()) {
    readable();
  } else {
    if (heap_.empty()) return false;
    auto next = heap_.extract(heap_.begin());
    now_ = next.key().when;
    slots_.erase(next.key().order);
    next.mapped()();
  }
  if (after_step) after_step();
  deferred_.run();
  return true;
}

}  // namespace lockstep
