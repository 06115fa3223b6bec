// sonic_config_of: the rows of a config_db.json that these changes stand for, as printed by `lockstep
// render`.
//
// Promises: the rows that an apply would write to a switch that has the ports and nothing else; contacts no
// switch. It is a part of a configuration: which lanes a port has, and the sizes of the buffer pools, are the
// switch's own. Refuses what edited() (map.hpp) refuses.
#pragma once

#include <string>

#include "specs/model/diff.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

Result<std::string> sonic_config_of(const std::string& device, const ChangeSet& changes);

}  // namespace lockstep
