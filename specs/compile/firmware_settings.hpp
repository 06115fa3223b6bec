// What is to be said of a setting of a NIC's firmware before any device is asked.
//
// Promises: each line of the specs is told of once for each platform. Refuses (LS1007) a value that the
// setting can't have. What lockstep can't set, or doesn't know, is a warning for `validate` alone (LS1024),
// with the command that sets it.
#pragma once

#include "specs/compile/compilation.hpp"

namespace lockstep {

// Of `nic.settings` at a port of that platform.
void check_firmware_settings(const Compilation& compilation, const Nic& nic, std::string_view platform);

}  // namespace lockstep
