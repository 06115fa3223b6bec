// RDMA on the ports: how a RoCE NIC marks its packets and responds to congestion, over configfs, sysfs and
// debugfs (settings.hpp).
//
// Promises: each change is made separately and read back. A port's settings are those of the RDMA device
// whose port it is; for a bond, the device of the bond; every other port reports the reason. In a network
// namespace of this machine everything is refused: RDMA's configfs and debugfs belong to the machine.
#pragma once

#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

std::unique_ptr<LinuxPart> make_rdma_part(const LinuxTarget& target);

}  // namespace lockstep
