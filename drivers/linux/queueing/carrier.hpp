// Which scheduler implements the traffic classes of which port: the only file that decides this.
//
// - Ports whose speed is enforced by software (LinuxTarget::software_rate; a twin's): ETS, if the kernel
//   has sch_ets, sch_tbf, clsact (sch_ingress), cls_flower and act_skbedit; HTB if it lacks one of them.
// - Ports with a speed of their own: the port's DCB if its driver supports that (drivers/linux/dcb). Else
//   mqprio, if the port has two transmit queues or more and the kernel has sch_mqprio and the modules for
//   filters. Else nothing.
//
// Promises: support is determined by trying it in a temporary namespace, once per process, so that at
// most kernel modules remain loaded. An attempt without an answer is an error, never a "no", and is
// repeated.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep {

// For ports whose speed is enforced by software.
Result<Carrier> software_carrier(const Call& call);

// The ports whose classes mqprio implements, by index, with their number of transmit queues. An error:
// unknown for that port. In the calling thread's network namespace, which must be the one that `root`/sys
// shows.
using MqprioPorts = std::map<std::uint32_t, Result<unsigned>>;
MqprioPorts mqprio_ports(const std::vector<Link>& ports, const std::filesystem::path& root, const Call& call);

// In the kernel's words; empty: it has RED, with everything that a class's marker needs of it (nodrop was
// added in Linux 5.7).
Result<std::string> why_no_red(const Call& call);

}  // namespace lockstep
