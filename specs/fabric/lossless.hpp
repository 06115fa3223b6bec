// The arithmetic of lossless Ethernet: PFC headroom, the queue depth at which PFC fires, and ECN thresholds
// below that depth.
//
// Promises: pure functions; each result includes every constant that it used with its source, for `explain`.
// A NIC whose kernel driver publishes its own rule (platform key headroomRule) is computed by that rule.
// Headroom follows SONiC's dynamic buffer model (sonic-swss cfgmgr/buffer_headroom_mellanox.lua, after IEEE
// 802.3 31B.3.7) in bytes, not rounded to the NOS's grain; the Lua counts 1e9/1024 where this counts 1e6
// (bytes on the cable are 2.4 % more here: the physical value). At an MTU of 9,216 B and the platform's own
// share of small packets it is never below the vendors' tables, from 10G on (headroom_tables_test.cpp). If a
// platform's constants are not public, its vendor's table is used. Refuses: a platform with neither
// (unsupported), never a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "specs/platforms/platform.hpp"

namespace lockstep {

// A number that a calculation used.
struct Constant {
  std::string name;
  double value = 0;
  std::string unit;
  std::string source;
};

// Signals in fibre and copper: 1.98e8 m/s, about 5 ns/m (the Lua's speed_of_light).
inline constexpr double kMetresPerSecond = 1.98e8;
// The cable length assumed if a law sets none: SONiC's default_cable for a leaf's uplinks (sonic-buildimage
// rendered buffers-mellanox4600c, 300m). It is the longest, so that the proof errs on the safe side.
inline constexpr std::uint64_t kAssumedCableMillimetres = 300'000;
// Ethernet header, one 802.1Q tag and FCS: what a frame adds to an IP packet (IEEE 802.3 3.1.1, 802.1Q 9.6).
inline constexpr std::uint32_t kFrameOverhead = 14 + 4 + 4;

struct HeadroomAsk {
  std::uint64_t speed = 0;         // bit/s
  std::uint64_t cable_length = 0;  // millimetres
  bool assumes_cable = false;      // the cable length is not specified
  double port_mtu = 0;             // bytes: the largest frame that the peer may have just started to send
  double lossless_mtu = 0;         // bytes: the largest frame of the class
  double ip_mtu = 0;               // bytes: the MTU that the port's kernel driver uses
  std::optional<double> small_packet_percent{};  // that fill their cells badly; none: the platform's default
};

enum class HeadroomRule : std::uint8_t { sonic, table, mlx5 };

// Bytes for one lossless class of one port.
struct Headroom {
  std::uint64_t xoff = 0;        // still arriving after XOFF was sent
  std::uint64_t xon = 0;         // the pipeline
  std::uint64_t xon_offset = 0;  // XON is also sent once this much less is held than when XOFF was sent
  std::uint64_t size = 0;        // the total that it may take: both, plus a frame on ports of eight lanes
  // Of `size`, what no other class can use; the rest comes from the shared headroom. Equal to `size` if
  // nothing is shared.
  std::uint64_t reserved = 0;
  HeadroomRule rule = HeadroomRule::sonic;
  std::vector<Constant> constants;
};
Result<Headroom> pfc_headroom(const Platform& platform, const HeadroomAsk& ask);

// Where PFC fires: the depth of an egress queue at which an ingress priority group crosses its dynamic
// threshold: a group may hold alpha x the free part of `shared` bytes, which `ports` ports and their
// `priorities` lossless priorities share. The depth depends on what else is congested: these are bounds of
// models, not measurements of a chip.
struct PfcPoint {
  double alpha = 1;
  std::uint32_t ports = 1;
  std::uint32_t priorities = 1;
  std::uint64_t shared = 0;

  // Every egress queue that can be congested is congested, each fed equally by two ports (the fewest that can
  // congest it), each port feeding one: Q / 2 = alpha (shared - Q ports priorities / 2).
  std::uint64_t even() const;
  // Only one queue is congested, fed by two ports: Q / 2 = alpha (shared - Q). The highest of the three
  // depths.
  std::uint64_t lone() const;
  // The lowest depth: everything queued in all egress queues of each priority, Q in each, came in through one
  // port: Q ports = alpha (shared - Q ports priorities). The published bound (Zhu et al., Congestion Control
  // for Large-Scale RDMA Deployments, SIGCOMM 2015, 4: t_ECN < beta (B - 8 n t_flight) / (8 n (beta + 1)),
  // with all 8 priorities and alpha = beta / 8): a fan-out, one port into all queues. Below it no port is
  // paused, whatever the traffic; above it PFC may fire first, though it does not in most traffic.
  std::uint64_t bound() const;
};
// "alpha 1, 4 ports share 157MB"
std::string terms_of(const PfcPoint& point);
// A byte count of about four digits, for comparison by people.
std::string about(std::uint64_t bytes);

// Thresholds for `ecn: auto`: those that the platform's vendor ships or documents, if the platform has them;
// else Huawei's published row for 100G, throughput first (RTT 20 us, BDP 250 KB: Kmin 200 KB, Kmax 750 KB,
// Pmax 10 %), in proportion to the bandwidth-delay product: Kmin 0.8, Kmax 3 BDP. At 400G this is 800/3000
// KB; Cisco publishes 950/3000 KB and 7 % there. If PFC would fire earlier, both shrink in proportion, so
// that Kmin is within the published bound and Kmax at most the depth at which PFC fires under even
// congestion; but Kmin is never below ecn_floor().
struct EcnThresholds {
  std::uint64_t kmin = 0;  // bytes
  std::uint64_t kmax = 0;
  Ratio pmax;
  bool shrunk = false;
  std::vector<Constant> constants;
};
struct EcnAsk {
  std::uint64_t speed = 0;   // bit/s
  std::uint32_t ip_mtu = 0;  // bytes
  const PublishedEcn* published = nullptr;
  std::optional<PfcPoint> fires{};
};
EcnThresholds ecn_auto(const EcnAsk& ask);
// Bytes: the lowest Kmin with which senders still fill a link: the larger of DCQCN's own, 5 KB at 40 Gb/s
// (Zhu et al. 2015, 5.2 and 6) in proportion to the speed, and two of RoCE's largest packets.
std::uint64_t ecn_floor(std::uint64_t speed, std::uint32_t ip_mtu);
// Bytes of RoCE's largest frame on a port of this IP MTU.
std::uint64_t roce_frame(std::uint32_t ip_mtu);

}  // namespace lockstep
