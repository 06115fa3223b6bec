// nearest(): the candidate that the user most likely meant, for "did you mean".
//
// Optimal string alignment distance (insert, delete, substitute, swap of neighbours), at most 2 edits and
// fewer than half the text's length; empty if no candidate is that near. Ties go to the earlier candidate.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace lockstep {

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lockstep
