#include "drivers/posix/wait.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace lockstep {
namespace {

int poll_milliseconds(const Call& call, Time now) {
  // Without a wake descriptor the stop token has to be polled.
  const auto longest =
      call.wake_fd < 0 && call.stop.stop_possible() ? kStopPoll : std::chrono::milliseconds(60'000);
  if (call.deadline == Time::max()) return static_cast<int>(longest.count());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(call.deadline - now);
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), longest).count());
}

}  // namespace

Result<Done> wait_for(int descriptor, short events, const Call& call) {
  for (;;) {
    const Time now = std::chrono::steady_clock::now();
    if (call.stop.stop_requested()) return Error{ErrorKind::cancelled, "asked to stop"};
    pollfd waits[2] = {{descriptor, events, 0}, {call.wake_fd, POLLIN, 0}};
    const int ready = ::poll(waits, call.wake_fd >= 0 ? 2 : 1, poll_milliseconds(call, now));
    if (ready < 0 && errno != EINTR)
      return Error{ErrorKind::transient, std::string("poll: ") + std::strerror(errno)};
    if (ready > 0 && waits[0].revents != 0) return Done{};
    if (ready > 0 && waits[1].revents != 0) return Error{ErrorKind::cancelled, "asked to stop"};
    if (std::chrono::steady_clock::now() >= call.deadline)
      return Error{ErrorKind::transient, "the deadline passed"};
  }
}

Result<Done> pause(std::chrono::milliseconds length, const Call& call) {
  const Time until = std::chrono::steady_clock::now() + length;
  if (call.deadline <= until) return wait_for(-1, 0, call);
  Call own = call;
  own.deadline = until;
  auto waited = wait_for(-1, 0, own);  // poll(2) ignores a negative descriptor
  if (waited || waited.error().kind == ErrorKind::cancelled) return waited;
  return Done{};
}

}  // namespace lockstep
