// The arithmetic of lossless Ethernet: PFC headroom, where PFC fires, and ECN thresholds that come before it.
//
// Promises: pure functions; each result carries every constant that it used with its source, for `explain`.
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

struct HeadroomAsk {
  std::uint64_t speed = 0;         // bit/s
  std::uint64_t cable_length = 0;  // millimetres
  double port_mtu = 0;             // bytes: the largest frame that may just have started towards us
  double lossless_mtu = 0;         // bytes: the largest frame of the class
  std::optional<double> small_packet_percent{};  // that fill their cells badly; none: the platform's default
};

// Bytes for one lossless class of one port.
struct Headroom {
  std::uint64_t xoff = 0;  // still arriving after XOFF was sent
  std::uint64_t xon = 0;   // the pipeline
  std::uint64_t size = 0;  // what it may take in all: both, and a frame more on ports of eight lanes
  // Of `size`, what no other class can have; the rest comes from the headroom that all share. All of it where
  // nothing is shared.
  std::uint64_t reserved = 0;
  bool from_table = false;
  std::vector<Constant> constants;
};
Result<Headroom> pfc_headroom(const Platform& platform, const HeadroomAsk& ask);

// Where PFC fires: the depth of an egress queue at which an ingress priority group crosses its dynamic
// threshold.
//
// Model: `ports` ports share `shared` bytes; every congested egress queue is fed by `fan_in` ports alike,
// each port feeds one, and as many are congested as that allows (ports / fan_in). A group may hold alpha x
// what is free: Q / fan_in = alpha (shared - Q ports / fan_in), so Q = alpha fan_in shared / (1 + alpha
// ports). The usual worst case (all of all queues from one port: Zhu et al., DCQCN, SIGCOMM 2015, section 4)
// is fan_in 1.
struct PfcPoint {
  std::uint64_t queue = 0;  // bytes
  double alpha = 1;
  std::uint32_t fan_in = 2;
  std::uint32_t ports = 1;
  std::uint64_t shared = 0;
};
// Two ports into one of the same speed: the fewest that congest it at all.
inline constexpr std::uint32_t kFanIn = 2;
PfcPoint pfc_point(std::uint64_t shared, double alpha, std::uint32_t ports, std::uint32_t fan_in = kFanIn);
// "alpha 1, 2 ports into one, 4 ports share 157MB"
std::string terms_of(const PfcPoint& point);
// A byte count of four digits or so: for a person to compare.
std::string about(std::uint64_t bytes);

// Thresholds for `ecn: auto`. Rule: Huawei's published row for 100G, throughput first (RTT 20 us, BDP 250 KB:
// Kmin 200 KB, Kmax 750 KB, Pmax 10 %), in proportion to the bandwidth-delay product: Kmin 0.8, Kmax 3 BDP.
// At 400G this is 800/3000 KB; Cisco publishes 950/3000 KB and 7 % there. Where PFC would fire earlier, both
// shrink in proportion so that Kmax lies at the point where it fires.
struct EcnThresholds {
  std::uint64_t kmin = 0;  // bytes
  std::uint64_t kmax = 0;
  Ratio pmax;
  bool shrunk = false;
  std::vector<Constant> constants;
};
EcnThresholds ecn_auto(std::uint64_t speed, std::optional<PfcPoint> fires = std::nullopt);

}  // namespace lockstep
