// How long ago something was, as kubectl shows it (k8s.io/apimachinery/pkg/util/duration, HumanDuration).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/posix/call.hpp"

namespace lockstep::client {

// "5s", "2m30s", "3h", "2d5h". A time that is yet to come (clocks differ) is "0s", and by more than two
// seconds
// "<invalid>".
std::string human_duration(std::chrono::seconds length);
// Of an RFC 3339 time in UTC, "2026-11-21T10:05:26Z"; none: it is none.
std::optional<WallTime> parse_utc(std::string_view text);
// "<unknown>" where the text is no time.
std::string human_age(std::string_view text, WallTime now);

}  // namespace lockstep::client
