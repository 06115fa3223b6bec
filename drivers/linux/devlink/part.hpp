// NICs by devlink, and their virtual functions: parameters, health, eswitch and rates (map.hpp), how many
// virtual functions (virtual_functions.hpp).
//
// Promises: each change is made by itself and read back (device_change.hpp). A port that is gone, as after a
// reload that the driver failed, is reached by the device that it was of, so that an undo can bring it back.
// A network namespace has the devices that are in it, and only those.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_devlink_part(const LinuxTarget& target);

}  // namespace lockstep
