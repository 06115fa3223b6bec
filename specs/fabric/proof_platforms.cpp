// Proofs that specs require only what a platform supports.
#include <algorithm>
#include <set>

#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

// One kind of port with its platform, and the requirements of its fabric.
struct PlatformPort {
  const ProofContext& context;
  const PortClass& port;
  const Platform& platform;

  const Fabric& fabric() const { return context.catalog.fabrics[port.fabric]; }
  const RoceProfile* profile() const { return context.profiles[port.fabric]; }
  bool is_switch() const {
    return context.topology.devices[context.topology.ports[port.example].device].is_switch();
  }
  const Platform* peer() const {
    const TopologyLink& link = context.topology.links[context.topology.ports[port.example].link];
    return context.platform_of(link.a == port.example ? link.b : link.a);
  }
  std::vector<Related> platform_line() const {
    return {{context.platform_at(port), "platform " + platform.name + " is declared here"}};
  }

  void lacks(Position at, std::string asked, const std::string& source, std::string hint) const {
    context.error("LS112", at, std::move(asked),
                  std::move(hint) + (source.empty() ? "" : " (" + source + ")"), platform_line());
  }

  void prove() const {
    prove_mtu();
    if (is_switch()) prove_spreading();
    if (profile() != nullptr) {
      prove_classes(*profile());
      prove_trust(*profile());
      if (is_switch()) prove_watchdog(*profile());
    }
    if (!is_switch()) prove_nic();
  }

  void prove_mtu() const {
    const TopologyLink& link = context.topology.links[context.topology.ports[port.example].link];
    const Said<std::uint32_t>& said = mtu_of(context.catalog, link);
    if (!said.said) return;
    if (platform.mtu_max && *said > platform.mtu_max->whole())
      lacks(said.at,
            "an MTU of " + std::to_string(*said) + " is more than " + platform.name +
                " can: " + std::to_string(platform.mtu_max->whole()),
            platform.mtu_max->source, "lower the MTU");
    if (platform.mtu_min && *said < platform.mtu_min->whole())
      lacks(said.at,
            "an MTU of " + std::to_string(*said) + " is less than " + platform.name +
                " can: " + std::to_string(platform.mtu_min->whole()),
            platform.mtu_min->source, "raise the MTU");
  }

  void prove_spreading() const {
    const LoadBalancing& balancing = *fabric().routing->load_balancing;
    if (balancing.mode.said && *balancing.mode != Spreading::static_hash) {
      const std::optional<Fact>& has =
          *balancing.mode == Spreading::per_packet ? platform.per_packet : platform.flowlet;
      const std::string mode(to_string(*balancing.mode));
      if (has && !has->value)
        lacks(balancing.mode.at, platform.name + " can't balance " + mode, has->source,
              "choose another mode");
      if (!has)
        context.warning("LS112", balancing.mode.at,
                        "no source says whether " + platform.name + " can balance " + mode,
                        "try it on one switch first", platform_line());
    }
    if (platform.hash_fields.empty()) return;
    for (const Said<HashField>& field : balancing.hash_fields)
      if (std::find(platform.hash_fields.begin(), platform.hash_fields.end(), *field) ==
          platform.hash_fields.end())
        lacks(field.at, platform.name + " can't hash on " + std::string(to_string(*field)),
              platform.hash_fields_source, "leave the field out");
  }

  void prove_classes(const RoceProfile& said) const {
    const std::uint32_t lossless = context.lossless[port.fabric];
    const TrafficClass* first = nullptr;
    const TrafficClass* last = nullptr;
    for (const TrafficClass& one : said.classes) {
      if (platform.traffic_classes && one.tc.said && *one.tc >= platform.traffic_classes->whole())
        lacks(one.tc.at,
              "class " + *one.name + " is traffic class " + std::to_string(*one.tc) + ", and " +
                  platform.name + " has " + std::to_string(platform.traffic_classes->whole()) +
                  ", counted from 0",
              platform.traffic_classes->source, "choose a lower tc");
      if (one.ecn.said && platform.ecn && !platform.ecn->value)
        lacks(one.ecn.at, platform.name + " has no ECN", platform.ecn->source, "leave ecn out");
      if (!*one.lossless) continue;
      if (first == nullptr) first = &one;
      last = &one;
    }
    if (first == nullptr) return;
    const bool none = platform.pfc && !platform.pfc->value;
    const bool peer_pauses = peer() != nullptr && peer()->pfc && peer()->pfc->value;
    if (none && !peer_pauses)  // if only one end lacks it, the ends differ: LS101
      return lacks(place(first->lossless, first->at),
                   "class " + *first->name + " is lossless, and " + platform.name + " has no PFC",
                   platform.pfc->source, "leave lossless out");
    if (none || !platform.lossless_classes || lossless <= platform.lossless_classes->whole()) return;
    lacks(
        place(last->lossless, last->at),
        std::to_string(lossless) + " lossless classes are more than the " +
            std::to_string(platform.lossless_classes->whole()) + " that a port of " + platform.name + " has",
        platform.lossless_classes->source, "keep the class that RDMA uses lossless, and let the others drop");
  }

  void prove_trust(const RoceProfile& said) const {
    const std::pair<bool, const std::optional<Fact>*> asked[] = {
        {*said.trust != Trust::pcp, &platform.trust_dscp}, {*said.trust != Trust::dscp, &platform.trust_pcp}};
    for (const auto& [is_asked, has] : asked)
      if (is_asked && *has && !(*has)->value)
        lacks(place(said.trust, said.at),
              platform.name + " can't classify by " + (has == &platform.trust_dscp ? "dscp" : "pcp"),
              (*has)->source, "trust the other field");
    if (*said.trust == Trust::dscp_pcp && platform.trust_exclusive && platform.trust_exclusive->value)
      lacks(said.trust.at, platform.name + " classifies by dscp or by pcp, not by both",
            platform.trust_exclusive->source, "trust dscp");
    if (*said.trust != Trust::dscp || !platform.trust_exclusive || !platform.trust_exclusive->value) return;
    for (const Fabric& other : context.catalog.fabrics)
      for (const Vlan& vlan : other.vlans)
        if (&other == &fabric() && *vlan.tagged && !said.classes.empty())
          return context.warning(
              "LS112", place(vlan.tagged, vlan.id.at),
              "tagged frames keep no priority on " + platform.name + ": DSCP is trusted",
              "mark by DSCP what must keep its class (" + platform.trust_exclusive->source + ")",
              {{place(said.trust, said.at), "DSCP is trusted here"}});
  }

  void prove_watchdog(const RoceProfile& said) const {
    const Watchdog& watchdog = *said.pfc->watchdog;
    if (!said.pfc->watchdog.said || context.lossless[port.fabric] == 0) return;
    const auto is_short = [](double wanted, double least) { return wanted < least; };
    const auto is_long = [](double wanted, double most) { return wanted > most; };
    if (platform.watchdog_min_ms)
      for (const Said<Duration>* const time : {&watchdog.detection_time, &watchdog.restoration_time})
        bound_watchdog(*time, *platform.watchdog_min_ms, is_short, "finer", "more");
    if (platform.watchdog_detection_max_ms)
      bound_watchdog(watchdog.detection_time, *platform.watchdog_detection_max_ms, is_long, "longer", "less");
  }

  // If sources disagree, a value that one of them allows is no error.
  void bound_watchdog(const Said<Duration>& time, const Figure& bound, bool (*is_beyond)(double, double),
                      const std::string& how, const std::string& right_side) const {
    const double wanted = std::chrono::duration<double, std::milli>(*time).count();
    if (!time.said || !is_beyond(wanted, bound.value)) return;
    const std::string what = "a PFC watchdog of " + format(*time) + " is " + how + " than " + platform.name +
                             " is known to have: " + std::to_string(bound.whole()) + "ms";
    const std::string right = "write " + std::to_string(bound.whole()) + "ms or " + right_side;
    const auto other = std::find_if(bound.differs.begin(), bound.differs.end(),
                                    [&](const OtherValue& one) { return !is_beyond(wanted, one.value); });
    if (other == bound.differs.end())
      lacks(time.at, what, bound.source, right);
    else
      context.warning("LS112", time.at, what, right + ", unless it is under " + other->source,
                      platform_line());
  }

  void prove_nic() const {
    const TopologyPort& own = context.topology.ports[port.example];
    const auto& interfaces = context.catalog.device_sets[port.set].interfaces;
    if (own.rdma && platform.rdma && !platform.rdma->value && port.entry < interfaces.size()) {
      const Interface& entry = interfaces[port.entry];
      lacks(place(entry.rdma, entry.name.at), platform.name + " has no RDMA", platform.rdma->source,
            "leave rdma out");
    }
    const LoadBalancing& balancing = *fabric().routing->load_balancing;
    const bool rdma = own.rdma || context.lossless[port.fabric] != 0;
    if (*balancing.mode != Spreading::per_packet || !rdma) return;
    if (platform.out_of_order && platform.out_of_order->value) return prove_adaptive_routing();
    context.error("LS110", place(balancing.mode, fabric().at),
                  "packets are sprayed over all paths, and " + platform.name +
                      (platform.out_of_order ? " can't place" : " is not known to place") +
                      " them out of order",
                  "write mode: flowlet or static, or use NICs that can", platform_line());
  }

  // Hardware that can place packets out of order may need a firmware setting for it.
  void prove_adaptive_routing() const {
    if (platform.adaptive_routing_setting.empty()) return;
    const auto& endpoints = context.topology.fabrics[port.fabric].endpoints;
    const auto unset = std::find_if(endpoints.begin(), endpoints.end(), [&](const Endpoint& one) {
      const TopologyPort& own = context.topology.ports[one.port];
      return context.topology.devices[one.device].set == port.set && own.entry == port.entry &&
             own.platform == port.platform &&
             !sets_firmware(context, one.device, own.name, platform.adaptive_routing_setting);
    });
    if (unset == endpoints.end()) return;
    context.error("LS110", place(fabric().routing->load_balancing->mode, fabric().at),
                  "packets are sprayed over all paths, and no HostProfile has true for " +
                      platform.adaptive_routing_setting + " of " + context.topology.port_text(unset->port) +
                      ": " + platform.name + " would take reordering for loss",
                  "add nic: {settings: {" + platform.adaptive_routing_setting +
                      ": true}} to its HostProfile (" + platform.adaptive_routing_source + ")",
                  platform_line());
  }
};

// The existing platforms for switches, or for hosts.
std::string names_of(const Catalog& catalog, bool switches) {
  std::string out;
  for (const Platform* const one : platforms_of(catalog)) {
    if (one->kind == (switches ? PlatformKind::nic : PlatformKind::switching)) continue;
    out += (out.empty() ? "" : ", ") + one->name;
  }
  return out;
}

// Without a platform nothing can be proved about a lossless or sprayed fabric.
void prove_presence(const ProofContext& context, const PortClass& one) {
  const Fabric& fabric = context.catalog.fabrics[one.fabric];
  const Spreading mode = *fabric.routing->load_balancing->mode;
  const RoceProfile* const profile = context.profiles[one.fabric];
  if (profile == nullptr && mode != Spreading::per_packet) return;
  const TopologyDevice& device = context.topology.devices[context.topology.ports[one.example].device];
  std::vector<Related> related;
  if (profile != nullptr)
    related.push_back({fabric.roce_profile.at, "Fabric/" + *fabric.metadata.name + " has a RoCE profile"});
  if (profile == nullptr)
    related.push_back({fabric.routing->load_balancing->mode.at, "packets are sprayed here"});
  context.error(
      "LS113", context.ports_at(one),
      "the " + std::string(to_string(device.role)) + " " + device.name + " has no platform" +
          (device.is_switch() ? "" : " for " + std::string(context.topology.ports[one.example].name)),
      "add platform: to the " + std::string(device.is_switch() ? "DeviceSet: " : "interface: ") +
          names_of(context.catalog, device.is_switch()),
      std::move(related));
}

// Proofs for switches do not apply to NICs, and the reverse.
bool prove_kind(const ProofContext& context, const PortClass& one, const Platform& platform) {
  const TopologyDevice& device = context.topology.devices[context.topology.ports[one.example].device];
  const PlatformKind wrong = device.is_switch() ? PlatformKind::nic : PlatformKind::switching;
  if (platform.kind != wrong) return true;
  context.error("LS112", context.platform_at(one),
                platform.name + " is a " + (device.is_switch() ? "NIC" : "switching chip") + ", and " +
                    device.name + " is a " + std::string(to_string(device.role)),
                "known here are " + names_of(context.catalog, device.is_switch()));
  return false;
}

}  // namespace

void prove_platforms(const ProofContext& context) {
  std::set<std::tuple<std::string, Position, std::string>> reported;
  const auto once = [&](std::size_t before) {
    for (std::size_t i = before; i < context.out.size();) {
      if (reported.insert({context.out[i].code, context.out[i].at, context.out[i].message}).second) {
        ++i;
      } else {
        context.out.erase(context.out.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  };
  for (const PortClass& one : context.ports) {
    const std::size_t before = context.out.size();
    const std::string_view name = context.topology.ports[one.example].platform;
    const Platform* const platform = context.platform(name);
    if (name.empty()) {
      prove_presence(context, one);
    } else if (platform == nullptr) {
      const Result<const Platform*> found = find_platform(context.catalog, name);
      context.error(
          "LS120", context.platform_at(one), found ? std::string(name) : found.error().what,
          "platforms are data: describe it in platforms/*.yaml beside the specs (specs/platforms/README.md)");
    } else if (prove_kind(context, one, *platform)) {
      PlatformPort{context, one, *platform}.prove();
    }
    once(before);
  }
}

}  // namespace lockstep
