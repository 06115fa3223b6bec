// DCB of the ports: lossless priorities (PFC), their buffers, traffic classes (ETS, DSCPs, maximal rates),
// trust, the DCBX mode, and global pause, over dcbnl and ethtool netlink.
//
// Promises: all changes of one port are made together (port_change.hpp); what a port does not support is
// reported in the kernel's words. Refuses to set what another agent controls: a port whose DCBX is not the
// host's (firmware, LLD), and a namespace where lldpad runs.
#pragma once

#include <filesystem>
#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

// `root`: where /proc is. `classes`: the ports have schedulers of their own; else they have software ones,
// whose classes are implemented elsewhere (queueing/scheduler.hpp).
std::unique_ptr<LinuxPart> make_dcb_part(std::filesystem::path root, bool classes);

}  // namespace lockstep
