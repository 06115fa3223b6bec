// The one JSON form of a value: null, true, 1500, "x", ["a"], {"secret": "file:x"}, {"reference": "x"}; a
// text that is not UTF-8 is {"bytes": "61ff"}, so that it is written back unchanged.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "specs/model/result.hpp"
#include "specs/model/schema.hpp"
#include "specs/model/value.hpp"

namespace lockstep {

nlohmann::json to_json(const Value& value);
// Reads what to_json wrote for a value of this row. Errors (invalid_spec): a number of more than 64 bits or
// with a fraction, an element that is not text, an object that is none of these.
Result<Value> value_from_json(RowId row, const nlohmann::json& json);

}  // namespace lockstep
