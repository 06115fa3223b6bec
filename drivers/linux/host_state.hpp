// All that the driver reads of one host or namespace, as plain data; map.cpp turns it into entries.
//
// Promises: read in the calling thread's network namespace; what can't be read is listed with the reason, the
// rest is complete. Refuses nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep {

struct HostState {
  NetworkState network;
  std::map<std::uint32_t, PortQueueing> queueing;  // by interface index; only ports with a root qdisc of ours
                                                   // or of a kind that is understood
  std::map<std::uint32_t, std::uint64_t> ecn_thresholds;  // bytes
  std::map<std::string, Result<std::string>> sysctls;
  std::optional<Error> queueing_unread;
};

struct HostWanted {
  Wanted network;
  bool queueing = true;
};

// `sysctl_names` returns the parameters to read once the links are known (many are per interface).
using SysctlNames = std::function<std::vector<std::string>(const NetworkState&)>;
Result<HostState> read_host(const HostWanted& wanted, const SysctlNames& sysctl_names, const Call& call);

// One port's queueing, from the qdiscs of its namespace.
Result<PortQueueing> read_queueing(netlink::Socket& socket, std::uint32_t index,
                                   const std::vector<Qdisc>& qdiscs, const Call& call);

// /proc/sys/kernel/random/boot_id; empty if there is none.
std::string boot_id();

}  // namespace lockstep
