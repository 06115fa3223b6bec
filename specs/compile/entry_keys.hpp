// What the keys of an entry may be: an address has a length, a ring is of rx or tx, a package's name no
// blanks.
//
// Promises: one table, which overrides are checked by and the JSON Schema is made from. Refuses nothing where
// no rule is known: that key is any text.
#pragma once

#include <string>
#include <string_view>

#include "specs/model/path.hpp"

namespace lockstep {

struct EntryKey {
  std::string_view rows;     // the start of their patterns; the key is the last in it
  std::string_view noun;     // "a prefix such as 10.64.0.0/16"
  std::string_view pattern;  // as a regular expression, without its ends
  bool (*fits)(std::string_view key);
};

// Of the key at `place` of a row; null: any text.
const EntryKey* entry_key(RowId row, std::size_t place);

// "'mini' is not one of rx, tx"; empty: all keys are well.
std::string why_no_entry(Path path);

}  // namespace lockstep
