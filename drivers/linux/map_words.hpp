// Shared by the tables of this driver's map: validation of desired numbers, and lists in native commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/model/diff.hpp"
#include "specs/model/result.hpp"

namespace lockstep::linux_map {

// A number from 0 to `max`; anything else, including an absent value, is invalid_spec.
Result<std::uint64_t> wanted_integer(const Change& change, std::int64_t max);

// Each part preceded by `before`.
std::string join(const std::vector<std::string_view>& parts, std::string_view before);

}  // namespace lockstep::linux_map
