// A watcher that a test signals, instead of netlink.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "drivers/driver.hpp"

namespace lockstep {

// An eventfd that a test signals, instead of netlink, and the events that it then returns.
class TestWatcher final : public Watcher {
 public:
  explicit TestWatcher(Woken tells = {})
      : tells_(std::move(tells)), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  TestWatcher(const TestWatcher&) = delete;
  TestWatcher& operator=(const TestWatcher&) = delete;
  ~TestWatcher() override { close(event_); }
  int descriptor() const override { return event_; }
  Result<Woken> drain() override {
    eventfd_t count = 0;
    const bool woken = eventfd_read(event_, &count) == 0;
    if (breaks) return Error{ErrorKind::transient, "the connection was reset"};
    return woken ? tells_ : Woken{};
  }
  void signal() const { eventfd_write(event_, 1); }
  bool breaks = false;

 private:
  const Woken tells_;
  const int event_;
};

inline void watch_with(Attached& attached, std::shared_ptr<Watcher> watcher) {
  attached.watch = [watcher]() -> Result<std::shared_ptr<Watcher>> { return watcher; };
}

}  // namespace lockstep
