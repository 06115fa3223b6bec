// WakeDescriptor: ends another thread's poll: readable from signal() until clear()
// (eventfd(2)).
//
// Promises: signal() and clear() never block and may be called in any thread; what was written
// before signal() is visible after clear(). If the eventfd can't be created, the object is
// false (like a Descriptor) and signal() has no effect; error() returns the reason.
#pragma once

#include <sys/eventfd.h>

#include <cerrno>

#include "specs/files/descriptor.hpp"

namespace lockstep {

class WakeDescriptor {
 public:
  WakeDescriptor() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), error_(event_ ? 0 : errno) {}
  explicit operator bool() const { return static_cast<bool>(event_); }
  int number() const { return event_.number(); }
  // 0, or the errno of eventfd(2).
  int error() const { return error_; }

  // Can fail only if the counter is full, and then the descriptor is readable already.
  void signal() const { (void)::eventfd_write(number(), 1); }
  // Whether it had been signalled.
  bool clear() const {
    eventfd_t count = 0;
    return ::eventfd_read(number(), &count) == 0;
  }

 private:
  Descriptor event_;
  int error_;
};

}  // namespace lockstep
