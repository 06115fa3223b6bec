// pump(): drives an executor until one operation of the engine has completed. For owners of the loop that
// have nothing else to do meanwhile: a command, a test.
//
// An operation has start(done), which calls `done(Answer)` once and never from within start, and stop(),
// which makes it complete early.
#pragma once

#include <optional>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "drivers/runtime/executor.hpp"

namespace lockstep {

// `stop` is checked after every step: a descriptor that the executor watches has to wake it.
template <class Operation>
typename Operation::Answer pump(Executor& executor, Operation& operation, const std::stop_token& stop = {}) {
  std::optional<typename Operation::Answer> answer;
  operation.start([&answer](typename Operation::Answer given) { answer.emplace(std::move(given)); });
  for (bool stopped = false; !answer;) {
    if (stop.stop_requested() && !std::exchange(stopped, true)) operation.stop();
    if (!executor.step() && !answer) throw std::logic_error("an operation never answered");
  }
  return *std::move(answer);
}

}  // namespace lockstep
