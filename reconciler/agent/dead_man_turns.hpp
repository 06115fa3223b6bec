// Turns: who may call a driver, or write to the device, at a time. Part of dead_man.cpp.
//
// Contract: for each key one holder at a time, the others in the order in which they came, but for
// rollbacks, which go first. A caller waits until its Call ends. A holder is asked to stop by its own caller
// or by interrupt(); what has to be finished does not look at that.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "drivers/posix/call.hpp"

namespace lockstep::agent {

class Turns {
 public:
  // Ends with its lifetime.
  class Turn {
   public:
    Turn(Turns& turns, std::string key, std::stop_token caller);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::stop_token stop() const { return stop_.get_token(); }

   private:
    friend class Turns;
    struct Forward {
      std::stop_source& to;
      void operator()() const { to.request_stop(); }
    };
    Turns& turns_;
    std::string key_;
    std::stop_source stop_;
    std::stop_callback<Forward> from_caller_;
  };

  Result<std::unique_ptr<Turn>> take(const std::string& key, const Call& call);
  // Before all who wait, and without a limit; the holder is interrupted.
  std::unique_ptr<Turn> take_first(const std::string& key);
  void interrupt(const std::string& key);

 private:
  struct Line {
    std::deque<std::uint64_t> waiting;
    Turn* holder = nullptr;
  };
  bool is_next(const Line& line, std::uint64_t one) const {
    return line.holder == nullptr && line.waiting.front() == one;
  }
  std::unique_ptr<Turn> begin(const std::string& key, std::stop_token caller);

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::map<std::string, Line> lines_;
  std::uint64_t last_ = 0;
};

}  // namespace lockstep::agent
