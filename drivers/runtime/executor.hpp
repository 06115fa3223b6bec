// Executor: the engine's only way to run blocking bodies and timers. One real (threads), one simulated
// (virtual time).
//
// Promises: everything but `run` bodies happens on the engine's one thread, inside step(). `done` is called
// exactly once, never inside start or cancel, at the latest at `deadline` (then Outcome::abandoned:
// unknown_outcome to the engine). Calls of one key never overlap: an abandoned body keeps its key busy until
// it really returns, and the next call of that key waits or is abandoned too. Equal times fire in the order
// they were asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "drivers/runtime/call.hpp"

namespace lockstep {

// Lanes have a width each: hung devices must not starve live ones.
enum class Lane : std::uint8_t { local, remote, suspect, bench };

enum class Outcome : std::uint8_t { returned, abandoned, never_started };

struct Job {
  std::string key;  // the device: calls of one key are serial
  Lane lane = Lane::local;
  Time deadline;
  std::function<void(const Call&)> run;  // on a worker thread (real) or alone on the one thread (simulated)
  std::function<void(Outcome)> done;     // on the engine's thread
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual Time now() const = 0;
  // The wall clock, for what people write in dates and times of day. It may jump.
  virtual WallTime wall_time() const = 0;
  virtual std::uint64_t start(Job job) = 0;
  virtual std::uint64_t at(Time when, std::function<void()> fire) = 0;
  // A timer leaves the heap; a job's stop is requested (its done still comes).
  virtual void cancel(std::uint64_t id) = 0;
  // Delivers one completion or timer, waiting for it if need be. False: nothing is left to wait for.
  virtual bool step() = 0;
};

}  // namespace lockstep
