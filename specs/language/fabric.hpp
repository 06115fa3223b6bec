// Fabric: one network (backend, frontend or storage): topology, cabling, addressing, routing, MTU, load
// balancing. RoceProfile: one lossless/QoS policy for both ends of every link.
#pragma once

#include "specs/language/dcqcn.hpp"
#include "specs/language/nccl.hpp"
#include "specs/language/object.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {

enum class FabricRole : std::uint8_t { backend, frontend, storage };
constexpr auto words(FabricRole) {
  return std::to_array<std::string_view>({"backend", "frontend", "storage"});
}

enum class TopologyKind : std::uint8_t { rail_optimized, leaf_spine, rail_only };
constexpr auto words(TopologyKind) {
  return std::to_array<std::string_view>({"rail-optimized", "leaf-spine", "rail-only"});
}

enum class CablingRule : std::uint8_t { rail, mesh, pairs };
constexpr auto words(CablingRule) { return std::to_array<std::string_view>({"rail", "mesh", "pairs"}); }

enum class HostLink : std::uint8_t { p2p };
constexpr auto words(HostLink) { return std::to_array<std::string_view>({"p2p"}); }

enum class Family : std::uint8_t { ipv4, ipv6 };
constexpr auto words(Family) { return std::to_array<std::string_view>({"ipv4", "ipv6"}); }

enum class Protocol : std::uint8_t { bgp_unnumbered, none };
constexpr auto words(Protocol) { return std::to_array<std::string_view>({"bgp-unnumbered", "none"}); }

// The name of the field is loadBalancing.mode; LoadBalancing below holds it.
enum class Spreading : std::uint8_t { static_hash, flowlet, per_packet };
constexpr auto words(Spreading) {
  return std::to_array<std::string_view>({"static", "flowlet", "per-packet"});
}

enum class HashField : std::uint8_t {
  src_ip,
  dst_ip,
  src_port,
  dst_port,
  protocol,
  flow_label,
  dst_qp,
  ingress_port,
  inner_src_ip,
  inner_dst_ip,
  src_mac,
  dst_mac,
  ethertype,
  vlan
};
constexpr auto words(HashField) {
  return std::to_array<std::string_view>({"src-ip", "dst-ip", "src-port", "dst-port", "protocol",
                                          "flow-label", "dst-qp", "ingress-port", "inner-src-ip",
                                          "inner-dst-ip", "src-mac", "dst-mac", "ethertype", "vlan"});
}

// IP MTU, bytes.
struct Mtu {
  Said<std::uint32_t> host;
  Said<std::uint32_t> fabric;
};

// One line of an explicit list: hostlists of the same length, taken pairwise.
struct CablePair {
  Said<std::string> from;
  Said<std::string> to;
};

// A cabling law. from/to are `devices:ports` hostlists. by: pairs takes `from` and `to` (or `list`) pairwise.
struct Cabling {
  Said<std::string> from;
  Said<std::string> to;
  Said<CablingRule> by;
  std::vector<CablePair> list;
  Said<std::uint32_t> planes{1};
  Said<std::uint32_t> parallel{1};
  Said<BitRate> speed;
  Said<Length> cable_length;
  Position at;
};

struct Addressing {
  Said<Family> family;  // unset: the family of `hosts`
  Said<IpPrefix> hosts;
  Said<HostLink> host_link;
  Said<IpPrefix> loopbacks;
};

struct Asns {
  Said<AsnRange> host;
  Said<AsnRange> leaf;
  Said<AsnRange> spine;
  Said<AsnRange> superspine;
};
struct BgpTimers {
  Said<Duration> keepalive;
  Said<Duration> hold;
};
struct Bfd {
  Said<Duration> interval;
  Said<std::uint32_t> multiplier;
};
struct Ecmp {
  Said<std::uint32_t> max_paths;
};
// Hash seeds by tier; two tiers with the same seed polarise.
struct HashSeeds {
  Said<std::uint32_t> leaf;
  Said<std::uint32_t> spine;
  Said<std::uint32_t> superspine;
};
// The switch keeps its value for those that are not set.
struct Flowlets {
  Said<Duration> inactivity;    // a flow that pauses for this long may move
  Said<std::uint32_t> entries;  // distinguished flowlets in each group of equal paths
};
struct LoadBalancing {
  Said<Spreading> mode;
  Said<Flowlets> flowlets;
  Said<Ratio> link_utilization;  // of a link; above it adaptive routing avoids the link
  std::vector<Said<HashField>> hash_fields;
  Said<HashSeeds> seeds;
};

struct Routing {
  Said<Protocol> protocol;
  Said<Asns> asn;
  Said<BgpTimers> timers;
  Said<Bfd> bfd;
  Said<Ecmp> ecmp;
  Said<LoadBalancing> load_balancing;
};

struct Vlan {
  Said<std::uint32_t> id;
  Said<std::string> name;
  Said<IpPrefix> subnet;
  Said<IpAddress> gateway;
  Said<std::string> ports;  // `devices:ports`, a hostlist
  Said<bool> tagged;
};

// Expected foreign state, written exactly as one line of a drift report shows it; exactly one of the four.
struct AllowedState {
  Said<std::string> route;
  Said<std::string> rule;
  Said<std::string> neighbor;
  Said<std::string> filter;
  Said<std::string> reason;
  Said<Date> until;
  Position at;
};

struct Fabric : Object {
  Said<FabricRole> role;
  Said<TopologyKind> topology;
  Said<Mtu> mtu;
  std::vector<Cabling> cabling;
  Said<Addressing> addressing;
  Said<Routing> routing;
  Said<std::string> roce_profile;
  Said<Nccl> nccl;
  Said<std::string> vrf;
  std::vector<Vlan> vlans;
  std::vector<AllowedState> allow;
};

// dscp_pcp: IP packets by their DSCP, others by the priority in their VLAN tag.
enum class Trust : std::uint8_t { dscp, pcp, dscp_pcp };
constexpr auto words(Trust) { return std::to_array<std::string_view>({"dscp", "pcp", "dscp pcp"}); }

enum class Scheduling : std::uint8_t { dwrr, strict };
constexpr auto words(Scheduling) { return std::to_array<std::string_view>({"dwrr", "strict"}); }

enum class CongestionControl : std::uint8_t { dcqcn, none, vendor };
constexpr auto words(CongestionControl) {
  return std::to_array<std::string_view>({"dcqcn", "none", "vendor"});
}

enum class WatchdogAction : std::uint8_t { drop, forward, alert };
constexpr auto words(WatchdogAction) { return std::to_array<std::string_view>({"drop", "forward", "alert"}); }

// `auto` (computed from the platform's constants) or thresholds.
struct Ecn {
  bool automatic = false;
  Said<ByteCount> kmin;
  Said<ByteCount> kmax;
  Said<Ratio> pmax;
};

// What a class is for: compute RDMA (backend fabrics), storage RDMA, RDMA's own control packets (ACKs of some
// NICs), or congestion notification packets.
enum class Carried : std::uint8_t { compute, storage, control, cnp };
constexpr auto words(Carried) {
  return std::to_array<std::string_view>({"compute", "storage", "control", "cnp"});
}

struct TrafficClass {
  Said<std::string> name;
  std::vector<Said<Carried>> carries;  // unset: see roce_classes.hpp
  std::vector<Said<std::uint8_t>> dscp;
  Said<std::uint8_t> priority;                 // the priority that its DSCPs are mapped to
  std::vector<Said<std::uint8_t>> priorities;  // instead of `priority`, if it has several, ascending
  Said<std::uint8_t> tc;
  Said<Ratio> bandwidth;
  Said<Scheduling> scheduling;
  Said<RateOrRatio> max_rate;
  Said<bool> lossless;
  Said<Ecn> ecn;
  Said<Ecn> ecn_on_spines;  // on spines and superspines; unset: as `ecn`
  Position at;
};

// Ascending; the first is the one that the class's DSCPs are mapped to.
inline std::vector<Said<std::uint8_t>> priorities_of(const TrafficClass& one) {
  return one.priorities.empty() ? std::vector{one.priority} : one.priorities;
}

// The class of the DSCPs and priorities that no class lists.
inline constexpr std::string_view default_class_name = "default";

// How the buffer of a switch is divided; the platform's values apply to what is not set.
struct BufferPools {
  Said<Ratio> lossless;  // shared by lossless classes
  Said<Ratio> headroom;  // for data that arrives after XOFF
  Said<Ratio> lossy;
};
struct Buffers {
  Said<std::int32_t> dynamic_threshold;     // log2 of alpha (SONiC's dynamic_th)
  Said<std::uint32_t> oversubscription{1};  // of the shared headroom; 1: each class can use all of it
  Said<ByteCount> xon_offset;
  Said<BufferPools> pools;
};

struct Watchdog {
  Said<Duration> detection_time;
  Said<Duration> restoration_time;
  Said<WatchdogAction> action;
  Said<Duration> poll_interval;  // unset: not managed
};
struct Pfc {
  Said<Watchdog> watchdog;
  Said<bool>
      asymmetric;  // obeys pauses of every priority, sends them for the lossless ones; unset: not managed
};

struct RoceProfile : Object {
  Said<Trust> trust;
  std::vector<TrafficClass> classes;
  Said<CongestionControl> congestion_control;
  Said<Dcqcn> dcqcn;
  Said<Pfc> pfc;
  Said<Ratio> small_packets;  // unset: the platform's default
  Said<Buffers> buffers;
};

}  // namespace lockstep
