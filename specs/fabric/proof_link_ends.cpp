// LS101: both ends of a link treat a packet alike.
#include <algorithm>
#include <map>
#include <set>

#include "specs/fabric/proof_context.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/path.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// A value that an override gives to one port's leaf.
struct PortOverride {
  const Entry<Literal>* entry = nullptr;
  RowId row = 0;
  std::vector<std::string> keys;  // after the port's name
};

bool same(const Literal& a, const Literal& b) {
  if (a.shape != b.shape || a.items.size() != b.items.size()) return false;
  if (a.shape == Literal::Shape::list)
    return std::is_permutation(a.items.begin(), a.items.end(), b.items.begin(), same);
  return a.text == b.text;
}

class OverrideTable {
 public:
  explicit OverrideTable(const ProofContext& context) : context_(context) {
    for (const auto& one : context.catalog.device_sets) add(one);
    for (const auto& one : context.catalog.fabrics) add(one);
    for (const auto& one : context.catalog.roce_profiles) add(one);
  }

  // What receivers must know before senders use it (schema column peer_order) must be the same at both ends.
  void prove() const {
    std::set<const Entry<Literal>*> reported;
    for (const auto& [port, all] : ports_)
      for (const PortOverride& one : all) {
        const PortIndex peer = context_.topology.peer(port);
        if (peer == kNone || matched(peer, one) || !reported.insert(one.entry).second) continue;
        const TopologyLink& link = context_.topology.links[context_.topology.ports[port].link];
        context_.error("LS101", one.entry->key.at,
                       *one.entry->key + " is overridden on " + context_.topology.port_text(port) +
                           " and not in the same way at the other end, " + context_.topology.port_text(peer),
                       "override both ends, or neither", {{link.at, "the link is cabled here"}});
      }
  }

 private:
  void add(const Object& object) {
    for (const Override& one : object.overrides) {
      const Result<std::vector<std::string>> names = expand_hostlist(*one.names);
      if (!names) continue;
      for (const Entry<Literal>& entry : one.set) {
        const Result<Path> path = Path::parse(*entry.key);
        if (!path || path->key_count() == 0) continue;
        if (schema_row(path->row()).peer_order != PeerOrder::receiver_first) continue;
        for (const std::string& name : *names) add(name, entry, *path);
      }
    }
  }

  void add(const std::string& device, const Entry<Literal>& entry, const Path& path) {
    const DeviceIndex index = context_.topology.find_device(device);
    const PortIndex port = index == kNone ? kNone : context_.topology.find_port(index, path.key(0));
    if (port == kNone || context_.topology.ports[port].link == kNone) return;
    PortOverride one{&entry, path.row(), {}};
    for (std::size_t i = 1; i < path.key_count(); ++i) one.keys.emplace_back(path.key(i));
    ports_[port].push_back(std::move(one));
  }

  bool matched(PortIndex peer, const PortOverride& one) const {
    const auto found = ports_.find(peer);
    return found != ports_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const PortOverride& other) {
             return other.row == one.row && other.keys == one.keys &&
                    same(*other.entry->value, *one.entry->value);
           });
  }

  const ProofContext& context_;
  std::map<PortIndex, std::vector<PortOverride>> ports_;
};

// A NIC in whose DSCP mode priority n is traffic class n can't have another map.
void prove_fixed_map(const ProofContext& context, const PortClass& port, const Platform& platform) {
  const RoceProfile* const profile = context.profiles[port.fabric];
  if (!platform.priority_is_tc || !platform.priority_is_tc->value || *profile->trust != Trust::dscp) return;
  for (const TrafficClass& one : profile->classes)
    if (one.tc.said && one.priority.said && *one.tc != *one.priority)
      context.error("LS101", one.tc.at,
                    "class " + *one.name + " is priority " + std::to_string(*one.priority) +
                        " in traffic class " + std::to_string(*one.tc) + ", and on " + platform.name +
                        " each priority is its own traffic class",
                    "give tc and priority the same number (" + platform.priority_is_tc->source + ")",
                    {{context.platform_at(port), "platform " + platform.name + " is said here"}});
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

}  // namespace

void prove_link_ends(const ProofContext& context) {
  OverrideTable(context).prove();
  std::set<std::pair<FabricIndex, const Platform*>> fixed;
  for (const PortClass& port : context.ports) {
    const Platform* const platform = context.platform_of(port.example);
    if (platform == nullptr || context.profiles[port.fabric] == nullptr) continue;
    if (fixed.insert({port.fabric, platform}).second) prove_fixed_map(context, port, *platform);
    prove_pause(context, port, *platform);
  }
}

}  // namespace lockstep
