// The typed field that corresponds to an entry: which values specs may give the entry, in which words and
// units. An override of the entry is checked against it, so that `memlock: 10GiB` means the same in both
// places.
//
// Promises: one table, used both by compile to read values and to generate the JSON Schema. A whole number is
// in the row's unit where the field is a quantity. Refuses, at the value's position and with the field's
// message: an unknown word, a value out of range or in another unit, and a value that is no whole number of
// the entry's unit (1500ns as microseconds).
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

// Null: any value of the row's type is accepted.
const EntryField* field_of_entry(RowId row);

// The entry's value as written; none, with a diagnostic, if the field does not accept it.
std::optional<Value> read(const EntryField& field, const Literal& literal, Reporter& reporter);

// The JSON Schema of what overrides may set: every configuration entry.
nlohmann::json entries_schema();

}  // namespace lockstep
