// Which keys an entry may have: an address includes its prefix length, a ring is rx or tx, a package name has
// no blanks.
//
// Promises: one table, used both to check overrides and to generate the JSON Schema. A key without a rule
// accepts any text.
#pragma once

#include <string>
#include <string_view>

#include "specs/model/path.hpp"

namespace lockstep {

struct EntryKey {
  std::string_view rows;     // prefix of their patterns; the key is the last one in the pattern
  std::string_view noun;     // "a prefix such as 10.64.0.0/16"
  std::string_view pattern;  // a regular expression, without anchors
  bool (*fits)(std::string_view key);
};

// The rule for the key at `place` of a row; null: any text is allowed.
const EntryKey* entry_key(RowId row, std::size_t place);

// "'mini' is not one of rx, tx"; empty: all keys are valid.
std::string why_no_entry(Path path);

}  // namespace lockstep
