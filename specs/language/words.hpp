// The way back from to_string (said.hpp): the enumerator that a word spells.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace lockstep {

// None: no enumerator is spelled so.
template <class E>
requires requires(E e) { words(e); }
std::optional<E> spelled(std::string_view word) {
  const auto all = words(E{});
  const auto found = std::ranges::find(all, word);
  return found == all.end() ? std::nullopt : std::optional(static_cast<E>(found - all.begin()));
}

}  // namespace lockstep
