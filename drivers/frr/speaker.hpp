// Speaker and BfdProfile: what a running-config means once FRR's omissions are filled in.
//
// FRR prints only what differs from the defaults of its `frr defaults` profile, so a missing line has a value
// too: these structs always hold the effective value. Promises: pure; lines that lockstep does not model
// (route maps, numbered neighbours, descriptions, other VRFs) change nothing here. Sources: FRR 8.4
// bgpd/bgp_vty.c (FRR_CFG_DEFAULT_*), bfdd/bfd.h (BFD_DEF*), README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/frr/running_config.hpp"

namespace lockstep::frr {

struct BfdProfile {
  std::string name;
  std::int64_t transmit_ms = 300;  // BFD_DEFDESIREDMINTX
  std::int64_t receive_ms = 300;   // BFD_DEFREQUIREDMINRX
  std::int64_t multiplier = 3;     // BFD_DEFDETECTMULT
};

struct Timers {
  std::int64_t keepalive_s;
  std::int64_t hold_s;
  bool operator==(const Timers&) const = default;
};
// What a session uses if its other end proposes no smaller hold time (bgp_open_receive, bgp_packet.c).
Timers agreed_alone(const Timers& proposed);

// A neighbour on an interface (unnumbered).
struct Neighbor {
  std::string interface;
  std::string remote_as;  // "external", "internal", a number; empty: none
  std::string group;      // peer group whose settings apply where the neighbour has none; empty: none
  std::optional<Timers> own_timers;
  Timers usual_timers;             // without its own: the group's, else the speaker's
  Timers timers;                   // proposed to the other end
  std::optional<std::string> bfd;  // its BFD session's profile, kNoProfile for FRR's default timers
  bool shutdown = false;
  bool activated = false;  // exchanges IPv4 unicast
};

// The value of Neighbor::bfd when BFD watches without a profile; not a name that FRR would accept.
inline constexpr std::string_view kNoProfile = "(default timers)";

struct Speaker {
  std::int64_t asn = 0;
  std::string header;     // "router bgp 65001"
  std::string router_id;  // as configured; empty: FRR chooses
  bool multipath_relax = false;
  bool graceful_shutdown = false;
  bool requires_policy = true;  // RFC 8212: without a policy an eBGP session exchanges nothing
  std::int64_t max_paths = 0;
  Timers default_timers{};
  std::vector<Neighbor> neighbors;
  std::vector<std::string> redistribute;
  std::vector<std::string> aggregates;  // summary-only ones

  const Neighbor* neighbor(std::string_view interface) const;
};

// bgpd's compile-time limit for one ECMP group, from `show version` ("--enable-multipath=256"): the value of
// maximum-paths if its line is missing.
std::int64_t max_paths_built_in(std::string_view show_version);
// "8.4.4", from the same ("FRRouting 8.4.4 (leaf0) on Linux(...)."); empty: it is not there.
std::string version_in(std::string_view show_version);

// The speaker of the default VRF; none: no such `router bgp`.
std::optional<Speaker> speaker_of(const RunningConfig& config, std::int64_t max_paths_default);

std::vector<BfdProfile> bfd_profiles_of(const RunningConfig& config);

}  // namespace lockstep::frr
