// The lossless arithmetic of one port: what specs/fabric/lossless.hpp computes, asked with what a link and a
// platform are. Shared by compile and explain.
#pragma once

#include "specs/fabric/buffer_use.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

Result<Headroom> headroom_of_port(const Catalog& catalog, const Topology& topology, PortIndex port);

// Where PFC fires on a device, for ecn_of_port: what the proofs compute (buffer_use). None: in a twin, whose
// kernel has no PFC, on a host, and where the buffer is not known.
std::optional<PfcPoint> pfc_point_of(const Catalog& catalog, const Topology& topology, DeviceIndex device,
                                     bool twin);

// Given thresholds as they are, `auto` by ecn_auto(). In a twin both in proportion to the scaled link, and
// then both raised until the lower one is what a kernel's queue needs: a round trip there takes longer than a
// fabric's. `mtu`: the link's, in bytes.
EcnThresholds ecn_of_port(const TopologyLink& link, const TrafficClass& one,
                          const std::optional<PfcPoint>& fires, std::uint32_t mtu, bool twin);

// bit/s
std::uint64_t max_rate_of(const TopologyLink& link, const RateOrRatio& said, bool twin);

// Bytes of backlog of a kernel's queue from which ECT packets are marked.
std::uint64_t software_ecn_threshold(std::uint64_t rate, std::uint32_t mtu);

}  // namespace lockstep
