#include "drivers/linux/dcb/port_buffers.hpp"

#include <algorithm>

#include "drivers/linux/dcb/priorities.hpp"

namespace lockstep::dcb {
namespace {

bool is_free(const dcbnl_buffer& buffer, std::size_t number) {
  return number != 0 && std::ranges::count(buffer.prio2buffer, number) == 0;
}

}  // namespace

Result<BufferHalves> halves_of(const dcbnl_buffer& have, const dcbnl_buffer& want, std::uint8_t losing) {
  BufferHalves out{want, want};
  const auto loses = [losing](std::size_t priority) { return (losing >> priority & 1U) != 0; };
  // If a desired buffer's number is still in use, a number that is free in both sets is used instead.
  for (std::size_t priority = 0; priority < kPriorities; ++priority) {
    const std::uint8_t still = have.prio2buffer[priority];
    const std::uint8_t taken = want.prio2buffer[priority];
    if (!loses(priority) || still == 0 || taken == still) continue;
    if (is_free(out.after, still)) continue;
    std::size_t other = 1;
    while (other < kPriorities && !(is_free(out.after, other) && is_free(have, other))) ++other;
    if (other == kPriorities)
      return Error{ErrorKind::refused, "the port has no buffer for what comes beside what goes"};
    for (std::uint8_t& number : out.after.prio2buffer)
      if (number == still) number = static_cast<std::uint8_t>(other);
    out.after.buffer_size[other] = std::exchange(out.after.buffer_size[still], 0);
  }
  out.between = out.after;
  for (std::size_t priority = 0; priority < kPriorities; ++priority) {
    if (!loses(priority)) continue;
    const std::uint8_t still = have.prio2buffer[priority];
    out.between.prio2buffer[priority] = still;
    out.between.buffer_size[still] = std::max(out.between.buffer_size[still], have.buffer_size[still]);
  }
  return out;
}

}  // namespace lockstep::dcb
