#include "specs/fabric/buffer_use.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace lockstep {

const RoceProfile* profile_of(const Catalog& catalog, const Fabric& fabric) {
  if (!fabric.roce_profile.said) return nullptr;
  for (const RoceProfile& one : catalog.roce_profiles)
    if (*one.metadata.name == *fabric.roce_profile) return &one;
  return nullptr;
}

std::uint32_t lossless_classes(const RoceProfile& profile) {
  return static_cast<std::uint32_t>(std::count_if(profile.classes.begin(), profile.classes.end(),
                                                  [](const TrafficClass& one) { return *one.lossless; }));
}

HeadroomAsk headroom_ask(const Catalog& catalog, const TopologyLink& link) {
  const Mtu& mtu = *catalog.fabrics[link.fabric].mtu;
  const RoceProfile* const profile = profile_of(catalog, catalog.fabrics[link.fabric]);
  const double frame = (link.rail != kNone ? *mtu.host : *mtu.fabric) + kFrameOverhead;
  HeadroomAsk ask;
  ask.speed = link.speed;
  ask.cable_length = link.cable_length != 0 ? link.cable_length : kAssumedCableMillimetres;
  ask.port_mtu = frame;
  ask.lossless_mtu = frame;
  if (profile != nullptr && profile->small_packets.said)
    ask.small_packet_percent = profile->small_packets->parts_per_million / 10'000.0;
  return ask;
}

Result<BufferUse> buffer_use(const Catalog& catalog, const Topology& topology, DeviceIndex device,
                             const Platform& platform) {
  if (!platform.shared_buffer_bytes)
    return Error{ErrorKind::unsupported, "the buffer of platform " + platform.name + " is not known"};
  BufferUse out;
  out.buffer = platform.shared_buffer_bytes->whole();
  struct OfClass {
    std::uint64_t reserved = 0;
    std::uint64_t shared = 0;
  };
  std::map<std::tuple<FabricIndex, std::uint64_t, std::uint64_t, bool>, OfClass> known;
  for (const TopologyPort& port : topology.ports_of(device)) {
    if (port.link == kNone) continue;
    const TopologyLink& link = topology.links[port.link];
    const RoceProfile* const profile = profile_of(catalog, catalog.fabrics[link.fabric]);
    const std::uint32_t classes = profile == nullptr ? 0 : lossless_classes(*profile);
    if (classes == 0 || link.speed == 0) continue;
    ++out.ports;
    const auto [at, fresh] =
        known.try_emplace({link.fabric, link.speed, link.cable_length, link.rail != kNone});
    if (fresh) {
      TRY(Headroom headroom, pfc_headroom(platform, headroom_ask(catalog, link)));
      at->second = {headroom.reserved, headroom.size - headroom.reserved};
      if (headroom.size > out.largest_headroom.size) {
        out.largest = port.link;
        out.largest_headroom = std::move(headroom);
      }
    }
    out.headroom += at->second.reserved * classes;
    out.shared_asked += at->second.shared * classes;
  }
  if (platform.shared_headroom_bytes)
    out.headroom += std::min(out.shared_asked, platform.shared_headroom_bytes->whole());
  if (out.ports == 0 || out.headroom >= out.buffer) return out;
  const double alpha = platform.alpha_log2 ? std::exp2(platform.alpha_log2->value) : 1;
  out.fires = pfc_point(out.buffer - out.headroom, alpha, out.ports);
  return out;
}

}  // namespace lockstep
