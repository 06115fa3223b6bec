// Proofs about switch buffers: headroom fits, and ECN comes before PFC.
#include <algorithm>
#include <set>

#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

std::string sources(const Headroom& headroom) {
  std::string out;
  for (const Constant& one : headroom.constants) {
    if (one.source == "the spec") continue;
    if (!out.empty()) out += ", ";
    std::string value = std::to_string(one.value);
    value.erase(value.find_last_not_of('0') + 1);
    if (value.ends_with('.')) value.pop_back();
    out += one.name + " " + value + (one.unit.empty() ? "" : " " + one.unit);
  }
  return out;
}

struct SwitchBuffer {
  const ProofContext& context;
  DeviceIndex device;
  Position at;  // of the platform

  void prove() const {
    const Platform* const platform = context.platform(context.topology.devices[device].platform);
    if (platform == nullptr || platform->kind != PlatformKind::switching) return;
    const Result<BufferUse> use = buffer_use(context.catalog, context.topology, device, *platform);
    if (!use)
      return context.warning(
          "LS121", at, "the headroom of " + name() + " can't be proved: " + use.error().what,
          "add the constant to the platform's file with its source, or choose another platform");
    if (use->ports == 0) return;
    if (use->headroom > use->buffer) return too_much(*platform, *use);
    if (use->fires) prove_ecn(*use->fires);
  }

  std::string name() const { return context.topology.devices[device].name; }

  void too_much(const Platform& platform, const BufferUse& use) const {
    const TopologyLink& link = context.topology.links[use.largest];
    const Fabric& fabric = context.catalog.fabrics[link.fabric];
    std::vector<Related> related{{at, "the platform of " + name()}};
    if (const RoceProfile* const profile = context.profiles[link.fabric])
      for (const TrafficClass& one : profile->classes)
        if (*one.lossless) related.push_back({one.at, "class " + *one.name + " is lossless"});
    context.error(
        "LS102", place(fabric.cabling[link.law].cable_length, link.at),
        std::to_string(use.ports) + " lossless ports of " + name() + " need " + about(use.headroom) +
            " of headroom, and " + platform.name + " has " + about(use.buffer),
        "shorter cables, a smaller MTU, fewer lossless classes, or less smallPackets in the RoceProfile; " +
            about(use.largest_headroom.size) + " a class at " + format(BitRate{link.speed}) +
            " follow from " + sources(use.largest_headroom),
        std::move(related));
  }

  void prove_ecn(const PfcPoint& fires) const {
    std::set<const RoceProfile*> seen;
    for (const TopologyPort& port : context.topology.ports_of(device)) {
      if (port.link == kNone) continue;
      const RoceProfile* const profile = context.profiles[context.topology.links[port.link].fabric];
      if (profile == nullptr || !seen.insert(profile).second) continue;
      for (const TrafficClass& one : profile->classes) prove_class(one, fires);
    }
  }

  void prove_class(const TrafficClass& one, const PfcPoint& fires) const {
    if (!*one.lossless || !one.ecn.said || one.ecn->automatic) return;
    const std::string where =
        "on " + name() + " PFC fires when a queue holds " + about(fires.queue) + " (" + terms_of(fires) + ")";
    const std::vector<Related> related{{at, "the platform of " + name()}};
    if (one.ecn->kmin->bytes >= fires.queue)
      return context.error(
          "LS103", place(one.ecn->kmin, one.ecn.at),
          "ECN of class " + *one.name + " begins to mark at " + format(*one.ecn->kmin) + ": " + where,
          "lower kmin and kmax, or write ecn: auto", related);
    if (one.ecn->kmax->bytes > fires.queue)
      context.warning(
          "LS103", place(one.ecn->kmax, one.ecn.at),
          "ECN of class " + *one.name + " marks in full from " + format(*one.ecn->kmax) + ": " + where,
          "lower kmax, or write ecn: auto", related);
  }
};

void prove_lengths(const ProofContext& context) {
  std::set<std::pair<FabricIndex, std::uint32_t>> seen;
  std::pair<FabricIndex, std::uint32_t> last{kNone, kNone};
  for (const TopologyLink& link : context.topology.links) {
    if (link.cable_length != 0 || context.lossless[link.fabric] == 0) continue;
    const std::pair<FabricIndex, std::uint32_t> law{link.fabric, link.law};
    if (law == last) continue;
    last = law;
    if (!seen.insert(law).second) continue;
    context.warning("LS117", link.at, "these lossless links don't say how long their cables are",
                    "add cableLength: headroom is computed for " + format(Length{kAssumedCableMillimetres}));
  }
}

}  // namespace

void prove_buffers(const ProofContext& context) {
  if (std::all_of(context.lossless.begin(), context.lossless.end(), [](auto count) { return count == 0; }))
    return;
  prove_lengths(context);
  // Switches of one DeviceSet are mostly alike: each kind (set, platform, ports by fabric) is proved once, by
  // its fullest device.
  std::map<std::tuple<std::uint32_t, std::string_view, std::vector<std::uint32_t>>, DeviceIndex> kinds;
  for (DeviceIndex index = 0; index < context.topology.devices.size(); ++index) {
    const TopologyDevice& device = context.topology.devices[index];
    if (!device.is_switch()) continue;
    std::map<std::pair<FabricIndex, std::uint32_t>, std::uint32_t> laws;
    for (const TopologyPort& port : context.topology.ports_of(index))
      if (port.link != kNone)
        ++laws[{context.topology.links[port.link].fabric, context.topology.links[port.link].law}];
    std::vector<std::uint32_t> kind;
    for (const auto& [law, count] : laws) kind.insert(kind.end(), {law.first, law.second, count});
    kinds.try_emplace({device.set, device.platform, std::move(kind)}, index);
  }
  std::set<std::pair<std::string, Position>> reported;
  for (const auto& [kind, index] : kinds) {
    const std::size_t before = context.out.size();
    SwitchBuffer{context, index, context.platform_at(index)}.prove();
    // Kinds of one set differ in how many ports are cabled: the first report of a rule at a line is enough.
    for (std::size_t i = before; i < context.out.size();) {
      if (reported.insert({context.out[i].code, context.out[i].at}).second) {
        ++i;
      } else {
        context.out.erase(context.out.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
}

}  // namespace lockstep
