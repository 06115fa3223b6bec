// The specs of two hosts with one RoCE port each under one leaf, as text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

inline constexpr std::string_view kRoceLeaf = R"(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: leaf0, role: leaf, platform: spectrum-3, drivers: [linux, frr], connect: {ssh: "{name}"}}
---
)";

// A lossless profile without its end: further lines of the spec may follow, each indented by two.
inline constexpr std::string_view kRoceProfile = R"(apiVersion: lockstep.dev/v1alpha1
kind: RoceProfile
metadata: {name: lossless}
spec:
  trust: dscp
  classes:
    - {name: rdma, dscp: [26], priority: 3, tc: 3, bandwidth: 60%, lossless: true, ecn: auto}
    - {name: cnp, dscp: [48], priority: 6, tc: 6, scheduling: strict, maxRate: 5%}
    - {name: default, dscp: [0], priority: 0, tc: 0, bandwidth: 40%}
)";

// `more`: further lines of the RoceProfile's spec, each indented by two.
inline std::string roce_cluster(std::string_view port, std::string_view more) {
  std::string text = R"(
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts}
spec:
  names: gpu[1-2]
  role: host
  drivers: [linux]
  connect: {ssh: "{name}"}
  interfaces: [{name: PORT, platform: connectx-7, rdma: true, speed: 400Gbps}]
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-only
  mtu: {host: 9000, fabric: 9216}
  cabling: [{from: "gpu[1-2]:PORT", to: "leaf0:swp[1-2]", by: rail, cableLength: 100m}]
  addressing: {hosts: 10.64.0.0/16, loopbacks: 10.255.0.0/24}
  roceProfile: lossless
---
)";
  constexpr std::string_view kPort = "PORT";
  for (std::size_t at = text.find(kPort); at != text.npos; at = text.find(kPort, at))
    text.replace(at, kPort.size(), port);
  return text.append(kRoceLeaf).append(kRoceProfile).append(more);
}

// The line of the text with these words, counted from 1.
inline std::uint32_t line_of(std::string_view text, std::string_view words) {
  return 1 + static_cast<std::uint32_t>(std::ranges::count(text.substr(0, text.find(words)), '\n'));
}

}  // namespace lockstep
