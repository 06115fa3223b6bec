// Proofs about paths and numbers: MTU, pools, circles, seeds.
#include <array>
#include <set>

#include "specs/fabric/deadlock.hpp"
#include "specs/fabric/proof_context.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/path.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

void prove_mtu(const ProofContext& context, const Fabric& fabric) {
  const Mtu& mtu = *fabric.mtu;
  if (!mtu.host.said || !mtu.fabric.said || *mtu.host <= *mtu.fabric) return;
  context.error("LS105", mtu.host.at,
                "hosts send packets of " + std::to_string(*mtu.host) +
                    " bytes, and links between switches take " + std::to_string(*mtu.fabric),
                "mtu.fabric must be at least mtu.host", {{mtu.fabric.at, "said here"}});
}

// An override of a port's MTU (schema column rungs: the ladder of the MTU) below what hosts send;
// or above it at a host, whose leaf then drops.
void prove_mtu_override(const ProofContext& context, const Override& one, const MapEntry<Literal>& entry) {
  const Result<Path> path = Path::parse(*entry.key);
  if (!path || !schema_row(path->row()).crosses(Ladder::mtu)) return;
  const Result<std::vector<std::string>> names = expand_hostlist(*one.names);
  if (!names || entry.value->shape != Literal::Shape::integer) return;
  for (const std::string& name : *names) {
    const DeviceIndex device = context.topology.find_device(name);
    const PortIndex port = device == kNone ? kNone : context.topology.find_port(device, path->key(0));
    if (port == kNone || context.topology.ports[port].link == kNone) continue;
    const TopologyLink& link = context.topology.links[context.topology.ports[port].link];
    const Said<std::uint32_t>& host = context.catalog.fabrics[link.fabric].mtu->host;
    const std::int64_t value = entry.value->integer;
    const bool shrinks = value < std::int64_t{*host};
    if (!shrinks && (context.topology.devices[device].is_switch() || value == std::int64_t{*host})) continue;
    return context.error("LS105", entry.value.at,
                         context.topology.port_text(port) + " has an MTU of " + std::to_string(value) +
                             " here, and " +
                             (shrinks ? "hosts send packets of " : "its leaf takes packets of ") +
                             std::to_string(*host) + " bytes",
                         "override both ends of the link, or the fabric's mtu",
                         {{place(host, link.at), "said here"}, {link.at, "the link is cabled here"}});
  }
}

struct Pool {
  const Said<IpPrefix>* prefix;
  std::string_view field;
};

std::vector<Pool> pools_of(const Fabric& fabric) {
  std::vector<Pool> out;
  if (fabric.addressing->hosts.said) out.push_back({&fabric.addressing->hosts, "hosts"});
  if (fabric.addressing->loopbacks.said) out.push_back({&fabric.addressing->loopbacks, "loopbacks"});
  for (const Vlan& vlan : fabric.vlans)
    if (vlan.subnet.said) out.push_back({&vlan.subnet, "a VLAN's subnet"});
  return out;
}

std::vector<const Said<AsnRange>*> ranges_of(const Fabric& fabric) {
  std::vector<const Said<AsnRange>*> out;
  const Asns& asn = *fabric.routing->asn;
  for (const Said<AsnRange>* range : {&asn.host, &asn.leaf, &asn.spine, &asn.superspine})
    if (range->said) out.push_back(range);
  return out;
}

// Fabrics in different VRFs may use the same addresses.
void prove_pools(const ProofContext& context, const Fabric& a, const Fabric& b) {
  if (*a.vrf != *b.vrf) return;
  const std::string other = "Fabric/" + *a.metadata.name;
  for (const Pool& first : pools_of(a))
    for (const Pool& second : pools_of(b))
      if ((**first.prefix).overlaps(**second.prefix))
        context.error("LS106", second.prefix->at,
                      std::string(second.field) + " " + (**second.prefix).text() + " overlaps " +
                          std::string(first.field) + " of " + other + ", " + (**first.prefix).text(),
                      "choose another prefix, or give the fabrics different vrfs",
                      {{first.prefix->at, "said here"}});
  for (const auto* first : ranges_of(a))
    for (const auto* second : ranges_of(b))
      if ((*first)->first <= (*second)->last && (*second)->first <= (*first)->last)
        context.error(
            "LS106", second->at,
            "the AS numbers " + format(**second) + " overlap those of " + other + ", " + format(**first),
            "choose another range: a route that passes both would be dropped as a loop",
            {{first->at, "said here"}});
}

void prove_seeds(const ProofContext& context, const Fabric& fabric) {
  const HashSeeds& seeds = *fabric.routing->load_balancing->seeds;
  const std::array<std::pair<const Said<std::uint32_t>*, std::string_view>, 3> tiers{
      {{&seeds.leaf, "leaves"}, {&seeds.spine, "spines"}, {&seeds.superspine, "superspines"}}};
  for (std::size_t high = 1; high < tiers.size(); ++high)
    for (std::size_t low = 0; low < high; ++low) {
      if (!tiers[low].first->said || !tiers[high].first->said || **tiers[low].first != **tiers[high].first)
        continue;
      context.error("LS109", tiers[high].first->at,
                    std::string(tiers[high].second) + " hash with the seed of the " +
                        std::string(tiers[low].second) + ", " + std::to_string(**tiers[high].first),
                    "give each tier its own seed", {{tiers[low].first->at, "the same seed"}});
      break;
    }
}

void prove_no_circle(const ProofContext& context, FabricIndex index) {
  const Fabric& fabric = context.catalog.fabrics[index];
  if (context.lossless[index] == 0 || *fabric.routing->protocol == Protocol::none) return;
  const BufferCycle cycle = find_buffer_cycle(context.topology, index, tiers_of_one_asn(fabric));
  if (cycle.devices.empty()) return;
  constexpr std::size_t kShown = 16;  // of a long circle: enough to find it
  std::string text;
  std::vector<Related> related;
  std::set<Position> seen;
  for (std::size_t i = 0; i < cycle.devices.size(); ++i) {
    const DeviceIndex device = cycle.devices[i];
    const DeviceIndex next = cycle.devices[(i + 1) % cycle.devices.size()];
    if (i < kShown) text += context.topology.devices[device].name + " -> ";
    for (const TopologyPort& port : context.topology.ports_of(device)) {
      if (port.link == kNone || context.topology.links[port.link].fabric != index) continue;
      const TopologyLink& link = context.topology.links[port.link];
      const bool hop =
          context.topology.ports[link.a].device == next || context.topology.ports[link.b].device == next;
      if (hop && seen.insert(link.at).second)
        related.push_back({link.at, "links of the circle are cabled here"});
    }
  }
  if (cycle.devices.size() > kShown) text += "... -> ";
  text += context.topology.devices[cycle.devices.front()].name;
  context.error(
      "LS108", place(fabric.roce_profile, fabric.at),
      "lossless traffic can wait for itself in a circle: " + text,
      "let every path go up and then down (give the upper tier one AS number), or make the class lossy",
      std::move(related));
}

}  // namespace

void prove_paths(const ProofContext& context) {
  const auto& fabrics = context.catalog.fabrics;
  for (FabricIndex i = 0; i < fabrics.size() && i < context.topology.fabrics.size(); ++i) {
    prove_mtu(context, fabrics[i]);
    for (const Override& one : fabrics[i].overrides)
      for (const MapEntry<Literal>& entry : one.set) prove_mtu_override(context, one, entry);
    prove_seeds(context, fabrics[i]);
    for (FabricIndex j = 0; j < i; ++j) prove_pools(context, fabrics[j], fabrics[i]);
    prove_no_circle(context, i);
  }
}

}  // namespace lockstep
