// Identifies this machine, independently of its host name and of its name in specs.
#pragma once

#include <string>

namespace lockstep {

// machine-id(5), as long as the machine is installed; without one, the kernel's boot id (random(4)), until
// the next boot.
std::string machine_id();

}  // namespace lockstep
