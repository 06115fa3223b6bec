// Ctrl-C and SIGTERM as a stop token and a pollable descriptor: the first signal asks the command to end in
// order, a second one ends the process at once (exit code 128 + signal, as in shells).
//
// Construct it before any other thread: it blocks the two signals in the calling thread, and threads inherit
// that.
#pragma once

#include <stop_token>
#include <thread>

#include "drivers/posix/wake_descriptor.hpp"

namespace lockstep {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  int descriptor() const { return asked_.number(); }

 private:
  void wait_for_signals(const Descriptor& signals);

  std::stop_source source_;
  WakeDescriptor asked_;
  WakeDescriptor quit_;
  std::thread thread_;
};

}  // namespace lockstep
