// wait_for: polls one descriptor together with the call's wake descriptor, until the call's deadline.
//
// Promises: returns as soon as the descriptor is ready, the deadline has passed (transient) or a stop was
// asked for (cancelled). A stop token without a wake descriptor is looked at every kStopPoll.
#pragma once

#include <chrono>

#include "drivers/runtime/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

inline constexpr std::chrono::milliseconds kStopPoll{50};

// `events` as in poll(2).
Result<Done> wait_for(int descriptor, short events, const Call& call);

}  // namespace lockstep
