// The elements of a list, as a set.
#pragma once

#include <algorithm>
#include <set>
#include <string_view>

#include "specs/model/value.hpp"

namespace lockstep {

using Names = std::set<std::string_view>;

inline Names names_of(Value value) {
  if (value.kind() != Value::Kind::list) return {};
  const auto all = value.as_list();
  return {all.begin(), all.end()};
}

inline bool meet(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(), [&b](std::string_view one) { return b.contains(one); });
}

inline bool includes(const Names& whole, const Names& part) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

// A class whose priorities include other ones too, as the default class may temporarily, is not lossless.
inline bool are_lossless(const Names& priorities, const Names& pfc) {
  return !priorities.empty() && includes(pfc, priorities);
}

// A list that both gains and loses elements.
inline bool replaces(const Names& was, const Names& want) {
  return !was.empty() && !want.empty() && !includes(was, want) && !includes(want, was);
}

}  // namespace lockstep
