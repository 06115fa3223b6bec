// What others put on the wanted ports that can drop, hold back or redirect a pool's traffic beside the rules
// of nf_tables: tc filters and queues, XDP programs, and IPsec's policies.
//
// Promises: filters and queues that Lockstep itself makes, by handle, kind and place, are left out. Any other
// filter on ingress, egress or at a port's root queue is named, whatever it does; so is each queue inside
// Lockstep's own, and each elsewhere that is not of the kernel's usual kinds (netem, tbf, htb and the like
// are not), and each XDP program. Of XFRM's policies those that drop RoCE or TCP of the pool (as
// packet_filters.hpp has them), or want it transformed, unless one that lets all of that pass is asked first.
// Not seen: programs by tcx, limits of queues, mqprio's rates, XFRM's default policies, a root queue of
// another hand with our handle and kind.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/diversion/ground.hpp"
#include "drivers/linux/filters/xfrm.hpp"

namespace lockstep::diversion {

// tc's and XDP's, of every pool alike, sorted: "tc ingress of rail0: bpf NAME", "tc queue of rail0: netem
// 8001: at the root", "tc root of up0: u32 pref 5", "XDP on rail0 (native)". Of the calling thread's
// namespace.
Result<std::vector<std::string>> port_filters(const Ground& ground, netlink::Socket& route, const Call& call);

// "xfrm policy out: from 10.64.0.0/16 to 10.64.0.0/16 block". `transit`: the device forwards the pool's
// traffic; else it sends and gets it.
std::vector<std::string> policy_filters(const std::vector<xfrm::Policy>& policies, const Ground& ground,
                                        const IpPrefix& pool, bool transit);

}  // namespace lockstep::diversion
