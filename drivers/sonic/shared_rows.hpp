// Rows that others name: found by their content, and made where there is none with it.
#pragma once

#include <string>

#include "drivers/sonic/config_db.hpp"

namespace lockstep::sonic {

inline constexpr std::string_view kOurRows = "lockstep-";

// The name of a row of `table` with exactly these fields: `named`, if that row has them (null: none is named
// now), else the first, else a new one that is called after its content.
std::string shared_row(ConfigDb& config, const std::string& table, const std::string& about,
                       const ConfigRow& row, const std::string* named);

// Deletes rows that were made so and that nothing names: any more, or since a change ended half-way.
void drop_unused(ConfigDb& config);

}  // namespace lockstep::sonic
