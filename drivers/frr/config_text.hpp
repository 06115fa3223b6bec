// frr_config_of: the frr.conf of a router that has what these changes make and nothing else, as printed by
// `lockstep render`.
//
// Promises: contains the lines that an apply would send to daemons without a configuration, in their blocks;
// contacts no daemon. No version line is written, as the version is unknown: the text has the same meaning in
// every version that the driver supports. Refuses what script_of() refuses.
#pragma once

#include <string>

#include "specs/model/diff.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

Result<std::string> frr_config_of(const std::string& device, const ChangeSet& changes);

}  // namespace lockstep
