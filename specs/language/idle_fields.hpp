// Idle fields: what the language has and nothing in lockstep reads yet, so that whoever writes it is told.
//
// Promises: a field is in this table, or something outside the language reads it (tests/tidy holds that for
// each); an object is named by the noun of its type.
#pragma once

#include <span>
#include <string_view>

namespace lockstep {

struct IdleField {
  std::string_view object;  // "a Cluster"
  std::string_view field;   // empty: the kind as a whole
};

std::span<const IdleField> idle_fields();
bool is_idle(std::string_view object, std::string_view field);

}  // namespace lockstep
