// Host readiness as a part of the linux driver: CPU, PCIe, kernel, limits, packages, services and GPUs of the
// whole machine (HostProfile).
//
// Promises: settings that a network namespace shares with its machine are handled by the machine's own target
// only: a target with a namespace and the machine's root reports "host-wide" for every row. Foreign files are
// left alone; lockstep writes only one file of its own in each drop-in folder under /etc. Nothing is
// installed and nothing reboots: packages, the kernel and its command line are read and compared, and the
// reason states that.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> host_part(const LinuxTarget& target);

}  // namespace lockstep
