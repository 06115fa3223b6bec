// The lossless arithmetic of one port: calls specs/fabric/lossless.hpp with the properties of a link and a
// platform. Shared by compile and explain.
#pragma once

#include "specs/fabric/buffer_use.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

Result<Headroom> headroom_of_port(const Catalog& catalog, const Topology& topology, PortIndex port);

// How a switch's buffer is used (as the proofs compute it); none on a host, or if the buffer size is not
// known.
std::optional<BufferUse> buffer_of(const Catalog& catalog, const Topology& topology, DeviceIndex device);

struct EcnPort {
  const TopologyLink* link = nullptr;
  const Platform* platform = nullptr;  // nullptr: not known
  std::optional<PfcPoint> fires;
  std::uint32_t mtu = 0;  // IP, bytes
};
EcnPort ecn_port(const Catalog& catalog, const Topology& topology, PortIndex port,
                 const std::optional<PfcPoint>& fires);
// Explicit thresholds are kept, `auto` is computed by ecn_auto(). In a twin both are scaled with the link,
// then raised together until the lower one is what a kernel's queue needs: a round trip takes longer in a
// twin than in a fabric.
EcnThresholds ecn_of_port(const EcnPort& port, const Ecn& ecn, bool twin);

// bit/s
std::uint64_t max_rate_of(const TopologyLink& link, const RateOrRatio& said, bool twin);

// Bytes of backlog in a kernel queue above which ECT packets are marked.
std::uint64_t software_ecn_threshold(std::uint64_t rate, std::uint32_t mtu);

}  // namespace lockstep
