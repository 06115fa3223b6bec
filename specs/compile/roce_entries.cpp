#include <algorithm>
#include <array>

#include "specs/compile/compilation.hpp"
#include "specs/compile/lossless_port.hpp"
#include "specs/compile/rules.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kPartsPerPercent = 10'000;
constexpr std::size_t kDscps = 64;      // RFC 2474: six bits
constexpr std::size_t kPriorities = 8;  // 802.1Q: three bits
constexpr std::uint64_t kEct0 = 2;      // RFC 3168: ECT(0)
constexpr std::string_view kCnp = "cnp";

// The class that the unnamed DSCPs and priorities go to: "default", else the one that is not lossless with
// the lowest number.
std::size_t default_class(const RoceProfile& profile) {
  std::size_t best = profile.classes.size();
  for (std::size_t i = 0; i < profile.classes.size(); ++i) {
    const TrafficClass& one = profile.classes[i];
    if (*one.name == default_class_name) return i;
    if (*one.lossless || *one.scheduling == Scheduling::strict) continue;
    if (best == profile.classes.size() || *one.tc < *profile.classes[best].tc) best = i;
  }
  return best;
}

std::uint64_t milliseconds(const Said<Duration>& time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(*time).count());
}

std::uint64_t tos_of(const TrafficClass& one) { return std::uint64_t{*one.dscp.front()} << 2 | kEct0; }

class RoceClass {
 public:
  RoceClass(Compilation& c, FabricIndex fabric, std::size_t profile, ClassEntries& out)
      : c_(c),
        fabric_(fabric),
        said_(c.catalog.roce_profiles[profile]),
        who_(c.roce_profiles[profile]),
        out_(out),
        default_(default_class(said_)),
        fires_(pfc_point_of(c.catalog, c.topology, out.example, c.twin)) {}

  void run() {
    find_dscps();
    find_priorities();
    for (const PortIndex port : fabric_ports(c_.topology, out_.example, fabric_)) add_port(port);
    if (fabric_ == fabric_of_nccl()) add_nccl();
  }

 private:
  template <class T>
  OriginId of(const Said<T>& field, std::string_view rule) {
    return c_.origins.of(who_, field, rule);
  }
  OriginId at(const TrafficClass& one, std::string_view rule) { return c_.origins.add(who_, one.at, rule); }
  void find_dscps();
  void find_priorities();
  void add_port(PortIndex index);
  void add_class(const TopologyPort& port, const TopologyLink& link, std::size_t number);
  void add_ecn(const TopologyPort& port, const TopologyLink& link, const TrafficClass& one,
               std::string_view tc);
  void add_buffer(PortIndex index, const TrafficClass& one);
  void add_watchdog(std::string_view port);
  void add_nic(std::string_view port);
  const TrafficClass* lossless_class() const;
  FabricIndex fabric_of_nccl() const;
  bool is_of_nccl(const TopologyPort& port) const;
  void add_nccl();

  Compilation& c_;
  FabricIndex fabric_;
  const RoceProfile& said_;
  ClaimantId who_;
  ClassEntries& out_;
  std::size_t default_;
  std::optional<PfcPoint> fires_;
  std::vector<std::vector<std::string>> dscps_;       // by class
  std::vector<std::vector<std::string>> priorities_;  // by class
};

void RoceClass::find_dscps() {
  dscps_.resize(said_.classes.size());
  std::array<bool, kDscps> named{};
  for (std::size_t i = 0; i < said_.classes.size(); ++i) {
    for (const Said<std::uint8_t>& dscp : said_.classes[i].dscp) {
      if (*dscp >= kDscps || std::exchange(named[*dscp], true)) continue;
      dscps_[i].push_back(std::to_string(*dscp));
    }
  }
  if (default_ == said_.classes.size()) return;
  for (std::size_t dscp = 0; dscp < kDscps; ++dscp)
    if (!named[dscp]) dscps_[default_].push_back(std::to_string(dscp));
}

void RoceClass::find_priorities() {
  priorities_.resize(said_.classes.size());
  std::array<bool, kPriorities> named{};
  for (std::size_t i = 0; i < said_.classes.size(); ++i) {
    const std::size_t priority = *said_.classes[i].priority;
    if (priority >= kPriorities || std::exchange(named[priority], true)) continue;
    priorities_[i].push_back(std::to_string(priority));
  }
  if (default_ == said_.classes.size()) return;
  for (std::size_t priority = 0; priority < kPriorities; ++priority)
    if (!named[priority]) priorities_[default_].push_back(std::to_string(priority));
}

void RoceClass::add_ecn(const TopologyPort& port, const TopologyLink& link, const TrafficClass& one,
                        std::string_view tc) {
  if (!one.ecn.said) return;
  const EcnThresholds ecn = ecn_of_port(link, one, fires_, c_.mtu_of(link), c_.twin);
  const OriginId origin = one.ecn->automatic ? of(one.ecn, rule::ecn_auto) : of(one.ecn, "classes.ecn");
  out_.list.add(Path(row("interface[*]/class[*]/ecn-max"), {port.name, tc}), ecn.kmax, origin);
  out_.list.add(Path(row("interface[*]/class[*]/ecn-min"), {port.name, tc}), ecn.kmin, origin);
  out_.list.add(Path(row("interface[*]/class[*]/ecn-probability"), {port.name, tc}),
                std::uint64_t{ecn.pmax.parts_per_million / kPartsPerPercent}, origin);
}

void RoceClass::add_class(const TopologyPort& port, const TopologyLink& link, std::size_t number) {
  const TrafficClass& one = said_.classes[number];
  const std::string tc = std::to_string(*one.tc);
  EntryList& list = out_.list;
  const auto path = [&](RowId id) { return Path(id, {port.name, tc}); };
  list.add(path(row("interface[*]/class[*]")), Value::present(), at(one, "classes"));
  if (!dscps_[number].empty())
    list.add(path(row("interface[*]/class[*]/dscp")), Value::set(dscps_[number]),
             number == default_ ? at(one, rule::default_class)
                                : c_.origins.add(who_, one.dscp.front().at, "classes.dscp"));
  if (!priorities_[number].empty())
    list.add(path(row("interface[*]/class[*]/priority")), Value::set(priorities_[number]),
             number == default_ ? at(one, rule::default_class) : of(one.priority, "classes.priority"));
  const bool strict = *one.scheduling == Scheduling::strict;
  list.add(path(row("interface[*]/class[*]/strict")), strict,
           one.scheduling.said ? of(one.scheduling, "classes.scheduling") : at(one, "classes.scheduling"));
  if (one.bandwidth.said && !strict)
    list.add(path(row("interface[*]/class[*]/share")),
             std::uint64_t{one.bandwidth->parts_per_million / kPartsPerPercent},
             of(one.bandwidth, "classes.bandwidth"));
  if (one.max_rate.said)
    list.add(path(row("interface[*]/class[*]/max-rate")), max_rate_of(link, *one.max_rate, c_.twin),
             of(one.max_rate, rule::max_rate));
  add_ecn(port, link, one, tc);
}

void RoceClass::add_buffer(PortIndex index, const TrafficClass& one) {
  const Result<Headroom> headroom = headroom_of_port(c_.catalog, c_.topology, index);
  if (!headroom) return;  // the proofs say which constants the platform lacks
  const std::string priority = std::to_string(*one.priority);
  const std::string_view port = c_.topology.ports[index].name;
  const OriginId origin = of(one.lossless, rule::headroom);
  out_.list.add(Path(row("interface[*]/buffer[*]/size"), {port, priority}), headroom->size, origin);
  out_.list.add(Path(row("interface[*]/buffer[*]/xoff"), {port, priority}), headroom->xoff, origin);
}

void RoceClass::add_watchdog(std::string_view port) {
  if (!said_.pfc->watchdog.said) return;
  const Watchdog& watchdog = *said_.pfc->watchdog;
  EntryList& list = out_.list;
  if (watchdog.action.said)
    list.add(Path(row("interface[*]/pfc-watchdog/action"), {port}), to_string(*watchdog.action),
             of(watchdog.action, "pfc.watchdog.action"));
  if (watchdog.detection_time.said)
    list.add(Path(row("interface[*]/pfc-watchdog/detection-time"), {port}),
             milliseconds(watchdog.detection_time),
             of(watchdog.detection_time, "pfc.watchdog.detectionTime"));
  if (watchdog.restoration_time.said)
    list.add(Path(row("interface[*]/pfc-watchdog/restoration-time"), {port}),
             milliseconds(watchdog.restoration_time),
             of(watchdog.restoration_time, "pfc.watchdog.restorationTime"));
}

void RoceClass::add_nic(std::string_view port) {
  EntryList& list = out_.list;
  if (said_.congestion_control.said)
    list.add(Path(row("interface[*]/congestion-control"), {port}), to_string(*said_.congestion_control),
             of(said_.congestion_control, "congestionControl"));
  for (const TrafficClass& one : said_.classes) {
    if (one.dscp.empty() || *one.name != kCnp) continue;
    list.add(Path(row("interface[*]/cnp-dscp"), {port}), std::uint64_t{*one.dscp.front()},
             c_.origins.add(who_, one.dscp.front().at, rule::cnp_dscp));
  }
  if (const TrafficClass* const one = lossless_class())
    list.add(Path(row("interface[*]/roce-tos"), {port}), tos_of(*one),
             c_.origins.add(who_, one->dscp.front().at, rule::roce_tos));
}

// The first, which RDMA is sent in.
const TrafficClass* RoceClass::lossless_class() const {
  for (const TrafficClass& one : said_.classes)
    if (*one.lossless && !one.dscp.empty()) return &one;
  return nullptr;
}

// Collectives run over the RDMA ports of the backend fabrics.
bool RoceClass::is_of_nccl(const TopologyPort& port) const {
  if (port.link == kNone || !port.rdma) return false;
  const Fabric& fabric = c_.catalog.fabrics[c_.topology.links[port.link].fabric];
  return *fabric.role == FabricRole::backend && fabric.roce_profile.said;
}

// NCCL has one traffic class for all its ports: that of the host's first backend fabric.
FabricIndex RoceClass::fabric_of_nccl() const {
  FabricIndex first = kNone;
  if (c_.topology.devices[out_.example].is_switch()) return first;
  for (const TopologyPort& port : c_.topology.ports_of(out_.example))
    if (is_of_nccl(port)) first = std::min(first, c_.topology.links[port.link].fabric);
  return first;
}

void RoceClass::add_nccl() {
  const TrafficClass* const one = lossless_class();
  if (one == nullptr) return;
  const OriginId origin = c_.origins.add(who_, one->dscp.front().at, rule::nccl);
  std::vector<std::string> interfaces;
  for (const TopologyPort& port : c_.topology.ports_of(out_.example))
    if (is_of_nccl(port)) interfaces.emplace_back(port.name);
  out_.list.add(Path(row("nccl/hca"), {}), Value::set(std::move(interfaces)), origin);
  out_.list.add(Path(row("nccl/traffic-class"), {}), tos_of(*one), origin);
}

void RoceClass::add_port(PortIndex index) {
  const TopologyPort& port = c_.topology.ports[index];
  const TopologyLink& link = c_.topology.links[port.link];
  EntryList& list = out_.list;
  const OriginId whole = c_.origins.add(who_, c_.origins.claimant(who_).at, rule::owned_whole);
  out_.claim(row("interface[*]/class[*]"), {std::string(port.name)}, whole);
  std::vector<std::string> lossless;
  Position first_lossless{};
  for (std::size_t i = 0; i < said_.classes.size(); ++i) {
    const TrafficClass& one = said_.classes[i];
    add_class(port, link, i);
    if (!*one.lossless) continue;
    if (lossless.empty()) first_lossless = one.lossless.at;
    lossless.push_back(std::to_string(*one.priority));
    add_buffer(index, one);
  }
  const OriginId pfc = lossless.empty() ? whole : c_.origins.add(who_, first_lossless, "classes.lossless");
  list.add(Path(row("interface[*]/pfc"), {port.name}), Value::set(std::move(lossless)), pfc);
  list.add(Path(row("interface[*]/pause"), {port.name}), false,
           c_.origins.add(who_, c_.origins.claimant(who_).at, rule::no_pause));
  list.add(Path(row("interface[*]/dcbx"), {port.name}), "host ieee",
           c_.origins.add(who_, c_.origins.claimant(who_).at, rule::dcbx));
  list.add(Path(row("interface[*]/trust"), {port.name}), to_string(*said_.trust), of(said_.trust, "trust"));
  add_watchdog(port.name);
  if (!c_.topology.devices[port.device].is_switch()) add_nic(port.name);
  const auto marked = std::find_if(said_.classes.begin(), said_.classes.end(),
                                   [](const TrafficClass& one) { return one.ecn.said; });
  if (c_.twin && marked != said_.classes.end())
    list.add(Path(row("interface[*]/ecn-threshold"), {port.name}),
             software_ecn_threshold(link.speed_in_twin, c_.mtu_of(link)),
             of(marked->ecn, rule::ecn_software));
}

}  // namespace

void add_roce_entries(Compilation& c, FabricIndex fabric, std::size_t profile, ClassEntries& out) {
  RoceClass(c, fabric, profile, out).run();
}

}  // namespace lockstep
