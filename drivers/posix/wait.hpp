// Waits for blocking code: for a descriptor, or for a duration, and no longer than its call may last.
//
// Promises: ends as soon as the awaited event occurs, the call's deadline has passed (transient), or a stop
// was requested (cancelled: its wake descriptor is readable). A stop token without a wake descriptor is
// checked every kStopPoll.
#pragma once

#include <chrono>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

inline constexpr std::chrono::milliseconds kStopPoll{50};

// `events` as in poll(2).
Result<Done> wait_for(int descriptor, short events, const Call& call);
// Pauses between two polls of something without a descriptor.
Result<Done> pause(std::chrono::milliseconds length, const Call& call);

}  // namespace lockstep
