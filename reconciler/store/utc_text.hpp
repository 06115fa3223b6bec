// utc_text: a time as it is stored and shown, to the second: "2026-11-21T10:05:26Z". Text order is time
// order.
#pragma once

#include <optional>
#include <string>

#include "drivers/posix/call.hpp"

namespace lockstep {

std::string utc_text(WallTime at);                          // "2026-11-21T10:05:26Z"
std::optional<WallTime> utc_time(const std::string& text);  // the way back; none: it is no such text

}  // namespace lockstep
