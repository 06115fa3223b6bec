// The field tables of Fabric, and the rules between its fields.
#include "specs/language/fabric.hpp"

#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr std::string_view mtu_range = "IPv4 needs 68 (RFC 791); a length field holds 65535";
constexpr Limits mtu_limits{.required = true, .least = 68, .most = 65535, .why = mtu_range};
constexpr std::int64_t second = 1'000'000'000;

// Addresses that no interface can have (RFC 6890; RFC 5771; RFC 4291 2.4).
constexpr std::pair<std::string_view, std::string_view> special_blocks[] = {
    {"0.0.0.0/8", "\"this network\""}, {"127.0.0.0/8", "the loopback"}, {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},       {"::/127", "the loopback"},      {"fe80::/10", "link-local"},
    {"ff00::/8", "multicast"}};
constexpr std::string_view pool_pattern =
    "^(?!(0|127|22[4-9]|2[3-9][0-9])[.]|[Ff]([Ff]..|[Ee][89AaBb].):|::1?/)";

constexpr Field mtu_fields[] = {
    field<&Mtu::host>("host", "IP MTU of hosts' interfaces, bytes", mtu_limits),
    field<&Mtu::fabric>("fabric", "IP MTU between switches, bytes", mtu_limits),
};
constexpr Field cable_pair_fields[] = {
    field<&CablePair::from>("from", "devices:ports", {.required = true, .form = Form::ports}),
    field<&CablePair::to>("to", "devices:ports, as many", {.required = true, .form = Form::ports}),
};
constexpr Field cabling_fields[] = {
    field<&Cabling::from>("from", "devices:ports, a hostlist",
                          {.form = Form::ports, .otherwise = "required unless list is written"}),
    field<&Cabling::to>("to", "devices:ports, a hostlist",
                        {.form = Form::ports, .otherwise = "required unless list is written"}),
    field<&Cabling::by>(
        "by", "the rule: rail r of host i -> leaf r, port i; every device with every other; or in pairs",
        {.required = true}),
    field<&Cabling::list>("list", "pairs of devices:ports, where no rule fits", {.not_empty = true}),
    field<&Cabling::planes>("planes", "separate copies of the network, port by port",
                            {.least = 1, .most = 64, .otherwise = "1"}),
    field<&Cabling::parallel>("parallel", "cables between the same two devices",
                              {.least = 1, .most = 128, .otherwise = "1"}),
    field<&Cabling::speed>(
        "speed", "the links' speed",
        {.least = 1, .range = "more than 0bps", .otherwise = "that of the ports or interfaces at its ends"}),
    field<&Cabling::cable_length>("cableLength", "for the headroom: light in a cable takes time",
                                  {.least = 1,
                                   .most = 100'000'000,
                                   .range = "more than 0m, to 100km",
                                   .otherwise = "unknown: headroom is computed for 300m (LS117)"}),
};
constexpr Field addressing_fields[] = {
    field<&Addressing::family>("family", "ipv4 or ipv6", {.otherwise = "that of hosts"}),
    field<&Addressing::hosts>("hosts", "the pool of the host links",
                              {.required = true, .pattern = pool_pattern}),
    field<&Addressing::host_link>("hostLink", "p2p: a small prefix for each link to a host",
                                  {.otherwise = "p2p"}),
    field<&Addressing::loopbacks>(
        "loopbacks", "the pool of the switches' loopbacks",
        {.pattern = pool_pattern, .otherwise = "none: switches have no loopback address"}),
};
constexpr Field asn_fields[] = {
    field<&Asns::host>("host", "AS numbers of hosts that speak BGP"),
    field<&Asns::leaf>("leaf", "AS numbers of leaves, one each"),
    field<&Asns::spine>("spine", "the spines' AS number, or a range"),
    field<&Asns::superspine>("superspine", "the superspines' AS number, or a range"),
};
constexpr Field timer_fields[] = {
    field<&BgpTimers::keepalive>(
        "keepalive", "between keepalives; BGP counts whole seconds",
        {.least = second, .most = 65535 * second, .range = "1s to 65535s", .otherwise = "3s"}),
    field<&BgpTimers::hold>("hold", "silence after which a session is down",
                            {.most = 65535 * second, .range = "0s to 65535s", .otherwise = "9s"}),
};
constexpr Field bfd_fields[] = {
    field<&Bfd::interval>("interval", "between BFD packets, both ways",
                          {.least = 10'000'000,
                           .most = 60 * second,
                           .range = "10ms to 60s",
                           .why = "FRR's range",
                           .otherwise = "300ms"}),
    field<&Bfd::multiplier>(
        "multiplier", "packets lost before the session is down",
        {.least = 2, .most = 255, .why = "FRR's range; RFC 5880 4.1 gives it 8 bits", .otherwise = "3"}),
};
constexpr Field ecmp_fields[] = {
    field<&Ecmp::max_paths>(
        "maxPaths", "equal next hops used at once",
        {.least = 1, .most = 256, .why = "FRR is built for at most 256", .otherwise = "64"}),
};
constexpr Field seed_fields[] = {
    field<&HashSeeds::leaf>("leaf", "the leaves' seed"),
    field<&HashSeeds::spine>("spine", "the spines' seed"),
    field<&HashSeeds::superspine>("superspine", "the superspines' seed"),
};
constexpr std::int64_t microsecond = 1000;
constexpr Field flowlet_fields[] = {
    field<&Flowlets::inactivity>(
        "inactivity", "a flow that pauses so long may take another path",
        {.least = microsecond,
         .most = 2047 * microsecond,
         .range = "1us to 2047us",
         .why = "SONiC's ARS HLD, flowlet_idle_time: 2 to 2047, default 256; Juniper's DLB 256, IP "
                "Infusion's 16 to 256"}),
    field<&Flowlets::entries>(
        "entries", "flowlets distinguished, of each group of equal paths",
        {.least = 256, .most = 32768, .why = "Juniper's flowset table: 256 to 32,768, default 2,048"}),
};
constexpr Field balancing_fields[] = {
    field<&LoadBalancing::mode>("mode", "static hash, flowlets, or packet by packet",
                                {.otherwise = "static"}),
    field<&LoadBalancing::flowlets>("flowlets", "when a flow may move, with mode: flowlet"),
    field<&LoadBalancing::link_utilization>(
        "linkUtilization", "share of a link from which adaptive routing avoids it, with mode: per-packet",
        {.least = 10'000,
         .most = 1'000'000,
         .range = "1% to 100%",
         .why = "Cumulus Linux: link-utilization-threshold, default 70%, off globally",
         .otherwise = "unmanaged"}),
    field<&LoadBalancing::hash_fields>("hashFields", "what the hash is computed from",
                                       {.not_empty = true, .otherwise = "unmanaged"}),
    field<&LoadBalancing::seeds>("seeds", "hash seeds by tier"),
};
constexpr Field routing_fields[] = {
    field<&Routing::protocol>("protocol", "bgp-unnumbered (RFC 8950), or none", {.required = true}),
    field<&Routing::asn>("asn", "AS numbers by role"),
    field<&Routing::timers>("timers", "BGP keepalive and hold times"),
    field<&Routing::bfd>("bfd", "fast detection of lost neighbors", {.otherwise = "no BFD"}),
    field<&Routing::ecmp>("ecmp", "use of equal paths"),
    field<&Routing::load_balancing>("loadBalancing", "how flows are spread over equal paths"),
};
constexpr Field vlan_fields[] = {
    field<&Vlan::id>(
        "id", "the VLAN's number",
        {.required = true, .least = 1, .most = 4094, .why = "IEEE 802.1Q table 9-2 reserves 0 and 4095"}),
    field<&Vlan::name>("name", "a name for people", {.form = Form::name, .otherwise = "none"}),
    field<&Vlan::subnet>("subnet", "its prefix", {.otherwise = "none"}),
    field<&Vlan::gateway>("gateway", "its router, an address of the subnet", {.otherwise = "none"}),
    field<&Vlan::ports>("ports", "devices:ports, a hostlist", {.form = Form::ports, .otherwise = "none"}),
    field<&Vlan::tagged>("tagged", "true if frames carry the tag on these ports", {.otherwise = "false"}),
};
constexpr Field allow_fields[] = {
    field<&AllowedState::route>("route", "a route, as `lockstep drift` shows it", {.form = Form::filled}),
    field<&AllowedState::rule>("rule", "a rule, as `lockstep drift` shows it", {.form = Form::filled}),
    field<&AllowedState::neighbor>("neighbor", "a fixed neighbor, as `lockstep drift` shows it",
                                   {.form = Form::filled}),
    field<&AllowedState::filter>("filter", "a packet filter, as `lockstep drift` shows it",
                                 {.form = Form::filled}),
    field<&AllowedState::reason>("reason", "why", {.required = true, .form = Form::sentence}),
    field<&AllowedState::until>("until", "the last day; after it what is named counts again",
                                {.required = true}),
};
constexpr Field fields[] = {
    field<&Fabric::role>("role", "backend, frontend or storage", {.required = true}),
    field<&Fabric::topology>("topology", "rail-optimized, leaf-spine or rail-only", {.required = true}),
    field<&Fabric::mtu>("mtu", "IP MTU; drivers translate it to what each platform counts",
                        {.otherwise = "unmanaged"}),
    field<&Fabric::cabling>("cabling", "cabling rules, checked against LLDP",
                            {.required = true, .not_empty = true}),
    field<&Fabric::addressing>("addressing", "address pools"),
    field<&Fabric::routing>("routing", "how routes are learned and used"),
    field<&Fabric::roce_profile>("roceProfile", "the RoceProfile on every link",
                                 {.form = Form::name, .otherwise = "none: lossy, without QoS settings"}),
    field<&Fabric::nccl>("nccl", "NCCL's settings for a backend, on its hosts"),
    field<&Fabric::vrf>("vrf", "the routing instance, where fabrics share switches",
                        {.form = Form::name, .otherwise = "none: the main routing table"}),
    field<&Fabric::vlans>("vlans", "VLANs of a frontend"),
    field<&Fabric::allow>("allow", "foreign state that is wanted, each with a reason and an end date"),
};

void check_cabling(const Cabling& law, Span span, Reporter& reporter) {
  if (!law.by.said) return;
  const bool both = law.from.said && law.to.said;
  if (!law.list.empty() && law.by.value != CablingRule::pairs)
    reporter.error(code::fields_conflict, {law.by.at, 1}, "list goes with by: pairs only");
  if (!law.list.empty() && (law.from.said || law.to.said))
    reporter.error(code::fields_conflict, span, "from and to are written beside list",
                   "move them into the list");
  // A misspelt `from` has already been reported; this would be redundant.
  const bool written = law.from.at.line != 0 && law.to.at.line != 0;
  if (law.list.empty() && !both && !written)
    reporter.error(
        code::missing_field, span, "a cabling rule needs 'from' and 'to'",
        law.by.value == CablingRule::pairs ? "or a list of pairs" : "write devices:ports for each");
}

void check_pool(const Said<IpPrefix>& pool, std::string_view name, Reporter& reporter) {
  if (!pool.said) return;
  if (!pool->is_network())
    return reporter.error(code::bad_prefix, {pool.at, 1},
                          std::string(name) + " " + pool->text() + " is not a network address",
                          "did you mean '" + pool->network().text() + "'?");
  for (const auto& [text, what] : special_blocks)
    if (const auto block = IpPrefix::parse(text); block && pool->overlaps(*block))
      return reporter.error(code::bad_prefix, {pool.at, 1},
                            std::string(name) + " " + pool->text() + " overlaps " + std::string(text) + ", " +
                                std::string(what),
                            "take a pool such as 10.64.0.0/16 or fd00:64::/48 (RFC 6890)");
}

void check_addressing(const Addressing& pools, Span, Reporter& reporter) {
  check_pool(pools.hosts, "hosts", reporter);
  check_pool(pools.loopbacks, "loopbacks", reporter);
  if (pools.hosts.said && pools.loopbacks.said && pools.hosts->overlaps(*pools.loopbacks))
    reporter.error(code::bad_prefix, {pools.loopbacks.at, 1},
                   "loopbacks " + pools.loopbacks->text() + " overlap hosts " + pools.hosts->text(),
                   "take two pools that share no address", {{pools.hosts.at, "hosts are here"}});
  if (pools.family.said && pools.hosts.said &&
      (pools.family.value == Family::ipv6) != pools.hosts->address.v6)
    reporter.error(
        code::bad_prefix, {pools.hosts.at, 1},
        "hosts " + pools.hosts->text() + " is not of the family " + std::string(to_string(*pools.family)), "",
        {{pools.family.at, "the family is set here"}});
}

void check_timers(const BgpTimers& timers, Span, Reporter& reporter) {
  const auto whole = [&](const Said<Duration>& one, std::string_view name) {
    if (one.said && one->count() % second != 0)
      reporter.error(code::timers, {one.at, 1},
                     std::string(name) + " " + format(*one) + " is not in whole seconds",
                     "RFC 4271 counts these timers in seconds");
  };
  whole(timers.keepalive, "keepalive");
  whole(timers.hold, "hold");
  if (!timers.hold.said || timers.hold->count() == 0) return;
  if (timers.hold->count() < 3 * second)
    reporter.error(code::timers, {timers.hold.at, 1}, "hold " + format(*timers.hold) + " is less than 3s",
                   "RFC 4271 4.2");
  else if (timers.keepalive.said && *timers.keepalive >= *timers.hold)
    reporter.error(code::timers, {timers.keepalive.at, 1},
                   "keepalive " + format(*timers.keepalive) + " is not below hold " + format(*timers.hold),
                   "a third of hold is usual (RFC 4271 4.4)", {{timers.hold.at, "hold is here"}});
}

void check_balancing(const LoadBalancing& one, Span, Reporter& reporter) {
  if (one.flowlets.said && *one.mode != Spreading::flowlet)
    reporter.error(code::fields_conflict, {one.flowlets.at, 1}, "flowlets are of mode: flowlet only",
                   "write mode: flowlet");
  std::array<Position, words_of<HashField>.size()> first{};
  for (const auto& named : one.hash_fields) {
    if (!named.said) continue;
    Position& seen = first[static_cast<std::size_t>(*named)];
    if (seen.line != 0)
      reporter.error(code::written_twice, {named.at, 1}, in_quotes(to_string(*named)) + " is written twice",
                     "", {{seen, "first written here"}});
    seen = named.at;
  }
}

// Not among the fields of LoadBalancing, because an override sets only one of them.
void check_routing(const Routing& routing, Span, Reporter& reporter) {
  const LoadBalancing& one = *routing.load_balancing;
  if (one.link_utilization.said && *one.mode != Spreading::per_packet)
    reporter.error(code::fields_conflict, {one.link_utilization.at, 1},
                   "linkUtilization is of adaptive routing: mode: per-packet", "write mode: per-packet");
}

void check_vlan(const Vlan& vlan, Span, Reporter& reporter) {
  if (vlan.gateway.said && vlan.subnet.said && !vlan.subnet->contains(*vlan.gateway))
    reporter.error(code::bad_prefix, {vlan.gateway.at, 1},
                   "gateway " + vlan.gateway->text() + " is not in " + vlan.subnet->text(), "",
                   {{vlan.subnet.at, "the subnet is here"}});
}

// In the format in which a driver reports it (drivers/linux/diversion: words.hpp, packet_filters.hpp,
// port_filters.hpp).
bool is_route(std::string_view text) {
  const std::size_t end = text.find(' ');
  if (end == text.npos || text.find(" proto ") == text.npos) return false;
  const std::string_view rest = text.substr(end + 1);
  return IpPrefix::parse(text.substr(0, end)) || IpPrefix::parse(rest.substr(0, rest.find(' ')));
}
bool is_rule(std::string_view text) { return text.starts_with("rule "); }
bool is_neighbor(std::string_view text) {
  return IpAddress::parse(text.substr(0, text.find(' '))) && text.find(" at ") != text.npos;
}
bool is_filter(std::string_view text) {
  return text.starts_with("nft ") || text.starts_with("tc ") || text.starts_with("XDP ") ||
         text.starts_with("xfrm policy ");
}

void check_allowed(const AllowedState& one, Span span, Reporter& reporter) {
  struct Kind {
    const Said<std::string>& said;
    std::string_view name;
    bool (*is_one)(std::string_view);
    std::string_view example;
  };
  const Kind kinds[] = {{one.route, "route", is_route, "blackhole 10.64.0.64/26 proto static"},
                        {one.rule, "rule", is_rule, "rule 50: from all to 10.64.0.0/16 lookup 100"},
                        {one.neighbor, "neighbor", is_neighbor, "10.64.0.1 at 02:00:00:00:00:01 on rail0"},
                        {one.filter, "filter", is_filter, "nft inet filter forward (forward): policy drop"}};
  std::size_t written = 0;
  for (const Kind& kind : kinds) {
    written += kind.said.at.line != 0 ? 1 : 0;
    if (kind.said.said && !kind.is_one(*kind.said))
      reporter.error(code::not_as_reported, {kind.said.at, 1},
                     in_quotes(*kind.said) + " is no " + std::string(kind.name) + " as a report names it",
                     "copy the words of `lockstep drift`, such as '" + std::string(kind.example) + "'");
  }
  if (written != 1)
    reporter.error(written == 0 ? code::missing_field : code::fields_conflict, span,
                   "an exception names one of route, rule, neighbor and filter",
                   written == 0 ? "say what is allowed" : "write an exception for each");
}

void check_fabric(const Fabric& fabric, Span, Reporter& reporter) {
  std::vector<Position> first(4095);  // by VLAN number
  for (const Vlan& vlan : fabric.vlans) {
    if (!vlan.id.said) continue;
    Position& seen = first[vlan.id.value];
    if (seen.line != 0)
      reporter.error(code::written_twice, {vlan.id.at, 1},
                     "VLAN " + std::to_string(*vlan.id) + " is written twice", "",
                     {{seen, "first written here"}});
    else
      seen = vlan.id.at;
  }
  if (fabric.nccl.said && fabric.role.said && *fabric.role != FabricRole::backend)
    reporter.error(code::fields_conflict, {fabric.nccl.at, 1},
                   "nccl is of backends: collectives don't run over a " +
                       std::string(to_string(*fabric.role)) + " fabric",
                   "leave it out, or role: backend", {{fabric.role.at, "the role is set here"}});
}

}  // namespace

template <>
const Type& struct_type<Mtu>() {
  static constexpr Type type = object_type<Mtu>("mtu", mtu_fields);
  return type;
}
template <>
const Type& struct_type<CablePair>() {
  static constexpr Type type = object_type<CablePair>("a pair", cable_pair_fields);
  return type;
}
template <>
const Type& struct_type<Cabling>() {
  static constexpr Type type =
      object_type<Cabling>("a cabling rule", cabling_fields, checked<Cabling, check_cabling>);
  return type;
}
template <>
const Type& struct_type<Addressing>() {
  static constexpr Type type =
      object_type<Addressing>("addressing", addressing_fields, checked<Addressing, check_addressing>);
  return type;
}
template <>
const Type& struct_type<Asns>() {
  static constexpr Type type =
      object_type<Asns>("asn", asn_fields, nullptr, "required of a role that speaks BGP");
  return type;
}
template <>
const Type& struct_type<BgpTimers>() {
  static constexpr Type type =
      object_type<BgpTimers>("timers", timer_fields, checked<BgpTimers, check_timers>);
  return type;
}
template <>
const Type& struct_type<Bfd>() {
  static constexpr Type type = object_type<Bfd>("bfd", bfd_fields);
  return type;
}
template <>
const Type& struct_type<Ecmp>() {
  static constexpr Type type = object_type<Ecmp>("ecmp", ecmp_fields);
  return type;
}
template <>
const Type& struct_type<HashSeeds>() {
  static constexpr Type type = object_type<HashSeeds>("seeds", seed_fields, nullptr, "the switch's own");
  return type;
}
template <>
const Type& struct_type<Flowlets>() {
  static constexpr Type type = object_type<Flowlets>("flowlets", flowlet_fields, nullptr, "the switch's own");
  return type;
}
template <>
const Type& struct_type<LoadBalancing>() {
  static constexpr Type type =
      object_type<LoadBalancing>("loadBalancing", balancing_fields, checked<LoadBalancing, check_balancing>);
  return type;
}
template <>
const Type& struct_type<Routing>() {
  static constexpr Type type =
      object_type<Routing>("routing", routing_fields, checked<Routing, check_routing>);
  return type;
}
template <>
const Type& struct_type<Vlan>() {
  static constexpr Type type = object_type<Vlan>("a VLAN", vlan_fields, checked<Vlan, check_vlan>);
  return type;
}
template <>
const Type& struct_type<AllowedState>() {
  static constexpr Type type =
      object_type<AllowedState>("an exception", allow_fields, checked<AllowedState, check_allowed>,
                                "one of route, rule, neighbor and filter is required");
  return type;
}
template <>
const Type& struct_type<Fabric>() {
  static constexpr Type type = object_type<Fabric>("a Fabric", fields, checked<Fabric, check_fabric>);
  return type;
}

}  // namespace lockstep
