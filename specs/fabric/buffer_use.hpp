// What a switch's buffer is used for: the headroom of its lossless classes, and what that leaves to share.
#pragma once

#include <cstdint>
#include <optional>

#include "specs/fabric/lossless.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

// Ethernet header, one 802.1Q tag and FCS: what a frame adds to an IP packet (IEEE 802.3 3.1.1, 802.1Q 9.6).
inline constexpr std::uint32_t kFrameOverhead = 14 + 4 + 4;

// The profile of a fabric; nullptr: none is named, or none of that name exists.
const RoceProfile* profile_of(const Catalog& catalog, const Fabric& fabric);
std::uint32_t lossless_classes(const RoceProfile& profile);

// The headroom question of one cabled port: its link's speed, cable and MTU.
HeadroomAsk headroom_ask(const Catalog& catalog, const TopologyLink& link);

struct BufferUse {
  std::uint64_t headroom = 0;      // bytes, all ports and lossless classes together; the shared part once
  std::uint64_t shared_asked = 0;  // bytes that all of them may ask of the shared part; 0: there is none
  std::uint64_t buffer = 0;        // bytes that there are
  std::uint32_t ports = 0;         // lossless ports
  LinkIndex largest = kNone;       // the link whose headroom is the largest
  Headroom largest_headroom;       // of one class
  std::optional<PfcPoint> fires;   // none: nothing is left to share, or nothing is lossless
};
// Refuses (unsupported) a platform whose constants or buffer are not known. Links of one kind are asked once.
Result<BufferUse> buffer_use(const Catalog& catalog, const Topology& topology, DeviceIndex device,
                             const Platform& platform);

}  // namespace lockstep
