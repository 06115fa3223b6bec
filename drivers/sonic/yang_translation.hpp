// CONFIG_DB in the form of the YANG models, in both of its notations: as tables, and as YANG's JSON.
//
// Promises: whatever the models say decides: containers and lists of a table, keys, lists of values. Each row
// or field that no model has is a fault, and so is a value of the wrong type; the rest is translated.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/yang_tree.hpp"

namespace lockstep::sonic {

// Tables without a model are left out.
void translate(const ConfigDb& config, YangData& data);

// RFC 7951, where a number or a boolean may also be a text, and a module need only be named at the top.
void translate_yang(const nlohmann::json& json, YangData& data);

}  // namespace lockstep::sonic
