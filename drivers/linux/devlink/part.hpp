// NICs through devlink, and their virtual functions: parameters, health, eswitch and rates (map.hpp), and the
// number of virtual functions (virtual_functions.hpp).
//
// Promises: each change is made separately and read back (device_change.hpp). A port that is gone, as after a
// reload that the driver failed, is found through the device that it belonged to, so that a rollback can
// restore it. A network namespace has only the devices that are in it.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_devlink_part(const LinuxTarget& target);

}  // namespace lockstep
