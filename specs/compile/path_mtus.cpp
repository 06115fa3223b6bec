#include "specs/compile/path_mtus.hpp"

#include <map>
#include <set>
#include <string>

#include "specs/fabric/disjoint_sets.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kMtu = row("interface[*]/mtu");

struct PortMtu {
  std::int64_t bytes = 0;  // 0: no spec sets it
  OriginId by = 0;
};

// Hosts' ports that reach each other through a set of switches: those with the smallest and the largest MTU.
struct Reach {
  PortIndex smallest = kNone;
  PortIndex largest = kNone;
};

class PathMtus {
 public:
  PathMtus(const Compilation& compilation, const std::vector<Intent>& intents, FabricIndex fabric)
      : c_(compilation),
        intents_(intents),
        graph_(compilation.topology.fabrics[fabric]),
        switches_(compilation.topology.devices.size()) {
    for (const LinkIndex index : graph_.links)
      if (const TopologyLink& link = topology().links[index]; !of_host(link))
        switches_.join(topology().ports[link.a].device, topology().ports[link.b].device);
    for (const Endpoint& one : graph_.endpoints) {
      const std::int64_t bytes = mtu(one.port).bytes;
      if (bytes == 0) continue;
      Reach& reach = reaches_[switches_.root(one.leaf)];
      if (reach.largest == kNone || bytes > mtu(reach.largest).bytes) reach.largest = one.port;
      if (reach.smallest == kNone || bytes < mtu(reach.smallest).bytes) reach.smallest = one.port;
    }
  }

  void check() {
    for (const LinkIndex index : graph_.links) {
      const TopologyLink& link = topology().links[index];
      if (of_host(link))
        check_host(link);
      else
        check_between_switches(link);
    }
  }

 private:
  const Topology& topology() const { return c_.topology; }
  // End a of a cable is the one nearer to the hosts.
  bool of_host(const TopologyLink& link) const {
    return !topology().devices[topology().ports[link.a].device].is_switch();
  }

  PortMtu mtu(PortIndex port) const {
    const TopologyPort& one = topology().ports[port];
    const Entry* const entry = intents_[one.device].want.find(Path(kMtu, {one.name}));
    if (entry == nullptr || entry->value.kind() != Value::Kind::integer) return {};
    return {entry->value.as_integer(), entry->origin};
  }

  bool is_overridden(const TopologyLink& link, PortMtu one) const {
    return one.bytes != 0 && one.bytes != std::int64_t{*mtu_of(c_.catalog, link)};
  }

  void check_host(const TopologyLink& link) {
    const PortMtu host = mtu(link.a);
    const PortMtu leaf = mtu(link.b);
    if (host.bytes == 0 || leaf.bytes == 0) return;
    if (host.bytes != leaf.bytes) {
      const PortIndex larger = host.bytes > leaf.bytes ? link.a : link.b;
      const PortIndex smaller = topology().peer(larger);
      const PortMtu by = is_overridden(link, host) ? host : leaf;
      return tell(link, by, Severity::error,
                  text(larger) + " sends packets of up to " + bytes(larger) + ", and " + text(smaller) +
                      " at the other end of its cable takes " + bytes(smaller) +
                      ": larger ones vanish without an ICMP message",
                  "override both ends alike, or neither");
    }
    const auto reach = reaches_.find(switches_.root(topology().ports[link.b].device));
    if (reach == reaches_.end() || !is_overridden(link, host)) return;
    const auto& [smallest, largest] = reach->second;
    const PortIndex other = mtu(largest).bytes != host.bytes ? largest : smallest;
    if (mtu(other).bytes == host.bytes) return;
    tell(link, host, Severity::warning,
         text(link.a) + " has an MTU of " + bytes(link.a) + " here, and " + text(other) + " one of " +
             bytes(other) +
             ": TCP and RDMA connections between them agree on the smaller one, other packets may be lost",
         "hosts that need an MTU of their own get a Fabric of their own");
  }

  void check_between_switches(const TopologyLink& link) {
    const auto reach = reaches_.find(switches_.root(topology().ports[link.a].device));
    if (reach == reaches_.end()) return;
    const PortMtu most = mtu(reach->second.largest);
    for (const PortIndex end : {link.a, link.b}) {
      const PortMtu one = mtu(end);
      if (one.bytes == 0 || one.bytes >= most.bytes) continue;
      const bool here = is_overridden(link, one);
      const TopologyLink& hosts = topology().links[topology().ports[reach->second.largest].link];
      if (!here && !is_overridden(hosts, most)) continue;  // mtu.host above mtu.fabric: a proof's error
      return tell(link, here ? one : most, Severity::error,
                  text(end) + " takes packets of " + bytes(end) + ", and " + text(reach->second.largest) +
                      ", which sends through it, has an MTU of " + bytes(reach->second.largest),
                  "a port between switches takes what any host sends");
    }
  }

  std::string text(PortIndex port) const { return topology().port_text(port); }
  std::string bytes(PortIndex port) const { return std::to_string(mtu(port).bytes) + " B"; }

  // Each line of an override once.
  void tell(const TopologyLink& link, PortMtu by, Severity severity, std::string message, std::string hint) {
    if (!told_.insert({by.by, severity}).second) return;
    c_.report("LS105", c_.origins.origins()[by.by].at, std::move(message), std::move(hint),
              {{link.at, "the link is cabled here"}});
    c_.diagnostics.back().severity = severity;
  }

  const Compilation& c_;
  const std::vector<Intent>& intents_;
  const FabricGraph& graph_;
  DisjointSets switches_;  // joined by the cables between them
  std::map<DeviceIndex, Reach> reaches_;
  std::set<std::pair<OriginId, Severity>> told_;
};

}  // namespace

void check_path_mtus(const Compilation& compilation, const std::vector<Intent>& intents) {
  for (FabricIndex i = 0; i < compilation.topology.fabrics.size(); ++i)
    PathMtus(compilation, intents, i).check();
}

}  // namespace lockstep
