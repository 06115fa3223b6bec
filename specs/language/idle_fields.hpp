// Idle fields: fields of the language that lockstep does not read yet, so that specs which set them get a
// warning.
//
// Promises: each field is either in this table or read by code outside the language (checked by tests/tidy);
// an object is named by the noun of its type.
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
