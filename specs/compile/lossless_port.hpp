// The lossless arithmetic of one port: what specs/fabric/lossless.hpp computes, asked with what a link and a
// platform are. Shared by compile and explain.
#pragma once

#include "specs/fabric/lossless.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

// Ethernet header, one 802.1Q tag and FCS: what a frame adds to an IP packet (IEEE 802.3, 802.1Q).
inline constexpr std::uint32_t kFrameBytes = 14 + 4 + 4;

Result<Headroom> headroom_of_port(const Catalog& catalog, const Topology& topology, PortIndex port);

// Given thresholds as they are, `auto` by ecn_auto(); in a twin both in proportion to the scaled link.
EcnThresholds ecn_of_port(const Topology& topology, const TopologyLink& link, const TrafficClass& one,
                          DeviceIndex device, bool twin);

// bit/s
std::uint64_t max_rate_of(const TopologyLink& link, const RateOrRatio& said, bool twin);

// Bytes of backlog of a whole software port from which ECT packets are marked.
std::uint64_t software_ecn_threshold(std::uint64_t rate, std::uint32_t mtu);

}  // namespace lockstep
