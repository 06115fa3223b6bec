// utc_text: a time as it is stored and shown, to the second: "2026-11-21T10:05:26Z". Text order is time
// order.
#pragma once

#include <string>

#include "drivers/posix/call.hpp"

namespace lockstep {

std::string utc_text(WallTime at);

}  // namespace lockstep
