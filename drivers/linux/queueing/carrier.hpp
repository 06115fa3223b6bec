// Which scheduler carries the traffic classes of which port: the one place that says so.
//
// - Ports whose speed is made by software (LinuxTarget::software_rate; a twin's): ETS, where the kernel has
//   sch_ets, sch_tbf, clsact (sch_ingress), cls_flower and act_skbedit; HTB where it lacks one of them.
// - Ports with a speed of their own: the port's DCB where its driver has that (drivers/linux/dcb). Else
//   mqprio, where the port has two transmit queues or more and the kernel has sch_mqprio and those for
//   filters. Else nothing.
//
// Promises: the kernel is asked by trying it in a namespace that is made for it and gone after, once a
// process, so that all that can stay behind are its modules. A question that got no answer is an error, never
// a "no", and is asked again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep {

// Of a port whose speed is made by software.
Result<Carrier> software_carrier(const Call& call);

// The ports that mqprio carries, by index: with how many transmit queues. An error: a port of which that is
// not known. In the calling thread's network namespace, which is the one that `root`/sys shows.
using MqprioPorts = std::map<std::uint32_t, Result<unsigned>>;
MqprioPorts mqprio_ports(const std::vector<Link>& ports, const std::filesystem::path& root, const Call& call);

// In the kernel's words; empty: it has RED, with all that a class's marker needs of it (nodrop came with
// Linux 5.7).
Result<std::string> why_no_red(const Call& call);

}  // namespace lockstep
