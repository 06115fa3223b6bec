// Executor: the engine's only way to run blocking bodies and timers. There is a real one (threads) and a
// simulated one (virtual time).
//
// Promises: everything but `run` bodies happens on the engine's one thread, inside step(). `done` is called
// exactly once, never inside start or cancel, at the latest `timeout` after the body began. A job waits for
// its key (calls of one key never overlap) and for room in its lane for as long as needed; an abandoned body
// keeps its key busy until it really returns, and a job that waits behind it is abandoned without being
// started, after its own timeout. Equal times fire in the order they were requested. A body that throws ends
// that job only. (Simulated, the exception leaves step(): a test uses this to kill the program in the middle
// of a body.) The owner of the loop calls step(); operations of the engine are objects that it drives (start,
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

// Each lane has a width, counted in bodies that are not overdue: hung devices must not starve live ones.
// After two abandoned calls in a row, a key's calls use the suspect lane until one returns in time.
enum class Lane : std::uint8_t { local, remote, suspect, bench };

// How a job ended. `reason` gives the cause if only the executor knows it, as text for an Error; else it is
// empty.
struct Outcome {
  enum End : std::uint8_t {
    returned,       // the body did
    abandoned,      // started, and its time is over: outcome unknown (unknown_outcome)
    never_started,  // not started, and never will be: nothing happened (transient)
    threw,          // an exception ended it: outcome unknown (unknown_outcome)
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
  // The wall clock, for the dates and times of day in specs. It may jump.
  virtual WallTime wall_time() const = 0;
  virtual std::uint64_t start(Job job) = 0;
  virtual std::uint64_t at(Time when, std::function<void()> fire) = 0;
  // Removes a timer; requests a job's stop (its done is still called).
  virtual void cancel(std::uint64_t id) = 0;
  // Runs `act` after the current callback has returned, within the same step(); outside of one, as the next
  // step(). For follow-up work of a callback that may destroy or restart its caller.
  virtual void defer(std::function<void()> act) = 0;
  // Calls `readable` whenever the descriptor is readable (level-triggered). A watched descriptor alone keeps
  // step() waiting. Call forget() before closing it.
  virtual Result<Done> watch(int descriptor, std::function<void()> readable) = 0;
  virtual void forget(int descriptor) = 0;
  // Delivers one completion, timer or readable descriptor, waiting for it if necessary. False: nothing is
  // left to wait for.
  virtual bool step() = 0;
};

}  // namespace lockstep
