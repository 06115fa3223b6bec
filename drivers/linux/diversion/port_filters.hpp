// Foreign objects on the desired ports that can drop, delay or redirect a pool's traffic, other than
// nf_tables rules: tc filters and queues, XDP programs, and IPsec policies.
//
// Promises: filters and queues that Lockstep itself makes, by handle, kind and place, are left out. Any other
// filter on ingress, egress or at a port's root queue is reported, whatever it does; so is each queue inside
// Lockstep's own, each queue elsewhere that is not of the kernel's usual kinds (so netem, tbf, htb and the
// like are reported), and each XDP program. XFRM policies are reported if they drop RoCE or TCP of the pool
// (as defined in packet_filters.hpp), or require it to be transformed, unless a policy that passes all of
// that is consulted first. Not covered: tcx programs, queue limits, mqprio's rates, XFRM's default policies,
// and a foreign root queue with our handle and kind.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/diversion/ground.hpp"
#include "drivers/linux/filters/xfrm.hpp"

namespace lockstep::diversion {

// tc's and XDP's, the same for every pool, sorted: "tc ingress of rail0: bpf NAME", "tc queue of rail0: netem
// 8001: at the root", "tc root of up0: u32 pref 5", "XDP on rail0 (native)". For the calling thread's
// namespace.
Result<std::vector<std::string>> port_filters(const Ground& ground, netlink::Socket& route, const Call& call);

// "xfrm policy out: from 10.64.0.0/16 to 10.64.0.0/16 block". `transit`: the device forwards the pool's
// traffic; else it sends and receives it.
std::vector<std::string> policy_filters(const std::vector<xfrm::Policy>& policies, const Ground& ground,
                                        const IpPrefix& pool, bool transit);

}  // namespace lockstep::diversion
