// What the tables of this driver's map share: the form of a wanted number, and lists in native words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/model/diff.hpp"
#include "specs/model/result.hpp"

namespace lockstep::linux_map {

// A number from 0 to `max`; anything else, none included, is invalid_spec.
Result<std::uint64_t> wanted_integer(const Change& change, std::int64_t max);

// Each with `before` before it.
std::string join(const std::vector<std::string_view>& parts, std::string_view before);

}  // namespace lockstep::linux_map
