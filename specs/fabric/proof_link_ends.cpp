// LS101: both ends of a link treat a packet alike. LS124: packets have the field that both ends classify by.
#include <algorithm>
#include <map>
#include <set>

#include "specs/fabric/proof_context.hpp"
#include "specs/fabric/roce_classes.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/reporter.hpp"
#include "specs/model/path.hpp"
#include "specs/model/schema_rows.hpp"
#include "specs/platforms/map_native.hpp"

namespace lockstep {
namespace {

// What an override or a raw entry sets for an entry of one port.
struct PortException {
  const MapEntry<Literal>* entry = nullptr;
  RowId row = 0;
  std::vector<std::string> keys;  // after the port's name, as far as known
  std::string_view driver;  // the driver in whose syntax the entry is written; empty: it is an entry's path
};

bool same(const Literal& a, const Literal& b) {
  if (a.shape != b.shape || a.items.size() != b.items.size() || a.fields.size() != b.fields.size())
    return false;
  if (a.shape == Literal::Shape::list)
    return std::is_permutation(a.items.begin(), a.items.end(), b.items.begin(), same);
  if (a.shape == Literal::Shape::map)
    return std::is_permutation(a.fields.begin(), a.fields.end(), b.fields.begin(),
                               [](const auto& one, const auto& other) {
                                 return *one.key == *other.key && same(*one.value, *other.value);
                               });
  return a.text == b.text;
}

// Settings that receivers need before senders use them (schema column rungs: the lossless ladder) must match
// at both ends: collects what overrides and raw entries set for them.
class ExceptionTable {
 public:
  explicit ExceptionTable(const ProofContext& context) : context_(context) {
    const Catalog& catalog = context.catalog;
    const Topology& topology = context.topology;
    for (std::uint32_t i = 0; i < catalog.device_sets.size(); ++i)
      add(catalog.device_sets[i], [&, i](DeviceIndex device) { return topology.devices[device].set == i; });
    for (FabricIndex i = 0; i < topology.fabrics.size(); ++i)
      add(catalog.fabrics[i], [this, i](DeviceIndex device) { return is_in(device, i); });
    for (const RoceProfile& one : catalog.roce_profiles)
      add(one, [&](DeviceIndex device) {
        for (FabricIndex i = 0; i < topology.fabrics.size(); ++i)
          if (context_.profiles[i] == &one && is_in(device, i)) return true;
        return false;
      });
    for (const HostProfile& one : catalog.host_profiles)
      add(one, [&](DeviceIndex index) {
        const TopologyDevice& device = topology.devices[index];
        return !device.is_switch() &&
               selects(*one.selector, catalog.device_sets[device.set], device.ordinal, device.name);
      });
  }

  void prove() const {
    std::set<std::pair<const MapEntry<Literal>*, Severity>> reported;
    for (const auto& [port, all] : ports_)
      for (const PortException& one : all)
        if (const auto fault = fault_of(port, one); fault && reported.insert({one.entry, *fault}).second)
          report(port, one, *fault);
  }

 private:
  bool is_in(DeviceIndex device, FabricIndex fabric) const {
    const auto ports = context_.topology.ports_of(device);
    return std::any_of(ports.begin(), ports.end(), [&](const TopologyPort& port) {
      return port.link != kNone && context_.topology.links[port.link].fabric == fabric;
    });
  }

  template <class Covers>
  void add(const Object& object, Covers covers) {
    for (const Override& one : object.overrides)
      for (const MapEntry<Literal>& entry : one.set)
        if (const Result<Path> path = Path::parse(*entry.key))
          add(entry, {}, meant_entries({}, *entry.key, *entry.value), devices_of(one.names, covers));
    for (const Raw& one : object.raw)
      for (const MapEntry<Literal>& entry : one.set)
        add(entry, Path::parse(*entry.key) ? std::string_view() : to_string(*one.driver),
            meant_entries(to_string(*one.driver), *entry.key, *entry.value), devices_of(one.names, covers));
  }

  template <class Covers>
  std::vector<DeviceIndex> devices_of(const Said<std::string>& names, Covers covers) const {
    std::vector<DeviceIndex> out;
    if (names.said) {
      const Result<std::vector<std::string>> all = expand_hostlist(*names);
      for (const std::string& name : all ? *all : std::vector<std::string>{})
        if (const DeviceIndex device = context_.topology.find_device(name); device != kNone)
          out.push_back(device);
      return out;
    }
    for (DeviceIndex device = 0; device < context_.topology.devices.size(); ++device)
      if (covers(device)) out.push_back(device);
    return out;
  }

  void add(const MapEntry<Literal>& entry, std::string_view driver, const std::vector<MeantEntries>& entries,
           const std::vector<DeviceIndex>& devices) {
    for (const MeantEntries& one : entries) {
      if (!schema_row(one.row).crosses(Ladder::lossless)) continue;
      for (const DeviceIndex device : devices) {
        const TopologyDevice& self = context_.topology.devices[device];
        for (PortIndex port = self.first_port; port < self.first_port + self.port_count; ++port) {
          const TopologyPort& own = context_.topology.ports[port];
          if (own.link == kNone || (!one.keys.empty() && own.name != one.keys.front())) continue;
          PortException said{&entry, one.row, {}, driver};
          if (!one.keys.empty()) said.keys.assign(one.keys.begin() + 1, one.keys.end());
          ports_[port].push_back(std::move(said));
        }
      }
    }
  }

  // Whether a device could have the same setting in the same syntax.
  bool speaks(PortIndex port, std::string_view driver) const {
    const auto& drivers = context_.topology.devices[context_.topology.ports[port].device].drivers;
    return driver.empty() || std::any_of(drivers.begin(), drivers.end(),
                                         [&](DriverName one) { return to_string(one) == driver; });
  }

  // None: the other end has the same setting. A warning: it can't be written in this syntax there, or is
  // written in another.
  std::optional<Severity> fault_of(PortIndex port, const PortException& one) const {
    const PortIndex peer = context_.topology.peer(port);
    bool comparable = speaks(peer, one.driver);
    if (const auto found = ports_.find(peer); found != ports_.end())
      for (const PortException& other : found->second) {
        if (other.row != one.row || other.keys != one.keys) continue;
        if (other.driver == one.driver && same(*other.entry->value, *one.entry->value)) return std::nullopt;
        comparable = comparable && other.driver == one.driver;
      }
    return comparable ? Severity::error : Severity::warning;
  }

  void report(PortIndex port, const PortException& one, Severity fault) const {
    const std::string what =
        (one.driver.empty() ? *one.entry->key + " is overridden" : "raw sets " + in_quotes(*one.entry->key)) +
        " on " + context_.topology.port_text(port);
    const std::string other_end =
        "the other end, " + context_.topology.port_text(context_.topology.peer(port));
    const std::vector<Related> related{
        {context_.topology.links[context_.topology.ports[port].link].at, "the link is cabled here"}};
    if (fault == Severity::error)
      context_.error("LS101", one.entry->key.at, what + " and not in the same way at " + other_end,
                     "set both ends, or neither", related);
    else
      context_.warning("LS101", one.entry->key.at,
                       what + ": whether " + other_end + ", has the same cannot be checked",
                       "say it in a RoceProfile, which covers both ends", related);
  }

  const ProofContext& context_;
  std::map<PortIndex, std::vector<PortException>> ports_;
};

// A NIC with priority n fixed to traffic class n in DSCP mode can't have another map.
void prove_fixed_map(const ProofContext& context, const PortClass& port, const Platform& platform) {
  const RoceProfile* const profile = context.profiles[port.fabric];
  if (!platform.priority_is_tc || !platform.priority_is_tc->value || *profile->trust == Trust::pcp) return;
  for (const TrafficClass& one : profile->classes)
    for (const Said<std::uint8_t>& priority : priorities_of(one)) {
      if (!one.tc.said || !priority.said || *one.tc == *priority) continue;
      context.error("LS101", one.tc.at,
                    "class " + *one.name + " is priority " + std::to_string(*priority) +
                        " in traffic class " + std::to_string(*one.tc) + ", and on " + platform.name +
                        " each priority is its own traffic class",
                    "give tc and priority the same number (" + platform.priority_is_tc->source + ")",
                    {{context.platform_at(port), "platform " + platform.name + " is declared here"}});
    }
}

void prove_pause(const ProofContext& context, const PortClass& port, const Platform& platform) {
  if (context.lossless[port.fabric] == 0 || !platform.pfc || platform.pfc->value) return;
  const PortIndex peer_port = context.topology.peer(port.example);
  const Platform* const peer = peer_port == kNone ? nullptr : context.platform_of(peer_port);
  if (peer == nullptr || !peer->pfc || !peer->pfc->value) return;
  const TopologyLink& link = context.topology.links[context.topology.ports[port.example].link];
  const Fabric& fabric = context.catalog.fabrics[port.fabric];
  context.error(
      "LS101", context.platform_at(port),
      platform.name + " has no PFC, and " + context.topology.port_text(peer_port) + " (" + peer->name +
          ") at the other end of its link pauses a lossless class",
      "a link is lossless at both ends or at none (" + platform.pfc->source + ")",
      {{link.at, "the link is cabled here"}, {fabric.roce_profile.at, "the profile is chosen here"}});
}

// The ports of a fabric's tagged VLANs, by name: "leaf0:swp1".
std::set<std::string> tagged_ports(const Fabric& fabric) {
  std::set<std::string> out;
  for (const Vlan& vlan : fabric.vlans) {
    const Result<PortList> split = split_port_list(*vlan.ports);
    if (!*vlan.tagged || !split) continue;
    const Result<std::vector<std::string>> devices = expand_hostlist(split->devices);
    const Result<std::vector<std::string>> ports = expand_hostlist(split->ports);
    if (!devices || !ports) continue;
    for (const std::string& device : *devices)
      for (const std::string& port : *ports) out.insert(device + ":" + port);
  }
  return out;
}

// A frame's priority is in its VLAN tag (802.1Q-2018 9.6), and routed links are untagged: all traffic on one
// would have priority 0, or the port's default.
void prove_trusted_field(const ProofContext& context, FabricIndex index) {
  const RoceProfile* const profile = context.profiles[index];
  if (profile == nullptr || *profile->trust != Trust::pcp) return;
  const auto carries = [&](const TrafficClass& one) { return *one.lossless || is_for_rdma(*profile, one); };
  const auto one = std::find_if(profile->classes.begin(), profile->classes.end(), carries);
  if (one == profile->classes.end()) return;
  const std::set<std::string> tagged = tagged_ports(context.catalog.fabrics[index]);
  for (const LinkIndex link : context.topology.fabrics[index].links) {
    const TopologyLink& cable = context.topology.links[link];
    const std::string a = context.topology.port_text(cable.a);
    const std::string b = context.topology.port_text(cable.b);
    if (!tagged.empty() && tagged.contains(a) && tagged.contains(b)) continue;
    return context.error("LS124", place(profile->trust, profile->at),
                         "trust: pcp reads the VLAN tag, and frames between " + a + " and " + b +
                             " have none: class " + *one->name + " would get none of its packets",
                         "write trust: dscp: every IP packet has one",
                         {{cable.at, "routed, untagged links are cabled here"}});
  }
}

}  // namespace

void prove_link_ends(const ProofContext& context) {
  ExceptionTable(context).prove();
  for (FabricIndex index = 0; index < context.topology.fabrics.size(); ++index)
    prove_trusted_field(context, index);
  std::set<std::pair<FabricIndex, const Platform*>> fixed;
  for (const PortClass& port : context.ports) {
    const Platform* const platform = context.platform_of(port.example);
    if (platform == nullptr || context.profiles[port.fabric] == nullptr) continue;
    if (fixed.insert({port.fabric, platform}).second) prove_fixed_map(context, port, *platform);
    prove_pause(context, port, *platform);
  }
}

}  // namespace lockstep
