// Proofs about switch buffers: headroom fits, and ECN marks before PFC fires.
#include <algorithm>
#include <set>

#include "specs/fabric/proof_context.hpp"
#include "specs/fabric/roce_classes.hpp"

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

// mlx5 silently drops a longer one (en_dcbnl.c, MLX5E_MAX_CABLE_LENGTH 1000).
constexpr std::uint64_t kMlx5CableMost = 999'000;  // millimetres

template <class T>
bool are_alike(const Said<T>& a, const Said<T>& b) {
  return a.said == b.said && (!a.said || *a == *b);
}
bool are_alike(const Buffers& a, const Buffers& b) {
  return are_alike(a.dynamic_threshold, b.dynamic_threshold) &&
         are_alike(a.oversubscription, b.oversubscription) && are_alike(a.xon_offset, b.xon_offset) &&
         a.pools.said == b.pools.said && are_alike(a.pools->lossless, b.pools->lossless) &&
         are_alike(a.pools->headroom, b.pools->headroom) && are_alike(a.pools->lossy, b.pools->lossy);
}

struct SwitchBuffer {
  const ProofContext& context;
  DeviceIndex device;
  Position at;  // the platform's

  void prove() const {
    const Platform* const platform = context.platform(context.topology.devices[device].platform);
    if (platform == nullptr || platform->kind != PlatformKind::switching) return;
    const Result<BufferUse> use = buffer_use(context.catalog, context.topology, device, *platform);
    if (!use)
      return context.warning(
          "LS121", at, "the headroom of " + name() + " cannot be checked: " + use.error().what,
          "add the constant to the platform's file with its source, or choose another platform");
    if (use->ports == 0) return;
    prove_one_buffer();
    prove_xon_offset(*use);
    const std::uint64_t one = use->largest_headroom.size - use->largest_headroom.reserved;
    if (use->shared_asked != 0 && use->shared_headroom < one) return too_shared(*use, one);
    if (use->headroom > use->headroom_most) return too_much(*platform, *use);
    if (use->fires) prove_ecn(*use->fires);
  }

  std::string name() const { return context.topology.devices[device].name; }

  // A switch has one buffer, whichever Fabrics its ports belong to.
  void prove_one_buffer() const {
    const RoceProfile* const first = buffer_profile(context.catalog, context.topology, device);
    for (const TopologyPort& port : context.topology.ports_of(device)) {
      if (port.link == kNone) continue;
      const RoceProfile* const other = context.profiles[context.topology.links[port.link].fabric];
      if (other == nullptr || first == nullptr || are_alike(*first->buffers, *other->buffers)) continue;
      return context.error("LS102", place(other->buffers, other->at),
                           name() + " has one buffer, and RoceProfile/" + *other->metadata.name +
                               " gives it out otherwise than RoceProfile/" + *first->metadata.name,
                           "write the same buffers in both, or one profile for both Fabrics",
                           {{place(first->buffers, first->at), "the other is here"}});
    }
  }

  void prove_xon_offset(const BufferUse& use) const {
    const Said<ByteCount>& offset =
        buffer_profile(context.catalog, context.topology, device)->buffers->xon_offset;
    if (!offset.said || use.buffer == 0 || offset->bytes < use.buffer) return;
    context.error("LS102", offset.at,
                  "a pause ends once the buffer has " + format(*offset) + " less, and " + name() + " has " +
                      about(use.buffer) + " in total",
                  "vendors' tables have some packets, as 3556B or 9144B; or leave xonOffset out",
                  {{at, "the platform of " + name()}});
  }

  // The shared headroom must cover what a single class may request.
  void too_shared(const BufferUse& use, std::uint64_t one) const {
    const RoceProfile* const profile = buffer_profile(context.catalog, context.topology, device);
    const Said<std::uint32_t>& said = profile->buffers->oversubscription;
    context.error(
        "LS102", place(said, at),
        "the shared headroom of " + name() + " is " + about(use.shared_headroom) +
            ", and one class of one port may ask for " + about(one),
        "headroomOversubscription: " + std::to_string(std::max<std::uint64_t>(1, use.shared_asked / one)) +
            " at most for " + name() + "; other switches may allow less",
        {{at, "the platform of " + name()}});
  }

  void too_much(const Platform& platform, const BufferUse& use) const {
    const TopologyLink& link = context.topology.links[use.largest];
    const Fabric& fabric = context.catalog.fabrics[link.fabric];
    std::vector<Related> related{
        {at, "the platform of " + name() + "; a class at " + format(BitRate{link.speed}) + " needs " +
                 about(use.largest_headroom.size) + ": " + sources(use.largest_headroom)}};
    if (const RoceProfile* const profile = context.profiles[link.fabric])
      for (const TrafficClass& one : profile->classes)
        if (*one.lossless) related.push_back({one.at, "class " + *one.name + " is lossless"});
    context.error(
        "LS102", place(fabric.cabling[link.law].cable_length, link.at),
        std::to_string(use.ports) + " lossless ports of " + name() + " need " + about(use.headroom) +
            " of headroom, and " + platform.name + " has " + about(use.headroom_most) +
            (use.headroom_most < use.buffer ? " for it" : ""),
        std::string(use.headroom_most < use.buffer ? "a larger share of the pool headroom, " : "") +
            "shorter cables, a smaller MTU, fewer lossless classes" +
            (use.largest_headroom.rule == HeadroomRule::table ? ""
                                                              : ", or less smallPackets in the RoceProfile"),
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
    const Said<Ecn>& ecn = ecn_on(one, context.topology.devices[device].role);
    if (!*one.lossless || !ecn.said) return;
    if (ecn->automatic) return prove_floor(one, ecn, fires);
    const auto where = [&](std::uint64_t queue, std::string_view what) {
      return "on " + name() + " PFC " + std::string(what) + " when a queue holds " + about(queue) + " (" +
             terms_of(fires) + ")";
    };
    const std::vector<Related> related{{at, "the platform of " + name()}};
    const std::uint64_t kmin = ecn->kmin->bytes;
    const std::string begins =
        "ECN of class " + *one.name + " begins to mark at " + format(*ecn->kmin) + ": ";
    if (kmin >= fires.lone())
      return context.error("LS103", place(ecn->kmin, ecn.at),
                           begins + where(fires.lone(), "fires even in the best case"),
                           "lower kmin and kmax, or write ecn: auto", related);
    if (kmin > fires.bound())
      return context.warning(
          "LS103", place(ecn->kmin, ecn.at), begins + where(fires.bound(), "can fire already"),
          "lower kmin and kmax, or write ecn: auto; this is the published bound of the worst case, in which "
          "one port feeds all queues (Zhu et al., SIGCOMM 2015, 4)",
          related);
    if (ecn->kmax->bytes > fires.even())
      context.warning("LS103", place(ecn->kmax, ecn.at),
                      "ECN of class " + *one.name + " marks in full from " + format(*ecn->kmax) + ": " +
                          where(fires.even(), "fires with two ports into each"),
                      "lower kmax, or write ecn: auto", related);
  }

  // `auto` never goes below what senders need to fill a link.
  void prove_floor(const TrafficClass& one, const Said<Ecn>& ecn, const PfcPoint& fires) const {
    std::uint64_t speed = 0;
    std::uint32_t mtu = 0;
    for (const TopologyPort& port : context.topology.ports_of(device)) {
      if (port.link == kNone) continue;
      const TopologyLink& link = context.topology.links[port.link];
      if (link.speed <= speed) continue;
      speed = link.speed;
      mtu = *mtu_of(context.catalog, link);
    }
    const std::uint64_t least = ecn_floor(speed, mtu);
    if (least < fires.lone()) return prove_raised(one, ecn, fires, {.speed = speed, .ip_mtu = mtu});
    context.error("LS103", ecn.at,
                  "no ECN thresholds fit class " + *one.name + ": senders need a Kmin of " + about(least) +
                      " to fill a link of " + format(BitRate{speed}) + ", and on " + name() +
                      " PFC fires when a queue holds " + about(fires.lone()) + " (" + terms_of(fires) + ")",
                  "shorter cables, fewer lossless ports or classes, or a switch with more buffer",
                  {{at, "the platform of " + name()}});
  }

  // After being raised, both may lie beyond the depth at which PFC fires under more than one sender.
  void prove_raised(const TrafficClass& one, const Said<Ecn>& ecn, const PfcPoint& fires, EcnAsk ask) const {
    const Platform* const platform = context.platform(context.topology.devices[device].platform);
    ask.published = platform->ecn_defaults ? &*platform->ecn_defaults : nullptr;
    ask.fires = fires;
    const EcnThresholds computed = ecn_auto(ask);
    if (computed.kmax <= fires.even()) return;
    context.warning("LS103", ecn.at,
                    "ECN of class " + *one.name + " marks in full from " + about(computed.kmax) +
                        ", as auto " + "can't go below what senders need: on " + name() +
                        " PFC fires when a queue holds " + about(fires.even()) +
                        " with two ports into each (" + terms_of(fires) + ")",
                    "give lossless classes a larger pool, or write shorter cables or fewer lossless classes",
                    {{at, "the platform of " + name()}});
  }
};

// The receive buffer of a NIC: its leaf keeps sending until the NIC's pause arrives.
void prove_nic(const ProofContext& context, PortIndex index, const Platform& platform) {
  const TopologyPort& port = context.topology.ports[index];
  const TopologyLink& link = context.topology.links[port.link];
  const RoceProfile& profile = *context.profiles[link.fabric];
  const TopologyDevice& device = context.topology.devices[port.device];
  const PortClass kind{device.set, port.entry, link.fabric, port.platform, index};
  const Result<Headroom> headroom = class_headroom(context.catalog, link, platform);
  const std::string name = context.topology.port_text(index);
  if (!headroom)
    return context.warning("LS121", context.platform_at(kind),
                           "the receive headroom of " + name + " cannot be checked: " + headroom.error().what,
                           "add its figures to the platform's file with their source, or take it on trust");
  if (platform.headroom_rule && link.cable_length > kMlx5CableMost)
    return context.error(
        "LS112", place(context.catalog.fabrics[link.fabric].cabling[link.law].cable_length, link.at),
        "the cable of " + name + " is " + format(Length{link.cable_length}) + ", and " + platform.name +
            "'s driver counts headroom with " + format(Length{kMlx5CableMost}) + " at most",
        "a shorter cable, or no lossless class over it (" + platform.headroom_rule->source + ")",
        {{context.platform_at(kind), "the platform of " + name}});
  const std::uint64_t needed = headroom->size * lossless_priorities(profile);
  if (!platform.receive_buffer_bytes || needed <= platform.receive_buffer_bytes->whole()) return;
  context.error("LS102", place(context.catalog.fabrics[link.fabric].cabling[link.law].cable_length, link.at),
                "the lossless classes of " + name + " need " + about(needed) + " of receive buffer, and " +
                    platform.name + " has " + about(platform.receive_buffer_bytes->whole()),
                "shorter cables, a smaller MTU or fewer lossless classes (" +
                    platform.receive_buffer_bytes->source + ")",
                {{context.platform_at(kind), "the platform of " + name}});
}

// Links that are alike are proved once.
void prove_nics(const ProofContext& context) {
  std::set<std::tuple<FabricIndex, const Platform*, std::uint64_t, std::uint64_t>> seen;
  for (FabricIndex fabric = 0; fabric < context.topology.fabrics.size(); ++fabric) {
    if (context.lossless[fabric] == 0) continue;
    for (const Endpoint& endpoint : context.topology.fabrics[fabric].endpoints) {
      const Platform* const platform = context.platform_of(endpoint.port);
      if (platform == nullptr || platform->kind != PlatformKind::nic) continue;
      if (platform->own_headroom && platform->own_headroom->value) continue;
      const TopologyLink& link = context.topology.links[endpoint.link];
      const bool computed = platform->headroom_rule.has_value();
      if (seen.insert({fabric, platform, computed ? link.speed : 0, computed ? link.cable_length : 0}).second)
        prove_nic(context, endpoint.port, *platform);
    }
  }
}

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
  prove_nics(context);
  // Most switches of a DeviceSet are alike: each kind (set, platform, ports by fabric) is proved once, with
  // its device that has the most ports.
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
  std::set<std::tuple<std::string, Position, Severity>> reported;
  for (const auto& [kind, index] : kinds) {
    const std::size_t before = context.out.size();
    SwitchBuffer{context, index, context.platform_at(index)}.prove();
    // Kinds of one set differ in the number of cabled ports: the first report of a rule at a line is enough.
    for (std::size_t i = before; i < context.out.size();) {
      if (reported.insert({context.out[i].code, context.out[i].at, context.out[i].severity}).second) {
        ++i;
      } else {
        context.out.erase(context.out.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
}

}  // namespace lockstep
