// LS108: the paths of lossless classes form no cycle, neither with all links up nor with one or two down.
#include <set>

#include "specs/fabric/deadlock.hpp"
#include "specs/fabric/degraded.hpp"
#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

struct Circle {
  const ProofContext& context;
  FabricIndex index;

  const Fabric& fabric() const { return context.catalog.fabrics[index]; }

  void prove() const {
    if (context.lossless[index] == 0 || *fabric().routing->protocol == Protocol::none) return;
    const BufferCycle whole = find_buffer_cycle(context.topology, index, tiers_of_one_asn(fabric()));
    if (!whole.devices.empty()) return report(whole.devices, {});
    const std::vector<std::uint32_t> shared = shared_asns(context, index);
    const DegradedCircle degraded = find_degraded_circle(context.topology, index, shared);
    if (!degraded.devices.empty()) return report(degraded.devices, degraded.failed);
    if (degraded.complete) return;
    const std::string tried = degraded.tried == 0 ? "none" : "only " + std::to_string(degraded.tried);
    context.warning("LS108", place(fabric().roce_profile, fabric().at),
                    "whether lossless traffic can wait for itself in a circle once links are down is not "
                    "wholly checked: " +
                        tried + " of the failures of one or two links could be tried",
                    hint());
  }

  static std::string hint() {
    return "let every path go up and then down, whatever fails: give the upper tier one AS number (in three "
           "tiers the spines of each pod one of their own, by overrides of bgp/asn; RFC 7938 5.2.1), or make "
           "the class lossy";
  }

  // A cable as both its ends: "leaf0:up0 - spine0:down0".
  std::string text_of(LinkIndex link) const {
    return context.topology.port_text(context.topology.links[link].a) + " - " +
           context.topology.port_text(context.topology.links[link].b);
  }

  void report(const std::vector<DeviceIndex>& devices, const std::vector<LinkIndex>& failed) const {
    constexpr std::size_t kShown = 16;  // of a long cycle: enough to locate it
    std::string text;
    std::vector<Related> related;
    std::set<Position> seen;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const DeviceIndex next = devices[(i + 1) % devices.size()];
      if (i < kShown) text += context.topology.devices[devices[i]].name + " -> ";
      for (const TopologyPort& port : context.topology.ports_of(devices[i])) {
        if (port.link == kNone || context.topology.links[port.link].fabric != index) continue;
        const TopologyLink& link = context.topology.links[port.link];
        const bool hop =
            context.topology.ports[link.a].device == next || context.topology.ports[link.b].device == next;
        if (hop && seen.insert(link.at).second)
          related.push_back({link.at, "links of the circle are cabled here"});
      }
    }
    if (devices.size() > kShown) text += "... -> ";
    text += context.topology.devices[devices.front()].name;
    std::string when;
    for (const LinkIndex link : failed) when += (when.empty() ? "when " : " and ") + text_of(link);
    if (!failed.empty()) when += failed.size() == 1 ? " is down, " : " are down, ";
    context.error("LS108", place(fabric().roce_profile, fabric().at),
                  when + "lossless traffic can wait for itself in a circle: " + text, hint(),
                  std::move(related));
  }
};

}  // namespace

void prove_circles(const ProofContext& context) {
  for (FabricIndex i = 0; i < context.topology.fabrics.size(); ++i) Circle{context, i}.prove();
}

}  // namespace lockstep
