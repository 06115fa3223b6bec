// How long ago something was, as kubectl shows it (k8s.io/apimachinery/pkg/util/duration, HumanDuration).
#pragma once

#include <chrono>
#include <string>

#include "drivers/posix/call.hpp"

namespace lockstep::client {

// "5s", "2m30s", "3h", "2d5h". A time that is yet to come (clocks differ) is "0s", and by more than two
// seconds "<invalid>".
std::string human_duration(std::chrono::seconds length);
// Since a time as utc_text() writes it; "<unknown>": the text is none.
std::string human_age(const std::string& text, WallTime now);

}  // namespace lockstep::client
