#include "specs/fabric/topology.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "specs/fabric/codes.hpp"
#include "specs/fabric/topology_cabling.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/interned.hpp"
#include "specs/model/path.hpp"

namespace lockstep {
namespace {

// The ports of a device: their names, in path order. Devices with the same list share one shape.
struct PortShape {
  std::vector<std::uint32_t> names;    // in path order
  std::vector<std::uint32_t> entries;  // of the DeviceSet, by position
  std::vector<std::uint32_t> place;    // by name id; kNone: no such port
};

struct NamedPorts {
  std::vector<std::uint32_t> names;
  bool declared = false;
};

class Expansion {
 public:
  explicit Expansion(const Catalog& catalog) : catalog_(catalog) {}

  Expanded run() {
    add_devices();
    declare_ports();
    resolve_laws();
    build_ports();
    for (FabricIndex fabric = 0; fabric < catalog_.fabrics.size(); ++fabric) add_links(fabric);
    for (FabricIndex fabric = 0; fabric < catalog_.fabrics.size(); ++fabric) finish(fabric);
    if (out_.diagnostics.empty()) out_.diagnostics = uncabled_hosts(catalog_, out_.topology);
    return std::move(out_);
  }

 private:
  struct ResolvedLaw {
    FabricIndex fabric = 0;
    std::uint32_t law = 0;
    std::vector<std::pair<CablingSide, CablingSide>> sides;  // one, or one per line of `list`
  };
  // A set's ports: names of declared entries, and whether it declares any.
  struct SetPorts {
    std::vector<std::uint32_t> names;
    std::vector<std::uint32_t> entries;
    std::vector<std::uint32_t> entry_of;  // by name id
    bool breakout = false;                // the platform chooses the names of a split port's parts
  };

  void add_devices();
  void declare_ports();
  void resolve_laws();
  void build_ports();
  void add_links(FabricIndex fabric);
  void add_link(const ResolvedLaw& law, const LaidCable& cable);
  void finish(FabricIndex fabric);
  // Reports once that the cluster exceeds the supported size.
  void refuse_size(Position at, const std::string& what);

  std::uint32_t name_id(std::string_view name);
  void declare(SetPorts& ports, const Said<std::string>& names, std::uint32_t entry);
  CablingSide side(const Said<std::string>& text);
  void cable_ports(const CablingSide& side);
  const PortShape& shape_of(DeviceIndex device) const { return shapes_[shape_[device]]; }
  PortIndex port_of(DeviceIndex device, std::uint32_t name) const;
  std::uint64_t said_speed(const TopologyPort& port, Position& at) const;
  std::uint64_t speed_of(const ResolvedLaw& law, PortIndex a, PortIndex b, Position& at);
  void report(std::string_view code, Position at, std::string message, std::string hint,
              std::vector<Related> related = {});
  const Cabling& said(const ResolvedLaw& law) const { return catalog_.fabrics[law.fabric].cabling[law.law]; }
  static Position place(const Cabling& law) { return law.from.said ? law.from.at : law.at; }

  const Catalog& catalog_;
  Expanded out_;
  bool too_large_ = false;  // nothing is cabled then
  std::unordered_map<std::string_view, DeviceIndex> devices_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  std::vector<std::string_view> names_;  // by name id
  std::vector<SetPorts> set_ports_;
  std::vector<ResolvedLaw> laws_;
  std::vector<std::vector<std::uint32_t>> cabled_names_;  // lists of names, as laws write them
  std::vector<std::vector<std::uint32_t>> lists_of_;      // by device: indices into cabled_names_
  std::vector<PortShape> shapes_;
  std::vector<std::uint32_t> shape_;                                            // by device
  std::map<std::pair<std::string_view, std::uint64_t>, std::size_t> reported_;  // once per law and code
};

void Expansion::report(std::string_view code, Position at, std::string message, std::string hint,
                       std::vector<Related> related) {
  out_.diagnostics.push_back(Diagnostic{.code = std::string(code),
                                        .at = at,
                                        .message = std::move(message),
                                        .hint = std::move(hint),
                                        .related = std::move(related)});
}

void Expansion::refuse_size(Position at, const std::string& what) {
  if (std::exchange(too_large_, true)) return;
  report(fabric_code::too_large, at, "more than " + what,
         "one cluster is at most " + std::to_string(kDevicesMax) + " devices with " +
             std::to_string(kPortsMax) + " ports");
}

std::uint32_t Expansion::name_id(std::string_view name) {
  const auto [at, fresh] =
      name_ids_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(interned_text(intern(name)));
  return at->second;
}

void Expansion::add_devices() {
  Topology& topology = out_.topology;
  for (std::uint32_t set = 0; set < catalog_.device_sets.size(); ++set) {
    const DeviceSet& said = catalog_.device_sets[set];
    Result<std::vector<std::string>> names = expand_hostlist(*said.names);
    if (!said.names.said || !names) continue;  // reported by load(), or the inventory is kept elsewhere
    if (topology.devices.size() + names->size() > kDevicesMax) {
      refuse_size(said.names.at, std::to_string(kDevicesMax) + " devices");
      break;
    }
    std::vector<DriverName> drivers;
    for (const Said<DriverName>& driver : said.drivers) drivers.push_back(*driver);
    for (std::uint32_t i = 0; i < names->size(); ++i)
      topology.devices.push_back(TopologyDevice{.name = std::move((*names)[i]),
                                                .role = *said.role,
                                                .set = set,
                                                .ordinal = i,
                                                .platform = interned_text(intern(*platform_said(said, i))),
                                                .drivers = drivers});
  }
  devices_.reserve(topology.devices.size());
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
    const TopologyDevice& device = topology.devices[i];
    const auto [first, fresh] = devices_.try_emplace(device.name, i);
    if (fresh) continue;
    const DeviceSet& set = catalog_.device_sets[device.set];
    const DeviceSet& other = catalog_.device_sets[topology.devices[first->second].set];
    report(fabric_code::device_twice, name_at(set, device.ordinal),
           "the device " + device.name + " is already in DeviceSet/" + *other.metadata.name,
           "a device belongs to one DeviceSet",
           {{name_at(other, topology.devices[first->second].ordinal), "first named here"}});
  }
  for (const auto& [name, device] : devices_) topology.by_name.push_back(device);
  std::sort(topology.by_name.begin(), topology.by_name.end(), [&](DeviceIndex a, DeviceIndex b) {
    return topology.devices[a].name < topology.devices[b].name;
  });
}

void Expansion::declare(SetPorts& ports, const Said<std::string>& names, std::uint32_t entry) {
  const Result<std::vector<std::string>> expanded = expand_hostlist(*names);
  if (!expanded) return;
  for (const std::string& name : *expanded) {
    const std::uint32_t id = name_id(name);
    if (ports.entry_of.size() <= id) ports.entry_of.resize(id + 1, kNone);
    if (ports.entry_of[id] != kNone) continue;
    ports.entry_of[id] = entry;
    ports.names.push_back(id);
  }
}

void Expansion::declare_ports() {
  for (const DeviceSet& set : catalog_.device_sets) {
    SetPorts& ports = set_ports_.emplace_back();
    for (std::uint32_t i = 0; i < set.interfaces.size(); ++i) declare(ports, set.interfaces[i].name, i);
    if (!set.interfaces.empty()) continue;
    for (std::uint32_t i = 0; i < set.ports.size(); ++i) {
      declare(ports, set.ports[i].name, i);
      ports.breakout = ports.breakout || set.ports[i].breakout.said;
    }
  }
}

CablingSide Expansion::side(const Said<std::string>& text) {
  CablingSide out;
  out.at = text.at;
  const Result<PortList> split = split_port_list(*text);
  if (!split) return out;
  const Result<std::vector<std::string>> devices = expand_hostlist(split->devices);
  const Result<std::vector<std::string>> ports = expand_hostlist(split->ports);
  if (!devices || !ports) return out;
  for (const std::string& name : *ports) out.names.push_back(name_id(name));
  out.devices.reserve(devices->size());
  for (const std::string& name : *devices) {
    if (const auto found = devices_.find(name); found != devices_.end()) {
      out.devices.push_back(found->second);
      continue;
    }
    report(fabric_code::no_such_device, text.at, "no DeviceSet has a device called " + name,
           "add it to a DeviceSet, or correct the name");
    out.devices.clear();  // a law with gaps would cable the wrong ports
    return out;
  }
  return out;
}

void Expansion::cable_ports(const CablingSide& side) {
  const auto list = static_cast<std::uint32_t>(cabled_names_.size());
  cabled_names_.push_back(side.names);
  for (const DeviceIndex device : side.devices) lists_of_[device].push_back(list);
}

void Expansion::resolve_laws() {
  lists_of_.resize(out_.topology.devices.size());
  for (FabricIndex fabric = 0; fabric < catalog_.fabrics.size(); ++fabric) {
    const auto& cabling = catalog_.fabrics[fabric].cabling;
    for (std::uint32_t law = 0; law < cabling.size(); ++law) {
      ResolvedLaw resolved{.fabric = fabric, .law = law, .sides = {}};
      if (cabling[law].from.said && cabling[law].to.said)
        resolved.sides.emplace_back(side(cabling[law].from), side(cabling[law].to));
      for (const CablePair& pair : cabling[law].list)
        resolved.sides.emplace_back(side(pair.from), side(pair.to));
      for (const auto& [from, to] : resolved.sides) {
        cable_ports(from);
        cable_ports(to);
      }
      laws_.push_back(std::move(resolved));
    }
  }
}

// Devices of one set with the same laws have the same ports: each such combination gets one shape.
void Expansion::build_ports() {
  Topology& topology = out_.topology;
  std::size_t places = 0;  // of all shapes together
  std::vector<std::uint32_t> rank(names_.size());
  {
    std::vector<std::uint32_t> order(names_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [this](std::uint32_t a, std::uint32_t b) { return compare_natural(names_[a], names_[b]) < 0; });
    for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  }
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> known;
  for (DeviceIndex index = 0; index < topology.devices.size(); ++index) {
    TopologyDevice& device = topology.devices[index];
    const auto [at, fresh] =
        known.try_emplace({device.set, lists_of_[index]}, static_cast<std::uint32_t>(shapes_.size()));
    if (fresh) {
      places += names_.size();
      PortShape& shape = shapes_.emplace_back();
      const SetPorts& declared = set_ports_[device.set];
      shape.names = declared.names;
      if (declared.names.empty() || declared.breakout)
        for (const std::uint32_t list : lists_of_[index])
          shape.names.insert(shape.names.end(), cabled_names_[list].begin(), cabled_names_[list].end());
      std::sort(shape.names.begin(), shape.names.end(),
                [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
      shape.names.erase(std::unique(shape.names.begin(), shape.names.end()), shape.names.end());
      shape.place.assign(names_.size(), kNone);
      for (std::uint32_t i = 0; i < shape.names.size(); ++i) {
        const std::uint32_t name = shape.names[i];
        shape.place[name] = i;
        shape.entries.push_back(name < declared.entry_of.size() ? declared.entry_of[name] : kNone);
      }
    }
    shape_.push_back(at->second);
    const PortShape& shape = shapes_[at->second];
    const DeviceSet& set = catalog_.device_sets[device.set];
    if (places > kPortsMax || topology.ports.size() + shape.names.size() > kPortsMax)
      return refuse_size(set.names.at, std::to_string(kPortsMax) + " ports");
    device.first_port = static_cast<PortIndex>(topology.ports.size());
    device.port_count = static_cast<std::uint32_t>(shape.names.size());
    for (std::uint32_t i = 0; i < shape.names.size(); ++i) {
      TopologyPort port{.name = names_[shape.names[i]], .name_id = shape.names[i], .device = index};
      port.entry = shape.entries[i];
      port.platform = device.platform;
      if (port.entry != kNone && !set.interfaces.empty()) {
        const Interface& entry = set.interfaces[port.entry];
        if (entry.platform.said) port.platform = interned_text(intern(*entry.platform));
        port.rdma = *entry.rdma;
      }
      Position ignored;
      port.speed = said_speed(port, ignored);
      topology.ports.push_back(port);
    }
  }
  topology.port_names = static_cast<std::uint32_t>(names_.size());
}

PortIndex Expansion::port_of(DeviceIndex device, std::uint32_t name) const {
  const std::uint32_t offset = shape_of(device).place[name];
  return offset == kNone ? kNone : out_.topology.devices[device].first_port + offset;
}

std::uint64_t Expansion::said_speed(const TopologyPort& port, Position& at) const {
  if (port.entry == kNone) return 0;
  const DeviceSet& set = catalog_.device_sets[out_.topology.devices[port.device].set];
  if (!set.interfaces.empty()) {
    at = set.interfaces[port.entry].speed.at;
    return set.interfaces[port.entry].speed->bits_per_second;
  }
  const Port& entry = set.ports[port.entry];
  at = entry.speed.said ? entry.speed.at : entry.breakout.at;
  if (entry.speed.said) return entry.speed->bits_per_second;
  return entry.breakout.said ? entry.breakout->speed.bits_per_second : 0;
}

// The law's speed, else the ports'; all that set one must agree.
std::uint64_t Expansion::speed_of(const ResolvedLaw& law, PortIndex a, PortIndex b, Position& first) {
  const Cabling& cabling = said(law);
  std::uint64_t speed = cabling.speed->bits_per_second;
  first = cabling.speed.at;
  for (const PortIndex port : {a, b}) {
    Position at;
    const std::uint64_t own = said_speed(out_.topology.ports[port], at);
    if (own == 0 || own == speed) continue;
    if (speed == 0) {
      speed = own;
      first = at;
      continue;
    }
    if (reported_.try_emplace({fabric_code::speeds_differ, std::uint64_t{law.fabric} << 32 | law.law}, 0)
            .second)
      report(fabric_code::speeds_differ, at,
             out_.topology.port_text(port) + " is declared with " + format(BitRate{own}) +
                 ", its link with " + format(BitRate{speed}),
             "both ends of a link run at one speed", {{first, "the link's speed is set here"}});
  }
  if (speed == 0 &&
      reported_.try_emplace({fabric_code::no_speed, std::uint64_t{law.fabric} << 32 | law.law}, 0).second)
    report(fabric_code::no_speed, place(cabling),
           "no line says how fast the link " + out_.topology.port_text(a) + " - " +
               out_.topology.port_text(b) + " is",
           "add `speed: 400Gbps` to this cabling rule or to the ports");
  return speed;
}

void Expansion::add_link(const ResolvedLaw& law, const LaidCable& cable) {
  Topology& topology = out_.topology;
  const Cabling& cabling = said(law);
  PortIndex ends[2] = {port_of(cable.a, cable.a_name), port_of(cable.b, cable.b_name)};
  const std::uint64_t law_key = std::uint64_t{law.fabric} << 32 | law.law;
  for (int end = 0; end < 2; ++end) {
    const DeviceIndex device = end == 0 ? cable.a : cable.b;
    const std::string_view name = names_[end == 0 ? cable.a_name : cable.b_name];
    const DeviceSet& set = catalog_.device_sets[topology.devices[device].set];
    const Position at = cabling.from.said ? (end == 0 ? cabling.from.at : cabling.to.at) : cabling.at;
    if (ends[end] == kNone) {
      if (reported_.try_emplace({fabric_code::no_such_port, law_key}, 0).second)
        report(fabric_code::no_such_port, at,
               topology.devices[device].name + " has no port called " + std::string(name),
               "add it to the DeviceSet's interfaces or ports",
               {{set.interfaces.empty() ? set.ports.front().name.at : set.interfaces.front().name.at,
                 "its ports are declared here"}});
      return;
    }
    const LinkIndex other = topology.ports[ends[end]].link;
    if (other == kNone && !(end == 1 && ends[0] == ends[1])) continue;
    const std::uint64_t pair =
        other == kNone ? law_key : law_key ^ (std::uint64_t{topology.links[other].law} << 16);
    const auto [count, fresh] =
        reported_.try_emplace({fabric_code::cabled_twice, pair}, out_.diagnostics.size());
    if (fresh)
      report(fabric_code::cabled_twice, at, topology.port_text(ends[end]) + " has two cables",
             "a port takes one cable",
             {{other == kNone ? at : topology.links[other].at, "it is cabled here too"}});
    return;
  }
  if (cable.a == cable.b) {
    if (reported_.try_emplace({fabric_code::cabled_to_itself, law_key}, 0).second)
      report(fabric_code::cabled_to_itself, place(cabling),
             topology.devices[cable.a].name + " is cabled to itself", "name another device on one side");
    return;
  }
  if (topology.devices[cable.a].tier() > topology.devices[cable.b].tier()) std::swap(ends[0], ends[1]);
  TopologyLink link{.a = ends[0], .b = ends[1], .fabric = law.fabric, .law = law.law};
  if (!topology.devices[topology.ports[link.a].device].is_switch()) link.rail = cable.rail;
  link.plane = cable.plane;
  link.speed = speed_of(law, link.a, link.b, link.speed_at);
  link.cable_length = cabling.cable_length->millimetres;
  link.at = place(cabling);
  const auto index = static_cast<LinkIndex>(topology.links.size());
  for (const PortIndex end : ends) {
    topology.ports[end].link = index;
    topology.ports[end].speed = link.speed;
  }
  topology.fabrics[law.fabric].links.push_back(index);
  topology.links.push_back(link);
}

void Expansion::add_links(FabricIndex fabric) {
  out_.topology.fabrics.emplace_back();
  if (too_large_) return;
  std::vector<LaidCable> cables;
  for (const ResolvedLaw& law : laws_) {
    if (law.fabric != fabric) continue;
    for (const auto& [from, to] : law.sides) {
      cables.clear();
      lay_cables(said(law), from, to, cables, out_.diagnostics);
      for (const LaidCable& cable : cables) add_link(law, cable);
    }
  }
}

void Expansion::finish(FabricIndex fabric) {
  const Topology& topology = out_.topology;
  FabricGraph& graph = out_.topology.fabrics[fabric];
  std::vector<bool> member(topology.devices.size());
  for (const LinkIndex index : graph.links) {
    const TopologyLink& link = topology.links[index];
    const DeviceIndex a = topology.ports[link.a].device;
    const DeviceIndex b = topology.ports[link.b].device;
    member[a] = member[b] = true;
    if (topology.devices[a].is_switch()) continue;
    graph.endpoints.push_back({a, link.a, b, link.b, index, link.rail, link.plane});
    graph.rails = std::max(graph.rails, link.rail + 1);
  }
  std::sort(graph.endpoints.begin(), graph.endpoints.end(), [](const Endpoint& x, const Endpoint& y) {
    return std::tie(x.device, x.rail, x.port) < std::tie(y.device, y.rail, y.port);
  });
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
    if (!member[i]) continue;
    switch (topology.devices[i].role) {
      case DeviceRole::host: graph.hosts.push_back(i); break;
      case DeviceRole::leaf: graph.leaves.push_back(i); break;
      case DeviceRole::spine: graph.spines.push_back(i); break;
      case DeviceRole::superspine: graph.superspines.push_back(i); break;
    }
  }
  const std::size_t switches = graph.leaves.size() + graph.spines.size() + graph.superspines.size();
  if (switches * graph.leaves.size() <= kSwitchPairsMax) return;
  const Fabric& said = catalog_.fabrics[fabric];
  refuse_size(said.metadata.name.at, std::to_string(kSwitchPairsMax) + " routes, one for each of " +
                                         std::to_string(switches) + " switches to each of " +
                                         std::to_string(graph.leaves.size()) + " leaves");
  graph = {};
}

}  // namespace

const std::vector<DeviceIndex>& FabricGraph::tier(unsigned number) const {
  switch (number) {
    case 0: return hosts;
    case 1: return leaves;
    case 2: return spines;
    default: return superspines;
  }
}

DeviceIndex Topology::find_device(std::string_view name) const {
  const auto at = std::lower_bound(by_name.begin(), by_name.end(), name,
                                   [this](DeviceIndex i, std::string_view n) { return devices[i].name < n; });
  return at != by_name.end() && devices[*at].name == name ? *at : kNone;
}

PortIndex Topology::find_port(DeviceIndex device, std::string_view name) const {
  for (const TopologyPort& port : ports_of(device))
    if (port.name == name) return static_cast<PortIndex>(&port - ports.data());
  return kNone;
}

PortIndex Topology::peer(PortIndex port) const {
  const LinkIndex link = ports[port].link;
  if (link == kNone) return kNone;
  return links[link].a == port ? links[link].b : links[link].a;
}

std::string Topology::port_text(PortIndex port) const {
  return device_of(port) + ":" + std::string(ports[port].name);
}

Expanded expand(const Catalog& catalog) { return Expansion(catalog).run(); }

const Said<std::uint32_t>& mtu_of(const Catalog& catalog, const TopologyLink& link) {
  const Mtu& mtu = *catalog.fabrics[link.fabric].mtu;
  return link.rail != kNone ? mtu.host : mtu.fabric;
}

void scale_for_twin(Topology& topology, std::uint64_t link_rate) {
  std::uint64_t fastest = 0;
  for (const TopologyLink& link : topology.links) fastest = std::max(fastest, link.speed);
  for (TopologyLink& link : topology.links) {
    // 64 bits of mantissa hold every relevant product exactly: 800 Gb/s x 100 Gb/s is below 2^77, and the
    // quotient is below 2^40.
    link.speed_in_twin = fastest == 0
                             ? link_rate
                             : static_cast<std::uint64_t>(std::llround(static_cast<long double>(link.speed) *
                                                                       static_cast<long double>(link_rate) /
                                                                       static_cast<long double>(fastest)));
    for (const PortIndex end : {link.a, link.b}) topology.ports[end].speed_in_twin = link.speed_in_twin;
  }
  for (TopologyDevice& device : topology.devices) {
    const bool is_sonic =
        device.is_switch() && std::ranges::find(device.drivers, DriverName::sonic) != device.drivers.end();
    device.drivers = {is_sonic ? DriverName::sonic : DriverName::linux_kernel};
    if (device.is_switch() && !is_sonic) device.drivers.push_back(DriverName::frr);
  }
}

}  // namespace lockstep
