// The whole example of the spec language, as an operator would write it: it must load without a word.
#pragma once

#include <string_view>

namespace lockstep {

inline constexpr std::string_view pod_spec = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: gpu-hosts, labels: {pool: h200}}
spec:
  names: gpu[1-4]
  role: host
  drivers: [linux]                   # linux | frr | sonic | eos | nvue | redfish | sim; several may share a device
  connect: {agent: "https://{name}:7443"}   # or {local: true}, {redis: ...}, {ssh: ...}, {https: ...}; a twin replaces this
  interfaces:
    - {name: "rail[0-1]", platform: connectx-7, rdma: true, speed: 400Gbps}   # pci: ["18:00.0", ...] where names are not stable
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec:
  names: leaf[0-1]
  role: leaf
  platform: spectrum-4
  drivers: [linux, frr]              # a switchdev switch; with SONiC: [sonic]
  connect: {agent: "https://{name}:7443"}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: spines}
spec:
  names: spine[0-1]
  role: spine
  platform: spectrum-4
  drivers: [linux, frr]
  connect: {agent: "https://{name}:7443"}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend                      # backend | frontend | storage: the two or three networks of an AI cluster; they may share switches by vrf
  topology: rail-optimized           # rail-optimized | leaf-spine | rail-only
  mtu: {host: 9000, fabric: 9216}    # IP MTU; drivers translate to what each platform counts
  cabling:                           # laws, not lists; checked against LLDP and transceivers
    - {from: "gpu[1-4]:rail[0-1]", to: "leaf[0-1]:swp[1-4]", by: rail, cableLength: 5m}     # rail r of host i -> leaf r, port i
    - {from: "leaf[0-1]:up[0-1]", to: "spine[0-1]:down[0-1]", by: mesh, speed: 400Gbps, cableLength: 40m}
  addressing: {hosts: 10.64.0.0/16, hostLink: p2p, loopbacks: 10.255.0.0/24}
  routing:
    protocol: bgp-unnumbered         # RFC 8950
    asn: {leaf: 4200000000-4200009999, spine: 4200100000}
    timers: {keepalive: 3s, hold: 9s}
    bfd: {interval: 300ms, multiplier: 3}
    ecmp: {maxPaths: 64}
    loadBalancing: {mode: static, hashFields: [src-ip, dst-ip, src-port, dst-port, protocol]}   # static | flowlet | per-packet
  roceProfile: lossless
---
apiVersion: lockstep.dev/v1alpha1
kind: RoceProfile
metadata: {name: lossless}
spec:
  trust: dscp
  classes:                           # every DSCP that is not named goes to the default class
    - {name: rdma,    dscp: [26], priority: 3, tc: 3, bandwidth: 60%, lossless: true, ecn: auto}   # or {kmin: 1000KB, kmax: 2000KB, pmax: 10%}
    - {name: cnp,     dscp: [48], priority: 6, tc: 6, scheduling: strict, maxRate: 5%}
    - {name: default, dscp: [0],  priority: 0, tc: 0, bandwidth: 40%}
  congestionControl: dcqcn           # dcqcn | none | vendor; the NIC's ToS and CNP DSCP follow from the classes
  pfc: {watchdog: {detectionTime: 200ms, restorationTime: 400ms, action: drop}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: training}
spec:
  selector: {matchLabels: {pool: h200}}
  sysctl: {vm.nr_hugepages: 128}     # what several rails need (arp_ignore, arp_announce, rp_filter, per-rail tables) follows from the Fabric
  memlock: unlimited
  cpu: {governor: performance, irqAffinity: numa-local}
  pcie: {maxReadRequest: 4096, acs: "off"}
  packages: {rdma-core: ">=44"}
  services: {lldpd: running}
  gpu: {count: 8, persistence: true, ecc: true, driver: ">=550", nicAffinity: nearest}
---
apiVersion: lockstep.dev/v1alpha1
kind: ValidationSuite
metadata: {name: backend-slo}
spec:
  fabric: backend
  transport: auto                    # rdma where every endpoint has it, else tcp; which one ran is part of the verdict
  benchmarks:
    - name: pairs
      workload: write-bandwidth      # write-bandwidth | read-bandwidth | stream
      pairs: all                     # all | same-rail | cross-leaf | ring | sample(N): in rounds that cannot oversubscribe a link
      duration: 2s
      slo:
        - {metric: bandwidth, statistic: min, atLeast: 90% of nominal}
    - name: latency
      workload: write-latency        # write-latency | request-response; idle fabric, 8 B
      transport: rdma
      pairs: same-rail
      slo:
        - {metric: latency, statistic: p99, atMost: 12us}
    - name: allreduce
      workload: ring-allreduce       # ring-allreduce | tree-allreduce | all-to-all | incast | barrier
      sizes: [1MiB, 16MiB, 128MiB]
      slo:
        - {metric: busbw, statistic: p5, atLeast: 80% of nominal}
        - {metric: stepSkew, statistic: p99, atMost: 5%}
        - {metric: busbw, statistic: median, atLeast: 95% of baseline}
  onChange: {scope: affected, onViolation: rollback}                 # rollback | quarantine | alert
  onSchedule: {every: 6h, when: idle, budget: 30min, onViolation: alert}
---
apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec:
  selector: {}
  unit: redundancy-group             # both ends of a link change in one step; one member of a group at a time
  waves: ["1", "10%", "100%"]
  minCapacity: {spine: 50%, leaf: 50%}    # left on the graph at any moment, for every pair
  approval: {none: auto, traffic: manual, reset: manual, reboot: manual}
  windows: [{days: Mon-Thu, from: "09:00", to: "17:00", timezone: UTC}]   # begins only if the worst case plus undo fits; undo is never held
  drain: {host: scheduler, switch: bgp-graceful-shutdown, timeout: 2h, onTimeout: skip}
---
apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: pod1}
spec:
  management: {path: out-of-band, interface: eth0}   # how the reconciler reaches devices: it never cuts its own last path without a dead-man
  maintenance: [{names: leaf1, until: 2026-12-01, reason: optics}]    # no alerts, counted in the budgets
  cost: {gpuHour: 2.50, currency: USD, tokensPerGpuSecond: 942}
)yaml";

}  // namespace lockstep
