// Executor: the engine's only way to run blocking bodies and timers. One real (threads), one simulated
// (virtual time).
//
// Promises: everything but `run` bodies happens on the engine's one thread, inside step(). `done` is called
// exactly once, never inside start or cancel, at the latest `timeout` after the body began. A job waits for
// its key (calls of one key never overlap) and for room in its lane as long as that takes; a body that is
// given up on keeps its key busy until it really returns, and what waits behind it is given up on, never
// begun, after its own timeout. Equal times fire in the order they were asked for. A body that throws ends
// that job only. (Simulated, the exception leaves step(): that is how a test kills the program in the middle
// of a body.) Whoever owns the loop calls step(); operations of the engine are objects that it drives (start,
// callbacks, stop) and never call it themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// Lanes have a width each, of bodies that are not overdue: hung devices must not starve live ones. A key of
// which two calls in a row were given up on has its calls in the suspect lane until one returns in time.
enum class Lane : std::uint8_t { local, remote, suspect, bench };

// How a job ended. `reason` says why where only the executor knows it, in words for an Error; else it is
// empty.
struct Outcome {
  enum End : std::uint8_t {
    returned,       // the body did
    abandoned,      // it was begun, and its time is over: it may have happened (unknown_outcome)
    never_started,  // it was not begun, and never will be: nothing happened (transient)
    threw,          // an exception ended it: it may have happened (unknown_outcome)
  };

  Outcome(End how, std::string why = {}) : end(how), reason(std::move(why)) {}
  friend bool operator==(const Outcome& outcome, End how) { return outcome.end == how; }
  std::string reason_or(std::string_view otherwise) const {
    return reason.empty() ? std::string(otherwise) : reason;
  }

  End end;
  std::string reason;
};

inline constexpr std::chrono::milliseconds kNoTimeout = std::chrono::milliseconds::max();

struct Job {
  std::string key;  // the device: calls of one key are serial
  Lane lane = Lane::local;
  std::chrono::milliseconds timeout;     // of the body; kNoTimeout: as long as it takes
  std::function<void(const Call&)> run;  // on a worker thread (real) or alone on the one thread (simulated)
  std::function<void(const Outcome&)> done;  // on the engine's thread
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
  // Runs `act` when the callback under way has returned, within the same step(); outside of one, as the next
  // step(). For what follows from a callback and may destroy or restart who called it.
  virtual void defer(std::function<void()> act) = 0;
  // Calls `readable` whenever the descriptor is readable (level-triggered). A watched descriptor alone keeps
  // step() waiting. forget() before closing it.
  virtual Result<Done> watch(int descriptor, std::function<void()> readable) = 0;
  virtual void forget(int descriptor) = 0;
  // Delivers one completion, timer or readable descriptor, waiting for it if need be. False: nothing is left
  // to wait for.
  virtual bool step() = 0;
};

}  // namespace lockstep
