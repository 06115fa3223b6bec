// JSON Schema (draft 2020-12) of the kinds, for editors and for `lockstep schema`, generated from the
// loader's tables.
//
// Promises: what load() accepts, the schema accepts; the reverse holds for field names, types, words and
// ranges, not for rules between fields.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "specs/language/kind_rows.hpp"

namespace lockstep {

nlohmann::json json_schema_of(const Type& type, const Limits& limits);  // of one value
// `entries`: the schema of what overrides may set (compile/entry_fields.hpp).
nlohmann::json json_schema(const KindRow& kind, const nlohmann::json& entries);
nlohmann::json json_schema_of_all(const nlohmann::json& entries);  // any of the kinds that people write

}  // namespace lockstep
