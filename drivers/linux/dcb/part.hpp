// DCB of the ports: lossless priorities (PFC), their buffers, the DCBX mode, and global pause, over dcbnl and
// ethtool netlink.
//
// Promises: all changes of one port are made together, object by object, in the order that a port can take
// them in: the DCBX mode, the buffers, then what goes off (pause or PFC: 802.1Qbb has a port use one of them)
// before what comes on. Each is read back; one that the kernel acknowledged and the port did otherwise is an
// error that names both values. Refuses to set PFC where another decides it: a port whose DCBX is not the
// host's (firmware, LLD), and a namespace where lldpad runs.
#pragma once

#include <filesystem>
#include <memory>

#include "drivers/linux/part.hpp"

namespace lockstep {

// `root`: where /proc is.
std::unique_ptr<LinuxPart> make_dcb_part(std::filesystem::path root);

}  // namespace lockstep
