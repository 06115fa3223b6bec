// RDMA on the ports: what a RoCE NIC marks its packets with and how it answers congestion, over configfs,
// sysfs and debugfs (settings.hpp).
//
// Promises: each change is made by itself and read back. A port is carried by the RDMA device whose port it
// is: a bond by that of the bond; every other port says why it is not. Refuses, in a network namespace of
// this machine, all of it: RDMA's configfs and debugfs are the machine's.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_rdma_part(const LinuxTarget& target);

}  // namespace lockstep
