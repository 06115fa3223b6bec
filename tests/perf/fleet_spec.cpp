#include "tests/perf/fleet_spec.hpp"

#include <algorithm>

namespace lockstep::perf {
namespace {

constexpr const char* kSets = R"(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts, labels: {pool: gpu}}
spec:
  names: gpu[1-@HOSTS]
  role: host
  drivers: [linux]
  connect: {agent: "https://{name}:7443"}
  interfaces: [{name: "rail[0-7]", platform: connectx-7, rdma: true, speed: 400Gbps}]
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: "g[1-@GROUPS]r[0-7]", role: leaf, platform: spectrum-4, drivers: [linux, frr], connect: {agent: "https://{name}:7443"}}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: spines}
spec: {names: "p[0-7]s[1-@PER_PLANE]", role: spine, platform: spectrum-6, drivers: [linux, frr], connect: {agent: "https://{name}:7443"}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training}
spec:
  selector: {matchLabels: {pool: gpu}}
  sysctl: {vm.nr_hugepages: 128}
  memlock: unlimited
  cpu: {governor: performance, irqAffinity: numa-local}
  pcie: {maxReadRequest: 4096, acs: "off"}
  packages: {rdma-core: ">=44"}
  services: {lldpd: running}
  gpu: {count: 8, persistence: true, ecc: true, driver: ">=550", nicAffinity: nearest}
---
)";

constexpr const char* kRoce = R"(apiVersion: lockstep.dev/v1alpha1
kind: RoceProfile
metadata: {name: lossless}
spec:
  trust: dscp
  classes:
    - {name: rdma, dscp: [26], priority: 3, tc: 3, bandwidth: 60%, lossless: true, ecn: auto}
    - {name: cnp, dscp: [48], priority: 6, tc: 6, scheduling: strict, maxRate: 5%}
    - {name: default, dscp: [0], priority: 0, tc: 0, bandwidth: 40%}
  congestionControl: dcqcn
  pfc: {watchdog: {detectionTime: 200ms, restorationTime: 400ms, action: drop}}
---
)";

constexpr const char* kFabric = R"(apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1-@HOSTS]:rail[0-7]", to: "g[1-@GROUPS]r[0-7]:swp[1-64]", by: rail, cableLength: 5m}
)";

constexpr const char* kRest = R"(  addressing: {hosts: 10.0.0.0/10, loopbacks: 10.128.0.0/16}
  routing:
    protocol: bgp-unnumbered
    asn: {leaf: 4200000000-4200009999, spine: 4200100000}
    timers: {keepalive: 3s, hold: 9s}
    bfd: {interval: 300ms, multiplier: 3}
    ecmp: {maxPaths: 128}
    loadBalancing: {mode: static, hashFields: [src-ip, dst-ip, src-port, dst-port, protocol]}
)";

std::string filled(std::string text, const FleetShape& shape) {
  const auto put = [&text](const std::string& word, unsigned number) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at))
      text.replace(at, word.size(), std::to_string(number));
  };
  put("@HOSTS", shape.hosts);
  put("@GROUPS", shape.groups());
  put("@PER_PLANE", shape.spines() / 8);
  return text;
}

std::string uplinks(const std::string& leaves, const std::string& spines, unsigned ports, unsigned downs,
                    unsigned strands) {
  return "    - {from: \"" + leaves + ":up[1-" + std::to_string(ports) + "]\", to: \"" + spines + ":down[1-" +
         std::to_string(downs) + "]\", by: mesh, parallel: " + std::to_string(strands) +
         ", speed: 400Gbps, cableLength: 40m}\n";
}

std::string uplinks(const FleetShape& shape) {
  const unsigned spines = shape.spines() / 8;  // per plane
  const std::string groups = "g[1-" + std::to_string(shape.groups()) + "]r";
  const std::string places = "s[1-" + std::to_string(spines) + "]";
  if (shape.one_plane) return uplinks(groups + "[0-7]", "p[0-7]" + places, shape.spines(), shape.leaves(), 1);
  // 64 uplinks per leaf switch, while there are few spine switches
  const unsigned strands = std::max(64 / spines, 1U);
  std::string out;
  for (unsigned rail = 0; rail < 8; ++rail)
    out += uplinks(groups + std::to_string(rail), "p" + std::to_string(rail) + places, spines * strands,
                   shape.groups() * strands, strands);
  return out;
}

}  // namespace

std::string fleet_spec(const FleetShape& shape) {
  std::string out = filled(kSets, shape);
  if (shape.roce) out += kRoce;
  out += filled(kFabric, shape) + uplinks(shape) + kRest;
  if (shape.roce) out += "  roceProfile: lossless\n";
  return out;
}

}  // namespace lockstep::perf
