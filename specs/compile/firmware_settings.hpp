// Checks settings of NIC firmware before any device is contacted.
//
// Promises: each spec line is reported once per platform. Refuses (LS1007) a value that the setting can't
// have. A setting that lockstep can't set, or doesn't know, is a warning shown by `validate` only (LS1024),
// with the command that sets it.
#pragma once

#include "specs/compile/compilation.hpp"

namespace lockstep {

// Checks `nic.settings` for a port of that platform.
void check_firmware_settings(const Compilation& compilation, const Nic& nic, std::string_view platform);

}  // namespace lockstep
