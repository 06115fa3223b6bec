// The ordinary field of an entry: what specs may say of that entry, in which words and units. An override of
// the entry is held to it, so that `memlock: 10GiB` means the same in both places.
//
// Promises: one table, which compile reads values by and the JSON Schema is made from. A whole number is in
// the row's unit where the field is a quantity. Refuses, at the value's place and as the field would: another
// word, range or unit, and what the entry's unit cannot hold whole (1500ns as microseconds).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "specs/language/type_table.hpp"
#include "specs/model/schema.hpp"
#include "specs/model/value.hpp"

namespace lockstep {

struct EntryField {
  RowId row;
  const Type& (*type)();  // of the entry, or of each of its items
  Limits (*limits)();
  std::optional<Value> (*read)(const Row& row, const Node& node, Reporter& reporter);
};

// Null: any value of the row's type will do.
const EntryField* field_of_entry(RowId row);

// The entry's value from what was written; none with a diagnostic where the field would not take it.
std::optional<Value> read(const EntryField& field, const Literal& literal, Reporter& reporter);

// The JSON Schema of what overrides may set: every entry that is configuration.
nlohmann::json entries_schema();

}  // namespace lockstep
