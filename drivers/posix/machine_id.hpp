// Which machine this is, whatever its host name and whatever specs call it.
#pragma once

#include <string>

namespace lockstep {

// machine-id(5), as long as the machine is installed; where there is none, the kernel's boot id (random(4)),
// until the next boot.
std::string machine_id();

}  // namespace lockstep
