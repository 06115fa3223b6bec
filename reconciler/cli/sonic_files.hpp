// Configurations of SONiC in files, and what the commands about them print of their faults.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/findings.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// The text of a file, or of standard input ("-").
Result<std::string> sonic_text(const std::string& file);
// config_db.json; errors name the file.
Result<sonic::ConfigDb> sonic_config(const std::string& file);

// A row's fields as config_db.json has them.
nlohmann::json sonic_row_json(const sonic::ConfigRow& row);

// "TABLE|key field", printable.
std::string sonic_place(const sonic::ConfigFault& fault);

}  // namespace lockstep
