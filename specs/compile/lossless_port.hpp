// The lossless arithmetic of one port: what specs/fabric/lossless.hpp computes, asked with what a link and a
// platform are. Shared by compile and explain.
#pragma once

#include "specs/fabric/buffer_use.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

Result<Headroom> headroom_of_port(const Catalog& catalog, const Topology& topology, PortIndex port);

// What a switch's buffer is used for (what the proofs compute); nothing on a host, and where the buffer is
// not known.
std::optional<BufferUse> buffer_of(const Catalog& catalog, const Topology& topology, DeviceIndex device);

struct EcnPort {
  const TopologyLink* link = nullptr;
  const Platform* platform = nullptr;  // nullptr: not known
  std::optional<PfcPoint> fires;
  std::uint32_t mtu = 0;  // IP, bytes
};
EcnPort ecn_port(const Catalog& catalog, const Topology& topology, PortIndex port,
                 const std::optional<PfcPoint>& fires);
// Given thresholds as they are, `auto` by ecn_auto(). In a twin both in proportion to the scaled link, and
// then both raised until the lower one is what a kernel's queue needs: a round trip there takes longer than a
// fabric's.
EcnThresholds ecn_of_port(const EcnPort& port, const Ecn& ecn, bool twin);

// bit/s
std::uint64_t max_rate_of(const TopologyLink& link, const RateOrRatio& said, bool twin);

// Bytes of backlog of a kernel's queue from which ECT packets are marked.
std::uint64_t software_ecn_threshold(std::uint64_t rate, std::uint32_t mtu);

}  // namespace lockstep
