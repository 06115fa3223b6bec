#include "specs/fabric/buffer_use.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "specs/fabric/roce_classes.hpp"

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

std::uint32_t lossless_priorities(const RoceProfile& profile) {
  std::size_t out = 0;
  for (const TrafficClass& one : profile.classes)
    if (*one.lossless) out += priorities_of(one).size();
  return static_cast<std::uint32_t>(out);
}

HeadroomAsk headroom_ask(const Catalog& catalog, const TopologyLink& link) {
  const RoceProfile* const profile = profile_of(catalog, catalog.fabrics[link.fabric]);
  HeadroomAsk ask;
  ask.speed = link.speed;
  ask.assumes_cable = link.cable_length == 0;
  ask.cable_length = ask.assumes_cable ? kAssumedCableMillimetres : link.cable_length;
  ask.ip_mtu = *mtu_of(catalog, link);
  ask.port_mtu = ask.lossless_mtu = ask.ip_mtu + kFrameOverhead;
  if (profile != nullptr && profile->small_packets.said)
    ask.small_packet_percent = profile->small_packets->parts_per_million / 10'000.0;
  return ask;
}

namespace {

// The reserved headroom of one class, and what it may request of the shared headroom.
struct OfPriority {
  std::uint64_t reserved = 0;
  std::uint64_t shared = 0;
};

const RoceProfile* profile_of_port(const Catalog& catalog, const Topology& topology,
                                   const TopologyPort& port) {
  return port.link == kNone ? nullptr
                            : profile_of(catalog, catalog.fabrics[topology.links[port.link].fabric]);
}

std::uint64_t share_of(std::uint64_t bytes, const Said<Ratio>& share) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * share->fraction());
}

}  // namespace

const RoceProfile* buffer_profile(const Catalog& catalog, const Topology& topology, DeviceIndex device) {
  const RoceProfile* lossless = nullptr;
  for (const TopologyPort& port : topology.ports_of(device)) {
    const RoceProfile* const profile = profile_of_port(catalog, topology, port);
    if (profile == nullptr) continue;
    if (profile->buffers.said) return profile;
    if (lossless == nullptr && lossless_priorities(*profile) != 0) lossless = profile;
  }
  return lossless;
}

std::int32_t dynamic_threshold(const RoceProfile& profile, const Platform& platform) {
  if (profile.buffers->dynamic_threshold.said) return *profile.buffers->dynamic_threshold;
  return platform.alpha_log2 ? static_cast<std::int32_t>(platform.alpha_log2->value) : 0;
}

Result<Headroom> class_headroom(const Catalog& catalog, const TopologyLink& link, const Platform& platform) {
  TRY(Headroom out, pfc_headroom(platform, headroom_ask(catalog, link)));
  const RoceProfile* const profile = profile_of(catalog, catalog.fabrics[link.fabric]);
  if (profile == nullptr) return out;
  const Buffers& said = *profile->buffers;
  if (said.oversubscription.said && platform.kind == PlatformKind::switching) {
    if (!platform.shared_headroom_bytes) out.reserved = out.size - out.xoff;
    out.constants.push_back(
        {"headroom oversubscription", static_cast<double>(*said.oversubscription), "", "the spec"});
  }
  if (said.xon_offset.said) out.xon_offset = said.xon_offset->bytes;
  return out;
}

Result<BufferUse> buffer_use(const Catalog& catalog, const Topology& topology, DeviceIndex device,
                             const Platform& platform) {
  if (!platform.shared_buffer_bytes)
    return Error{ErrorKind::unsupported, "the buffer of platform " + platform.name + " is not known"};
  BufferUse out;
  out.buffer = out.headroom_most = platform.shared_buffer_bytes->whole();
  std::uint32_t most_priorities = 1;
  std::map<std::tuple<FabricIndex, std::uint64_t, std::uint64_t, bool>, OfPriority> known;
  for (const TopologyPort& port : topology.ports_of(device)) {
    const RoceProfile* const profile = profile_of_port(catalog, topology, port);
    const std::uint32_t priorities = profile == nullptr ? 0 : lossless_priorities(*profile);
    if (priorities == 0 || topology.links[port.link].speed == 0) continue;
    const TopologyLink& link = topology.links[port.link];
    ++out.ports;
    most_priorities = std::max(most_priorities, priorities);
    const auto [at, fresh] =
        known.try_emplace({link.fabric, link.speed, link.cable_length, link.rail != kNone});
    if (fresh) {
      TRY(Headroom headroom, class_headroom(catalog, link, platform));
      at->second = {headroom.reserved, headroom.size - headroom.reserved};
      if (headroom.size > out.largest_headroom.size) {
        out.largest = port.link;
        out.largest_headroom = std::move(headroom);
      }
    }
    out.headroom += at->second.reserved * priorities;
    out.shared_asked += at->second.shared * priorities;
  }
  const RoceProfile* const profile = buffer_profile(catalog, topology, device);
  if (profile == nullptr) return out;
  const Buffers& said = *profile->buffers;
  if (out.shared_asked != 0)
    out.shared_headroom = said.oversubscription.said || !platform.shared_headroom_bytes
                              ? out.shared_asked / *said.oversubscription
                              : platform.shared_headroom_bytes->whole();
  out.headroom += std::min(out.shared_asked, out.shared_headroom);
  if (said.pools.said) out.headroom_most = share_of(out.buffer, said.pools->headroom);
  if (out.ports == 0 || out.headroom > out.headroom_most || out.headroom >= out.buffer) return out;
  const std::uint64_t shared =
      said.pools.said ? share_of(out.buffer, said.pools->lossless) : out.buffer - out.headroom;
  out.fires = PfcPoint{.alpha = std::exp2(dynamic_threshold(*profile, platform)),
                       .ports = out.ports,
                       .priorities = most_priorities,
                       .shared = shared};
  return out;
}

}  // namespace lockstep
