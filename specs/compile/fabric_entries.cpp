#include <algorithm>
#include <map>

#include "specs/compile/compilation.hpp"
#include "specs/compile/rules.hpp"
#include "specs/compile/session_timers.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// FRR's datacenter profile ("frr defaults datacenter"): bgpd/bgp_vty.c DFLT_BGP_KEEPALIVE 3,
// DFLT_BGP_HOLDTIME 9.
constexpr std::uint64_t kKeepaliveDefault = 3;
constexpr std::uint64_t kHoldDefault = 9;
// RFC 5880 leaves the timers to the operator; FRR's bfdd/bfd.h: BFD_DEFDETECTMULT 3, 300 ms both ways.
constexpr std::uint64_t kMultiplierDefault = 3;
constexpr std::uint64_t kIntervalDefault = 300;

std::uint64_t seconds(const Said<Duration>& time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(*time).count());
}

// A dot in a port's name becomes a slash in a parameter's name (sysctl(8)).
std::string sysctl_word(std::string_view port) {
  std::string out(port);
  std::replace(out.begin(), out.end(), '.', '/');
  return out;
}

class FabricClass {
 public:
  FabricClass(Compilation& c, FabricIndex fabric, ClassEntries& out)
      : c_(c),
        said_(c.catalog.fabrics[fabric]),
        who_(c.fabrics[fabric]),
        out_(out),
        device_(c.topology.devices[out.example]),
        ports_(fabric_ports(c.topology, out.example, fabric)) {}

  void run() {
    for (const PortIndex port : ports_) add_port(port);
    add_nccl();
    add_vlans();
    if (said_.vrf.said && device_.is_switch())
      out_.list.add(Path(row("vrf[*]"), {*said_.vrf}), Value::present(), of(said_.vrf, "vrf"));
    if (ports_.empty()) return;
    const Position cabled = c_.topology.links[c_.topology.ports[ports_.front()].link].at;
    out_.list.add(Path(row("lldp-agent"), {}), "running", c_.origins.add(who_, cabled, rule::daemon));
    const OriginId whole = c_.origins.add(who_, c_.origins.claimant(who_).at, rule::owned_whole);
    out_.claim(row("route[*]"), {}, whole);
    out_.claim(row("rule[*]"), {}, whole);
    if (said_.addressing.said && has_driver(device_, DriverName::linux_kernel)) add_pools();
    if (!device_.is_switch()) return;
    add_forwarding();
    add_load_balancing();
    if (said_.routing.said && *said_.routing->protocol == Protocol::bgp_unnumbered) add_bgp();
  }

 private:
  template <class T>
  OriginId of(const Said<T>& field, std::string_view rule) {
    return c_.origins.of(who_, field, rule);
  }
  void sysctl(std::string_view name, std::string_view value, OriginId origin) {
    out_.list.add(Path(row("sysctl[*]"), {name}), value, origin);
  }
  void add_port(PortIndex index);
  void add_speed(const TopologyPort& port, const TopologyLink& link);
  OriginId origin_of_speed(const TopologyPort& port, const TopologyLink& link);
  void add_rail(std::string_view port, OriginId arp, OriginId filter);
  // The field of an exception for this kind of state.
  using Named = const Said<std::string>& (*)(const AllowedState&);
  void add_pools();
  void add_pool(const Said<IpPrefix>& pool);
  void add_foreign(Path path, OriginId origin, Named named, std::vector<std::string> wanted = {});
  std::vector<std::string> wanted_masters() const;
  void add_forwarding();
  void add_flowlets(const LoadBalancing& said);
  void add_load_balancing();
  void add_hash_policy(OriginId origin);
  void add_bgp();
  void add_neighbor(std::string_view port);
  void add_vlans();
  void add_nccl();

  Compilation& c_;
  const Fabric& said_;
  ClaimantId who_;
  ClassEntries& out_;
  const TopologyDevice& device_;
  std::vector<PortIndex> ports_;
};

// NCCL has one file for all fabrics of a host: two fabrics with different values clash.
void FabricClass::add_nccl() {
  const auto has_rdma = [this](PortIndex port) { return c_.topology.ports[port].rdma; };
  if (device_.is_switch() || *said_.role != FabricRole::backend || std::ranges::none_of(ports_, has_rdma))
    return;
  const Nccl& nccl = *said_.nccl;
  const auto add = [this](RowId id, const auto& field, auto value, std::string_view rule) {
    if (field.said) out_.list.add(Path(id, {}), value, of(field, rule));
  };
  add(row("nccl/adaptive-routing"), nccl.adaptive_routing, *nccl.adaptive_routing, "nccl.adaptiveRouting");
  add(row("nccl/cross-nic"), nccl.cross_nic, to_string(*nccl.cross_nic), "nccl.crossNic");
  add(row("nccl/gid-index"), nccl.gid_index, Value::integer(*nccl.gid_index), "nccl.gidIndex");
  add(row("nccl/qps-per-connection"), nccl.qps_per_connection, std::uint64_t{*nccl.qps_per_connection},
      "nccl.qpsPerConnection");
  add(row("nccl/service-level"), nccl.service_level, std::uint64_t{*nccl.service_level}, "nccl.serviceLevel");
  add(row("nccl/split-data-on-qps"), nccl.split_data_on_qps, *nccl.split_data_on_qps, "nccl.splitDataOnQps");
}

void FabricClass::add_port(PortIndex index) {
  const TopologyPort& port = c_.topology.ports[index];
  const TopologyLink& link = c_.topology.links[port.link];
  const OriginId cabled = c_.origins.add(who_, link.at, rule::cabling);
  EntryList& list = out_.list;
  list.add(Path(row("interface[*]"), {port.name}), Value::present(), cabled);
  list.add(Path(row("interface[*]/admin"), {port.name}), true, cabled);
  list.add(Path(row("interface[*]/carrier"), {port.name}), true, cabled);
  if (const Said<std::uint32_t>& mtu = mtu_of(c_.catalog, link); *mtu != 0)
    list.add(Path(row("interface[*]/mtu"), {port.name}), std::uint64_t{*mtu},
             of(mtu, link.rail != kNone ? "mtu.host" : "mtu.fabric"));
  if (said_.vrf.said && device_.is_switch())
    list.add(Path(row("interface[*]/vrf"), {port.name}), *said_.vrf, of(said_.vrf, "vrf"));
  add_speed(port, link);
  if (said_.addressing.said)
    out_.claim(row("interface[*]/address[*]"), {std::string(port.name)},
               c_.origins.add(who_, said_.addressing.at, rule::owned_whole));
  const bool v6 = said_.addressing->hosts->address.v6;
  if (!device_.is_switch() && !v6)
    add_rail(port.name, c_.origins.add(who_, link.at, rule::rail_arp),
             c_.origins.add(who_, link.at, rule::rail_filter));
  if (device_.is_switch() && said_.addressing.said && has_driver(device_, DriverName::linux_kernel))
    sysctl((v6 ? "net.ipv6.conf." : "net.ipv4.conf.") + sysctl_word(port.name) + ".forwarding", "1",
           c_.origins.add(who_, link.at, rule::forwarding));
  if (device_.is_switch() && link.rail == kNone) {
    const OriginId local = of(said_.routing->protocol, rule::link_local);
    const std::string prefix = "net.ipv6.conf." + sysctl_word(port.name);
    sysctl(prefix + ".addr_gen_mode", "0", local);
    sysctl(prefix + ".disable_ipv6", "0", local);
  }
}

// For a link whose law sets no speed: the line of the port, else of the port at its other end.
OriginId FabricClass::origin_of_speed(const TopologyPort& port, const TopologyLink& link) {
  const DeviceSet& set = c_.catalog.device_sets[device_.set];
  const ClaimantId own = c_.device_sets[device_.set];
  if (port.entry != kNone && !set.interfaces.empty() && set.interfaces[port.entry].speed.said)
    return c_.origins.of(own, set.interfaces[port.entry].speed, "interfaces.speed");
  if (port.entry != kNone && set.interfaces.empty()) {
    const Port& said = set.ports[port.entry];
    if (said.speed.said) return c_.origins.of(own, said.speed, "ports.speed");
    if (said.breakout.said) return c_.origins.of(own, said.breakout, "ports.breakout");
  }
  return c_.origins.add(who_, link.speed_at, rule::link_speed);
}

void FabricClass::add_speed(const TopologyPort& port, const TopologyLink& link) {
  const Cabling& law = said_.cabling[link.law];
  if (c_.twin) {
    const OriginId offload = c_.origins.add(who_, link.at, rule::twin_offload);
    out_.list.add(Path(row("interface[*]/rate"), {port.name}), link.speed_in_twin,
                  c_.origins.add(who_, law.speed.said ? law.speed.at : link.at, rule::twin_rate));
    for (const std::string_view key : {"gro", "gso", "tso"})
      out_.list.add(Path(row("interface[*]/offload[*]"), {port.name, key}), false, offload);
    return;
  }
  if (link.speed == 0) return;
  const OriginId origin = law.speed.said ? of(law.speed, "cabling.speed") : origin_of_speed(port, link);
  out_.list.add(Path(row("interface[*]/speed"), {port.name}), link.speed / 1'000'000, origin);
}

// For these three Linux uses the maximum of "all" and the port's own value (ip-sysctl), so setting the port's
// own is enough, and the host's other ports are not changed.
void FabricClass::add_rail(std::string_view port, OriginId arp, OriginId filter) {
  const std::string prefix = "net.ipv4.conf." + sysctl_word(port);
  sysctl(prefix + ".arp_announce", "2", arp);
  sysctl(prefix + ".arp_ignore", "1", arp);
  sysctl(prefix + ".rp_filter", "2", filter);
}

void FabricClass::add_pools() {
  const Said<IpPrefix>& hosts = said_.addressing->hosts;
  add_pool(hosts);
  if (device_.is_switch()) add_pool(said_.addressing->loopbacks);
  if (!device_.is_switch() && hosts.said)
    out_.claim(row("route-mtu[*]"), {hosts->network().text()},
               c_.origins.add(who_, hosts.at, rule::owned_whole));
  if (hosts.said)  // a loopback is never a neighbour
    add_foreign(Path(row("diverted[*]/neighbors"), {hosts->network().text()}), of(hosts, rule::pool_traffic),
                [](const AllowedState& one) -> const Said<std::string>& { return one.neighbor; });
}

// Traffic to a pool's addresses must go only where the specs route it.
void FabricClass::add_pool(const Said<IpPrefix>& pool) {
  if (!pool.said) return;
  const std::string key = pool->network().text();
  const RowId way = device_.is_switch() ? row("diverted[*]/transit") : row("diverted[*]/sent");
  add_foreign(
      Path(way, {key}), of(pool, rule::pool_traffic),
      [](const AllowedState& one) -> const Said<std::string>& {
        return one.route.said ? one.route : one.rule;
      },
      wanted_masters());
  add_foreign(Path(row("diverted[*]/filters"), {key}), of(pool, rule::pool_filters),
              [](const AllowedState& one) -> const Said<std::string>& { return one.filter; });
  out_.claim(row("interface[*]/address[*]"), {"lo"}, c_.origins.add(who_, pool.at, rule::owned_whole),
             pool->network());
}

// A set of foreign state: the `wanted` members, and those that `allow` lists.
void FabricClass::add_foreign(Path path, OriginId origin, Named named, std::vector<std::string> wanted) {
  for (const AllowedState& one : said_.allow) {
    const Said<std::string>& what = named(one);
    if (!what.said) continue;
    const bool ended = c_.has_ended(one.until);
    out_.allowed.push_back(
        {path, *what, "until " + format(*one.until) + ": " + *one.reason, of(what, "allow"), ended});
    if (!ended) wanted.push_back(*what);
  }
  out_.list.add(path, Value::set(std::move(wanted)), origin);
}

// The ports that specs assign to another device, in the drivers' format ("swp1 is under red (vrf)").
std::vector<std::string> FabricClass::wanted_masters() const {
  std::vector<std::string> out;
  const auto put = [&out](std::string_view port, const std::string& master, const std::string& kind) {
    out.push_back(std::string(port) + " is under " + master + " (" + kind + ")");
  };
  for (const PortIndex index : ports_)
    if (said_.vrf.said && device_.is_switch()) put(c_.topology.ports[index].name, *said_.vrf, "vrf");
  for (const Bond& bond : c_.catalog.device_sets[device_.set].bonds)
    if (const auto members = expand_hostlist(*bond.members))
      for (const std::string& member : *members) put(member, *bond.name, "bond");
  return out;
}

void FabricClass::add_forwarding() {
  const OriginId cabled =
      c_.origins.add(who_, c_.topology.links[c_.topology.ports[ports_.front()].link].at, rule::loopback);
  if (said_.addressing->loopbacks.said) out_.list.add(Path(row("interface[*]/admin"), {"lo"}), true, cabled);
  if (!has_driver(device_, DriverName::linux_kernel)) return;
  const OriginId forwarding = of(said_.routing, rule::forwarding);
  sysctl("net.ipv4.ip_forward", "1", forwarding);
  sysctl("net.ipv6.conf.all.forwarding", "1", forwarding);
  sysctl("net.ipv4.conf.all.ignore_routes_with_linkdown", "1", of(said_.routing, rule::linkdown));
}

// Bits of fib_multipath_hash_fields (Linux ip-sysctl); 0: the kernel can't hash the field.
std::uint32_t kernel_bit(HashField field) {
  switch (field) {
    case HashField::src_ip: return 0x1;
    case HashField::dst_ip: return 0x2;
    case HashField::protocol: return 0x4;
    case HashField::flow_label: return 0x8;
    case HashField::src_port: return 0x10;
    case HashField::dst_port: return 0x20;
    case HashField::inner_src_ip: return 0x40;
    case HashField::inner_dst_ip: return 0x80;
    default: return 0;
  }
}

void FabricClass::add_hash_policy(OriginId origin) {
  std::uint32_t fields = 0;
  for (const Said<HashField>& field : said_.routing->load_balancing->hash_fields)
    fields |= kernel_bit(*field);
  // Not policy 1 for the five-tuple: when forwarding with it, the kernel uses the packet's own hash if it has
  // one (fib_multipath_hash, net/ipv4/route.c), and packets from a veth (a container's or a twin's) have
  // their socket's: a random number that changes with each retransmission timeout.
  constexpr std::uint32_t kAddresses = 0x3;
  const std::string_view policy = fields == kAddresses ? "0" : "3";
  for (const std::string family : {"net.ipv4", "net.ipv6"}) {
    sysctl(family + ".fib_multipath_hash_policy", policy, origin);
    if (policy == "3") sysctl(family + ".fib_multipath_hash_fields", std::to_string(fields), origin);
  }
}

void FabricClass::add_flowlets(const LoadBalancing& said) {
  const auto add = [&](RowId id, std::uint64_t value, OriginId origin) {
    out_.list.add(Path(id, {}), value, origin);
  };
  constexpr std::uint64_t kOfMicrosecond = 1000;  // nanoseconds
  constexpr std::uint64_t kOfPermille = 1000;     // parts per million
  const Flowlets& flowlets = *said.flowlets;
  if (flowlets.inactivity.said)
    add(row("load-balancing/flowlet-inactivity"),
        static_cast<std::uint64_t>(flowlets.inactivity->count()) / kOfMicrosecond,
        of(flowlets.inactivity, "routing.loadBalancing.flowlets.inactivity"));
  if (flowlets.entries.said)
    add(row("load-balancing/flowlet-entries"), *flowlets.entries,
        of(flowlets.entries, "routing.loadBalancing.flowlets.entries"));
  if (said.link_utilization.said)
    add(row("load-balancing/link-utilization"), said.link_utilization->parts_per_million / kOfPermille,
        of(said.link_utilization, "routing.loadBalancing.linkUtilization"));
}

void FabricClass::add_load_balancing() {
  const Said<LoadBalancing>& said = said_.routing->load_balancing;
  if (!said.said) return;
  add_flowlets(*said);
  const bool kernel = has_driver(device_, DriverName::linux_kernel);
  if (!said->hash_fields.empty()) {
    if (kernel) {
      add_hash_policy(c_.origins.add(who_, said->hash_fields.front().at, rule::hash_policy));
    } else {
      std::vector<std::string> fields;
      for (const Said<HashField>& field : said->hash_fields) fields.emplace_back(to_string(*field));
      out_.list.add(Path(row("load-balancing/hash-fields"), {}), Value::set(std::move(fields)),
                    c_.origins.add(who_, said->hash_fields.front().at, "routing.loadBalancing.hashFields"));
    }
  }
  // A kernel's multipath is static hashing: there is nothing to set.
  if (said->mode.said && !(kernel && *said->mode == Spreading::static_hash))
    out_.list.add(Path(row("load-balancing/mode"), {}), to_string(*said->mode),
                  of(said->mode, "routing.loadBalancing.mode"));
  const HashSeeds& seeds = *said->seeds;
  const Said<std::uint32_t>* const seed = device_.role == DeviceRole::leaf    ? &seeds.leaf
                                          : device_.role == DeviceRole::spine ? &seeds.spine
                                                                              : &seeds.superspine;
  if (seed->said)
    out_.list.add(Path(row("load-balancing/seed"), {}), std::uint64_t{**seed},
                  of(*seed, "routing.loadBalancing.seeds"));
}

void FabricClass::add_neighbor(std::string_view port) {
  EntryList& list = out_.list;
  const Routing& routing = *said_.routing;
  const OriginId bgp = of(routing.protocol, rule::bgp);
  const OriginId session = of(routing.protocol, rule::session);
  const auto add = [&](RowId id, auto value, OriginId origin) { list.add(Path(id, {port}), value, origin); };
  add(row("bgp/neighbor[*]"), Value::present(), bgp);
  add(row("bgp/neighbor[*]/remote-as"), "external", bgp);
  add(row("bgp/neighbor[*]/shutdown"), false, bgp);
  add(row("bgp/neighbor[*]/session"), "established", session);
  const BgpTimers& timers = *routing.timers;
  const std::uint64_t hold = timers.hold.said ? seconds(timers.hold) : kHoldDefault;
  const std::uint64_t keepalive = timers.keepalive.said ? seconds(timers.keepalive) : kKeepaliveDefault;
  add(row("bgp/neighbor[*]/hold"), hold,
      timers.hold.said ? of(timers.hold, "routing.timers.hold") : of(routing.protocol, rule::timers_default));
  add(row("bgp/neighbor[*]/keepalive"), keepalive,
      timers.keepalive.said ? of(timers.keepalive, "routing.timers.keepalive")
                            : of(routing.protocol, rule::timers_default));
  // Both ends belong to this fabric, and propose the same.
  const SessionTimers proposed{static_cast<std::int64_t>(keepalive), static_cast<std::int64_t>(hold)};
  const SessionTimers agreed = agreed_timers(proposed, proposed);
  const OriginId in_use = routing.timers.said ? of(routing.timers, rule::session_timers)
                                              : of(routing.protocol, rule::session_timers);
  add(row("bgp/neighbor[*]/hold-in-use"), static_cast<std::uint64_t>(agreed.hold_s), in_use);
  add(row("bgp/neighbor[*]/keepalive-in-use"), static_cast<std::uint64_t>(agreed.keepalive_s), in_use);
  if (!routing.bfd.said) return;
  add(row("bgp/neighbor[*]/bfd"), std::string_view(*said_.metadata.name), of(routing.bfd, "routing.bfd"));
  add(row("bgp/neighbor[*]/bfd-state"), "up", of(routing.bfd, rule::session));
}

void FabricClass::add_bgp() {
  EntryList& list = out_.list;
  const Routing& routing = *said_.routing;
  const OriginId bgp = of(routing.protocol, rule::bgp);
  const OriginId whole = of(routing.protocol, rule::owned_whole);
  const OriginId daemon = of(routing.protocol, rule::daemon);
  for (const std::string_view one : {"bgp", "rib"})
    list.add(Path(row("routing-daemon[*]"), {one}), "running", daemon);
  if (routing.bfd.said)
    list.add(Path(row("routing-daemon[*]"), {"bfd"}), "running", of(routing.bfd, rule::daemon));
  if (has_driver(device_, DriverName::frr))
    list.add(Path(row("routing-config/saved"), {}), Value::present(), of(routing.protocol, rule::saved));
  list.add(Path(row("bgp"), {}), Value::present(), bgp);
  list.add(Path(row("bgp/graceful-shutdown"), {}), false, bgp);
  list.add(Path(row("bgp/multipath-relax"), {}), true, bgp);
  list.add(Path(row("bgp/redistribute[*]"), {"connected"}), Value::present(), bgp);
  const Said<std::uint32_t>& paths = routing.ecmp->max_paths;
  list.add(Path(row("bgp/max-paths"), {}), std::uint64_t{paths.or_else(kPathsDefault)},
           paths.said ? of(paths, "routing.ecmp.maxPaths") : of(routing.protocol, rule::paths_default));
  if (routing.bfd.said) {
    const Bfd& bfd = *routing.bfd;
    const std::string_view name = *said_.metadata.name;
    const std::uint64_t interval =
        bfd.interval.said ? static_cast<std::uint64_t>(
                                std::chrono::duration_cast<std::chrono::milliseconds>(*bfd.interval).count())
                          : kIntervalDefault;
    list.add(Path(row("bfd-profile[*]"), {name}), Value::present(), of(routing.bfd, "routing.bfd"));
    list.add(Path(row("bfd-profile[*]/multiplier"), {name}),
             bfd.multiplier.said ? std::uint64_t{*bfd.multiplier} : kMultiplierDefault,
             of(bfd.multiplier, "routing.bfd.multiplier"));
    for (const RowId id : {row("bfd-profile[*]/receive-interval"), row("bfd-profile[*]/transmit-interval")})
      list.add(Path(id, {name}), interval, of(bfd.interval, "routing.bfd.interval"));
  }
  for (const PortIndex port : ports_) {
    const TopologyLink& link = c_.topology.links[c_.topology.ports[port].link];
    if (link.rail == kNone) add_neighbor(c_.topology.ports[port].name);
  }
  for (const RowId id :
       {row("bfd-profile[*]"), row("bgp/aggregate[*]"), row("bgp/neighbor[*]"), row("bgp/redistribute[*]")})
    out_.claim(id, {}, whole);
}

void FabricClass::add_vlans() {
  struct Carried {
    std::vector<std::string> vlans;
    OriginId origin = 0;
  };
  std::map<std::string, Carried> carried;
  for (const Vlan& vlan : said_.vlans) {
    const Result<PortList> split = split_port_list(*vlan.ports);
    if (!split || !index_in_hostlist(split->devices, device_.name)) continue;
    const std::string id = std::to_string(*vlan.id);
    out_.list.add(Path(row("vlan[*]"), {id}), Value::present(), of(vlan.id, "vlans.id"));
    if (vlan.name.said)
      out_.list.add(Path(row("vlan[*]/name"), {id}), *vlan.name, of(vlan.name, "vlans.name"));
    if (vlan.gateway.said && device_.is_switch())
      out_.list.add(Path(row("vlan[*]/gateway"), {id}), IpPrefix{*vlan.gateway, vlan.subnet->length}.text(),
                    of(vlan.gateway, "vlans.gateway"));
    const Result<std::vector<std::string>> ports = expand_hostlist(split->ports);
    if (!ports) continue;
    for (const std::string& port : *ports) {
      Carried& one = carried[port];
      one.vlans.push_back(id + (*vlan.tagged ? " tagged" : " untagged"));
      if (one.vlans.size() == 1) one.origin = of(vlan.ports, "vlans.ports");
    }
  }
  for (auto& [port, one] : carried)
    out_.list.add(Path(row("interface[*]/vlans"), {port}), Value::set(std::move(one.vlans)), one.origin);
}

}  // namespace

std::vector<PortIndex> fabric_ports(const Topology& topology, DeviceIndex device, FabricIndex fabric) {
  std::vector<PortIndex> out;
  const TopologyDevice& self = topology.devices[device];
  for (PortIndex port = self.first_port; port < self.first_port + self.port_count; ++port) {
    const LinkIndex link = topology.ports[port].link;
    if (link != kNone && topology.links[link].fabric == fabric) out.push_back(port);
  }
  return out;
}

bool has_driver(const TopologyDevice& device, DriverName driver) {
  return std::find(device.drivers.begin(), device.drivers.end(), driver) != device.drivers.end();
}

void add_fabric_entries(Compilation& c, FabricIndex fabric, ClassEntries& out) {
  FabricClass(c, fabric, out).run();
}

}  // namespace lockstep
