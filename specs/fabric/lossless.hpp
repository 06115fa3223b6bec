// The arithmetic of lossless Ethernet: PFC headroom, where PFC fires, and ECN thresholds that come before it.
//
// Promises: pure functions; each result carries every constant that it used with its source, for `explain`.
// A NIC whose kernel driver publishes its own rule (platform key headroomRule) is computed by that.
// Headroom is SONiC's dynamic buffer model (sonic-swss cfgmgr/buffer_headroom_mellanox.lua, after IEEE 802.3
// 31B.3.7) in bytes, not rounded to the NOS's grain; the Lua counts 1e9/1024 where this counts 1e6 (bytes on
// the cable are 2.4 % more here: the physical value). At an MTU of 9,216 B and the platform's own share of
// small packets it is never below the vendors' tables, from 10G on (headroom_tables_test.cpp). Where a
// platform's constants are not public, its vendor's table is used. Refuses: a platform without either
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
// The cable that is assumed where a law says none: SONiC's default_cable for a leaf's uplinks
// (sonic-buildimage rendered buffers-mellanox4600c, 300m). The longest, so that the proof errs to the safe
// side.
inline constexpr std::uint64_t kAssumedCableMillimetres = 300'000;
// Ethernet header, one 802.1Q tag and FCS: what a frame adds to an IP packet (IEEE 802.3 3.1.1, 802.1Q 9.6).
inline constexpr std::uint32_t kFrameOverhead = 14 + 4 + 4;

struct HeadroomAsk {
  std::uint64_t speed = 0;         // bit/s
  std::uint64_t cable_length = 0;  // millimetres
  double port_mtu = 0;             // bytes: the largest frame that may just have started towards us
  double lossless_mtu = 0;         // bytes: the largest frame of the class
  double ip_mtu = 0;               // bytes: what the port's kernel driver counts with
  std::optional<double> small_packet_percent{};  // that fill their cells badly; none: the platform's default
};

enum class HeadroomRule : std::uint8_t { sonic, table, mlx5 };

// Bytes for one lossless class of one port.
struct Headroom {
  std::uint64_t xoff = 0;        // still arriving after XOFF was sent
  std::uint64_t xon = 0;         // the pipeline
  std::uint64_t xon_offset = 0;  // XON is sent, too, once so much less is held than when XOFF was
  std::uint64_t size = 0;        // what it may take in all: both, and a frame more on ports of eight lanes
  // Of `size`, what no other class can have; the rest comes from the headroom that all share. All of it where
  // nothing is shared.
  std::uint64_t reserved = 0;
  HeadroomRule rule = HeadroomRule::sonic;
  std::vector<Constant> constants;
};
Result<Headroom> pfc_headroom(const Platform& platform, const HeadroomAsk& ask);

// Where PFC fires: the depth of an egress queue at which an ingress priority group crosses its dynamic
// threshold: it may hold alpha x what is free of `shared` bytes, which `ports` ports and their `priorities`
// lossless priorities share. How deep depends on what else is congested: these are bounds of models, and no
// measurement of a chip.
struct PfcPoint {
  double alpha = 1;
  std::uint32_t ports = 1;
  std::uint32_t priorities = 1;
  std::uint64_t shared = 0;

  // Every egress queue that can be congested is, each fed by two ports alike (the fewest that congest it at
  // all), each port feeding one: Q / 2 = alpha (shared - Q ports priorities / 2).
  std::uint64_t even() const;
  // One queue alone is congested, fed by two ports: Q / 2 = alpha (shared - Q). The latest of the three.
  std::uint64_t lone() const;
  // The earliest: all that waits in all egress queues of each priority, Q in each, came in by one port:
  // Q ports = alpha (shared - Q ports priorities). The published bound (Zhu et al., Congestion Control for
  // Large-Scale RDMA Deployments, SIGCOMM 2015, 4: t_ECN < beta (B - 8 n t_flight) / (8 n (beta + 1)), with
  // all 8 priorities and alpha = beta / 8): a fan-out, one port into all queues. Below it no port is paused,
  // whatever the traffic; above it PFC may fire first, and in most traffic does not.
  std::uint64_t bound() const;
};
// "alpha 1, 4 ports share 157MB"
std::string terms_of(const PfcPoint& point);
// A byte count of four digits or so: for a person to compare.
std::string about(std::uint64_t bytes);

// Thresholds for `ecn: auto`. Those that the platform's vendor ships or documents, if the platform has them;
// else Huawei's published row for 100G, throughput first (RTT 20 us, BDP 250 KB: Kmin 200 KB, Kmax 750 KB,
// Pmax 10 %), in proportion to the bandwidth-delay product: Kmin 0.8, Kmax 3 BDP. At 400G this is 800/3000
// KB; Cisco publishes 950/3000 KB and 7 % there. Where PFC would fire earlier, both shrink in proportion, so
// that Kmin is within the published bound and Kmax at most where PFC fires under even congestion; but Kmin
// never below ecn_floor().
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
// Bytes: the least Kmin with which senders still fill a link. DCQCN's own, 5 KB at 40 Gb/s (Zhu et al. 2015,
// 5.2 and 6), in proportion to the speed, and two of RoCE's largest packets.
std::uint64_t ecn_floor(std::uint64_t speed, std::uint32_t ip_mtu);
// Bytes of RoCE's largest frame on a port of this IP MTU.
std::uint64_t roce_frame(std::uint32_t ip_mtu);

}  // namespace lockstep
