// How a switch's buffer is used: the headroom of its lossless classes, and what remains to share.
#pragma once

#include <cstdint>
#include <optional>

#include "specs/fabric/lossless.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {

// The profile of a fabric; nullptr: none is named, or no profile has that name.
const RoceProfile* profile_of(const Catalog& catalog, const Fabric& fabric);
std::uint32_t lossless_classes(const RoceProfile& profile);
// Of all lossless classes together: each has its own headroom.
std::uint32_t lossless_priorities(const RoceProfile& profile);

// The headroom inputs of one cabled port: its link's speed, cable and MTU.
HeadroomAsk headroom_ask(const Catalog& catalog, const TopologyLink& link);

// For one class of one port, as the profile shares it: with an oversubscription only the XON part is reserved
// (SONiC's shared headroom pool).
Result<Headroom> class_headroom(const Catalog& catalog, const TopologyLink& link, const Platform& platform);

struct BufferUse {
  std::uint64_t headroom = 0;  // bytes, all ports and lossless priorities; the shared part counted once
  std::uint64_t shared_headroom = 0;  // bytes of it that are shared; 0: each class has its own headroom
  std::uint64_t shared_asked = 0;     // bytes that all classes together may request of the shared part
  std::uint64_t buffer = 0;           // bytes in total
  std::uint64_t headroom_most = 0;    // maximum bytes of it for headroom: a pool's share, or all
  std::uint32_t ports = 0;            // lossless ports
  LinkIndex largest = kNone;          // the link whose headroom is the largest
  Headroom largest_headroom;          // of one class
  std::optional<PfcPoint> fires;      // none: nothing is left to share, or nothing is lossless
};
// The profile that decides how a switch divides its buffer: the first that writes `buffers`, else the first
// with a lossless class; nullptr: neither. A profile that contradicts it is an error (LS102).
const RoceProfile* buffer_profile(const Catalog& catalog, const Topology& topology, DeviceIndex device);
// log2 of alpha: the profile's, else the platform's, else 0.
std::int32_t dynamic_threshold(const RoceProfile& profile, const Platform& platform);

// Refuses (unsupported) a platform whose constants or buffer are not known. Links of one kind are computed
// once.
Result<BufferUse> buffer_use(const Catalog& catalog, const Topology& topology, DeviceIndex device,
                             const Platform& platform);

}  // namespace lockstep
