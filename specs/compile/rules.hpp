// The rules by which compile derives entries, by name, with the sentence that `explain` shows. A name that is
// not listed here is a spec field, and the entry is copied from that field.
#pragma once

#include <array>
#include <string_view>

namespace lockstep {

struct RuleText {
  std::string_view name;
  std::string_view sentence;
};

namespace rule {
inline constexpr std::string_view cabling = "cabling";
inline constexpr std::string_view lldp_peer = "lldp-peer";
inline constexpr std::string_view host_link_address = "host-link-address";
inline constexpr std::string_view connected_route = "connected-route";
inline constexpr std::string_view loopback = "loopback";
inline constexpr std::string_view link_speed = "link-speed";
inline constexpr std::string_view twin_rate = "twin-rate";
inline constexpr std::string_view twin_offload = "twin-offload";
inline constexpr std::string_view rail_table = "rail-table";
inline constexpr std::string_view rail_rule = "rail-rule";
inline constexpr std::string_view rail_routes = "rail-routes";
inline constexpr std::string_view rail_arp = "rail-arp";
inline constexpr std::string_view rail_filter = "rail-filter";
inline constexpr std::string_view pool_filters = "pool-filters";
inline constexpr std::string_view pool_traffic = "pool-traffic";
inline constexpr std::string_view forwarding = "forwarding";
inline constexpr std::string_view link_local = "link-local";
inline constexpr std::string_view linkdown = "ignore-linkdown";
inline constexpr std::string_view hash_policy = "hash-policy";
inline constexpr std::string_view bgp = "bgp-unnumbered";
inline constexpr std::string_view router_id = "router-id";
inline constexpr std::string_view asn = "asn";
inline constexpr std::string_view aggregate = "leaf-aggregate";
inline constexpr std::string_view timers_default = "bgp-timers-default";
inline constexpr std::string_view paths_default = "ecmp-default";
inline constexpr std::string_view session = "session-up";
inline constexpr std::string_view session_timers = "session-timers";
inline constexpr std::string_view daemon = "daemon-answers";
inline constexpr std::string_view saved = "routing-saved";
inline constexpr std::string_view switch_saved = "switch-saved";
inline constexpr std::string_view switch_taken_over = "switch-taken-over";
inline constexpr std::string_view ecmp_routes = "ecmp-routes";
inline constexpr std::string_view ecmp_paths = "ecmp-paths";
inline constexpr std::string_view owned_whole = "owned-whole";
inline constexpr std::string_view default_class = "default-class";
inline constexpr std::string_view ecn_auto = "ecn-auto";
inline constexpr std::string_view ecn_software = "ecn-software";
inline constexpr std::string_view headroom = "pfc-headroom";
inline constexpr std::string_view shared_headroom = "shared-headroom";
inline constexpr std::string_view dynamic_threshold = "dynamic-threshold";
inline constexpr std::string_view cable_length = "cable-length";
inline constexpr std::string_view no_pause = "no-global-pause";
inline constexpr std::string_view dcbx = "dcbx-host";
inline constexpr std::string_view roce_tos = "roce-tos";
inline constexpr std::string_view nccl = "nccl";
inline constexpr std::string_view cnp_dscp = "cnp-dscp";
inline constexpr std::string_view cnp_priority = "cnp-priority";
inline constexpr std::string_view max_rate = "max-rate";
}  // namespace rule

inline constexpr std::array kRules{
    RuleText{rule::cabling, "a port that a cabling rule names must exist, be up and have a carrier"},
    RuleText{rule::lldp_peer, "LLDP must show the port that the cabling rule has at the other end"},
    RuleText{rule::host_link_address,
             "each host link has a /31 (RFC 3021; IPv6 /127, RFC 6164) of its leaf's block, by the leaf "
             "port's place "
             "in the block: the leaf has the even address, the host the odd one"},
    RuleText{rule::connected_route,
             "the kernel routes the network of each address by its port: next hops on it are found so"},
    RuleText{rule::loopback, "each switch has one address of the loopbacks' pool, by its number"},
    RuleText{rule::link_speed, "both ends of a link run at the speed that one of them says"},
    RuleText{rule::twin_rate, "a twin's fastest link runs at --link-rate, all others in proportion"},
    RuleText{rule::twin_offload,
             "segmentation offload is off in a twin: 64 kB super-packets pass veth's MTU check and would "
             "hide an MTU "
             "fault (measured: 0.92 Gb/s through a 1500/9000 mismatch)"},
    RuleText{rule::rail_table,
             "each rail has a routing table of its own, whose default leaves by that rail's leaf"},
    RuleText{rule::rail_rule,
             "what is sent from a rail's address leaves by that rail: its table is looked up"},
    RuleText{rule::rail_routes,
             "what is sent from no particular address leaves by the rail whose leaf the destination is on, "
             "else by all "
             "rails alike"},
    RuleText{rule::rail_arp,
             "a rail answers and asks ARP only for its own address (Linux ip-sysctl: arp_ignore 1, "
             "arp_announce 2)"},
    RuleText{rule::rail_filter,
             "loose reverse-path filter (RFC 3704 2.4; Linux ip-sysctl: rp_filter 2): with several rails the "
             "way back "
             "may differ from the main table's"},
    RuleText{rule::pool_filters,
             "packet filters of others that can drop or redirect what goes to the pool's addresses, on ports "
             "that the Fabric cables, are shown; they are findings, and no drift"},
    RuleText{
        rule::pool_traffic,
        "what goes to the pool's addresses goes where the Fabric's routes and rules lead it; no route, rule, "
        "address or fixed neighbor of others changes that"},
    RuleText{rule::forwarding, "a switch forwards"},
    RuleText{rule::link_local,
             "unnumbered BGP needs a link-local address on every fabric link (RFC 8950; Linux ip-sysctl: "
             "disable_ipv6 "
             "0, addr_gen_mode 0)"},
    RuleText{
        rule::linkdown,
        "a route over a link without carrier is not used (Linux ip-sysctl: ignore_routes_with_linkdown)"},
    RuleText{rule::hash_policy,
             "the kernel's hash for the fields that are named (Linux ip-sysctl: fib_multipath_hash_policy 0: "
             "addresses, 3: any fields; not 1, by which a packet from a container keeps its socket's hash)"},
    RuleText{rule::bgp, "every fabric link of a switch carries one unnumbered session (RFC 8950)"},
    RuleText{rule::router_id,
             "the router id is the loopback's address, or the switch's number where that is IPv6"},
    RuleText{rule::asn,
             "a switch's AS number is its number in the tier's range; a range of one is shared by the tier"},
    RuleText{rule::aggregate, "a leaf announces its block as one prefix"},
    RuleText{rule::timers_default,
             "3 s and 9 s where none are said: the defaults of FRR's datacenter profile"},
    RuleText{rule::paths_default, "64 equal paths where none are said: what a leaf with 64 uplinks can use"},
    RuleText{rule::session, "a session that is configured must be up"},
    RuleText{rule::session_timers,
             "a session runs with the smaller hold time of its ends, and with a third of it between "
             "keepalives at most (RFC 4271, 4.2 and 4.4)"},
    RuleText{rule::daemon,
             "what speaks a protocol must answer: a daemon that is dead or hangs leaves behind what it last "
             "did, and nothing follows any more"},
    RuleText{rule::saved,
             "what FRR runs must be in the file that its next start loads: else an old value comes back "
             "with it"},
    RuleText{rule::switch_saved,
             "SONiC keeps its configuration in memory: its next boot loads a file, which must have what is "
             "configured"},
    RuleText{
        rule::switch_taken_over,
        "a row of SONiC's configuration is a wish until its daemons have passed it on to the kernel and the "
        "ASIC"},
    RuleText{rule::ecmp_routes,
             "every other leaf's block must be in the kernel's table over all shortest paths that go up and "
             "then down"},
    RuleText{rule::ecmp_paths,
             "with more shortest paths than may be used, so many as may: which of them is the switch's own "
             "choice"},
    RuleText{rule::owned_whole,
             "what an object covers it owns whole: members that it does not name are removed"},
    RuleText{rule::default_class,
             "every DSCP and every priority that no class names belongs to the default class"},
    RuleText{rule::ecn_auto,
             "the thresholds that the platform's vendor publishes, else in proportion to the bandwidth-delay "
             "product; below where PFC would fire, and no less than senders need to fill a link; in a twin "
             "no less "
             "than a kernel's queue needs"},
    RuleText{rule::ecn_software,
             "65,536 B at 1 Gb/s (measured on a kernel qdisc: no drop and no loss of throughput in 3 to 1 "
             "incast), in "
             "proportion to the link's rate, two packets at least"},
    RuleText{rule::headroom, "what may still arrive after a pause was sent, from the platform's constants"},
    RuleText{rule::shared_headroom,
             "what all lossless classes may ask for together, divided by the oversubscription; where none is "
             "written, what the platform's vendor gives to all"},
    RuleText{rule::dynamic_threshold, "the platform's: alpha = 2^n of what is free"},
    RuleText{
        rule::cable_length,
        "a driver that computes headroom itself uses the cable length of the cabling rule, rounded up to a "
        "metre, else 300 m, as the proofs do"},
    RuleText{rule::no_pause,
             "global pause is off where PFC is in use (IEEE 802.1Qbb: a port uses one or the other)"},
    RuleText{rule::dcbx, "the host decides, no peer does: DCBX in host mode, IEEE version (dcb-dcbx(8))"},
    RuleText{rule::roce_tos,
             "the first DSCP << 2 of the class that carries the fabric's RDMA (of backends compute, of "
             "storage fabrics storage), with ECT(0) (RFC 3168)"},
    RuleText{rule::nccl,
             "NCCL uses the RDMA ports of the host's backend fabrics, with the ToS of the class that "
             "carries compute in the first one's profile"},
    RuleText{rule::cnp_dscp, "the first DSCP of the class that carries congestion notifications"},
    RuleText{rule::cnp_priority,
             "the priority of the class that carries congestion notifications: in a VLAN tag it says what "
             "their DSCP says"},
    RuleText{rule::max_rate, "a share is of the link's rate"},
};

// Empty: the rule is a spec field.
constexpr std::string_view rule_sentence(std::string_view name) {
  for (const RuleText& one : kRules)
    if (one.name == name) return one.sentence;
  return {};
}

}  // namespace lockstep
