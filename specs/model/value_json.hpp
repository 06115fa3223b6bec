// The one JSON form of a value: null, true, 1500, "x", ["a"], {"secret": "file:x"}, {"reference": "x"}.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "specs/model/result.hpp"
#include "specs/model/schema.hpp"
#include "specs/model/value.hpp"

namespace lockstep {

nlohmann::json to_json(const Value& value);
// What to_json wrote of a value of this row. Errors (invalid_spec): a number of more than 64 bits or with a
// fraction, an element that is no text, an object that names neither a secret nor a reference.
Result<Value> value_from_json(RowId row, const nlohmann::json& json);

}  // namespace lockstep
