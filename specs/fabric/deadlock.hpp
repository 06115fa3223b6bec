// Cyclic buffer dependency: whether the routed paths of a lossless class can wait for each other in a cycle,
// which PFC turns into a deadlock (Dally and Seitz 1987; Guo et al., RDMA at scale, SIGCOMM 2016, section
// 4.2).
//
// A channel is one direction of the links between two switches; channel u->v depends on v->w if a packet can
// arrive through the first and leave through the second. Paths are the shortest ones to each leaf, all of
// them (ECMP), as eBGP selects them; hosts forward nothing, so their links can't be part of a cycle. If the
// switches of a tier share an AS number, no path leads from one of them through a third switch to another:
// loop prevention drops the route (RFC 4271 9.1.2, RFC 7938 5.2.1). Promises: uses leaves as destinations,
// never host pairs; a fabric in which every path goes up, then down, is proved without listing its
// dependencies (a cycle has a lowest device, where a path would turn from down to up); otherwise the cycle is
// found by Kahn's algorithm and returned. "No cycle" applies to the fabric as specified, with everything up;
// degraded.hpp covers failures.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

// Dependencies between channels: those of channel c are next[first[c]] up to next[first[c + 1]].
struct Dependencies {
  std::vector<std::uint32_t> first;  // one element more than there are channels
  std::vector<std::uint32_t> next;
  std::size_t channels() const { return first.empty() ? 0 : first.size() - 1; }
};

// The channels of one cycle, each depending on the next and the last on the first; empty: there is none.
std::vector<std::uint32_t> find_cycle(const Dependencies& dependencies);

struct BufferCycle {
  std::vector<DeviceIndex> devices;  // a cycle of switches; empty: the fabric can't deadlock
  std::size_t channels = 0;
  bool by_tiers = false;  // proved from the tiers, without listing dependencies
};
// `one_asn`: by tier, whether its switches share one AS number.
BufferCycle find_buffer_cycle(const Topology& topology, FabricIndex fabric, std::array<bool, 4> one_asn = {});

}  // namespace lockstep
