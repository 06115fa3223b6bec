// Host readiness as a part of the linux driver: CPU, PCIe, kernel, limits, packages, services and GPUs of the
// whole machine (HostProfile).
//
// Promises: what a network namespace shares with its machine is carried by the machine's own target only: a
// target with a namespace and the machine's root says "host-wide" of every row. Foreign files are left alone;
// what lockstep writes under /etc is one file of its own in each drop-in folder. Nothing is installed and
// nothing reboots: packages, the kernel and its command line are read and compared, and the reason says so.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> host_part(const LinuxTarget& target);

}  // namespace lockstep
