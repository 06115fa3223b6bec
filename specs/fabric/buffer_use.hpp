// What a switch's buffer is used for: the headroom of its lossless classes, and what that leaves to share.
#pragma once

#include <cstdint>
#include <optional>

#include "specs/fabric/lossless.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

// The profile of a fabric; nullptr: none is named, or none of that name exists.
const RoceProfile* profile_of(const Catalog& catalog, const Fabric& fabric);
std::uint32_t lossless_classes(const RoceProfile& profile);
// Of all lossless classes together: each has a headroom of its own.
std::uint32_t lossless_priorities(const RoceProfile& profile);

// The headroom question of one cabled port: its link's speed, cable and MTU.
HeadroomAsk headroom_ask(const Catalog& catalog, const TopologyLink& link);

// Of one class of one port, as the profile shares it: where it gives an oversubscription, what is reserved is
// the XON part alone (SONiC's shared headroom pool).
Result<Headroom> class_headroom(const Catalog& catalog, const TopologyLink& link, const Platform& platform);

struct BufferUse {
  std::uint64_t headroom = 0;  // bytes, all ports and lossless priorities together; the shared part once
  std::uint64_t shared_headroom = 0;  // bytes of it: the shared part; 0: each class has all of its own
  std::uint64_t shared_asked = 0;     // bytes that all of them may ask of the shared part
  std::uint64_t buffer = 0;           // bytes that there are
  std::uint64_t headroom_most = 0;    // bytes of it that headroom may be: a pool's share, or all
  std::uint32_t ports = 0;            // lossless ports
  LinkIndex largest = kNone;          // the link whose headroom is the largest
  Headroom largest_headroom;          // of one class
  std::optional<PfcPoint> fires;      // none: nothing is left to share, or nothing is lossless
};
// The profile that says how a switch gives out its buffer: the first that writes `buffers`, else the first
// with a lossless class; nullptr: neither. Others that say otherwise are an error (LS102).
const RoceProfile* buffer_profile(const Catalog& catalog, const Topology& topology, DeviceIndex device);
// log2 of alpha: the profile's, else the platform's, else 0.
std::int32_t dynamic_threshold(const RoceProfile& profile, const Platform& platform);

// Refuses (unsupported) a platform whose constants or buffer are not known. Links of one kind are asked once.
Result<BufferUse> buffer_use(const Catalog& catalog, const Topology& topology, DeviceIndex device,
                             const Platform& platform);

}  // namespace lockstep
