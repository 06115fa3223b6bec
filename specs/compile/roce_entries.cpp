#include <algorithm>
#include <array>

#include "specs/compile/compilation.hpp"
#include "specs/compile/lossless_port.hpp"
#include "specs/compile/rules.hpp"
#include "specs/fabric/roce_classes.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kPartsPerPermille = 1000;
constexpr std::size_t kDscps = 64;      // RFC 2474: six bits
constexpr std::size_t kPriorities = 8;  // 802.1Q: three bits
constexpr std::uint64_t kMillimetresPerMetre = 1000;
constexpr std::uint64_t kEct0 = 2;  // RFC 3168: ECT(0)

// The class for DSCPs and priorities that no class lists: "default", else the lossy class with the lowest
// number.
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

std::uint64_t milliseconds(Duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
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
        buffer_(buffer_of(c.catalog, c.topology, out.example)) {}

  void run() {
    find_dscps();
    find_priorities();
    for (const PortIndex port : fabric_ports(c_.topology, out_.example, fabric_)) add_port(port);
    add_poll_interval();
    if (c_.topology.devices[out_.example].is_switch() &&
        buffer_profile(c_.catalog, c_.topology, out_.example) == &said_)
      add_pools();
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
  void add_class(PortIndex index, std::size_t number);
  void add_ecn(PortIndex index, const TrafficClass& one);
  void add_buffer(PortIndex index, const TrafficClass& one);
  std::optional<std::int64_t> threshold_of(PortIndex port) const;
  void add_pools();
  void add_cable_length(const TopologyPort& port, const TopologyLink& link, Position lossless);
  void add_watchdog(std::string_view port);
  void add_poll_interval();
  void add_nic(std::string_view port);
  void add_dcqcn(std::string_view port);
  const TrafficClass* rdma_class() const;
  FabricIndex fabric_of_nccl() const;
  bool is_of_nccl(const TopologyPort& port) const;
  void add_nccl();

  Compilation& c_;
  FabricIndex fabric_;
  const RoceProfile& said_;
  ClaimantId who_;
  ClassEntries& out_;
  std::size_t default_;
  std::optional<BufferUse> buffer_;                   // on a switch
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
    for (const Said<std::uint8_t>& priority : priorities_of(said_.classes[i])) {
      if (*priority >= kPriorities || std::exchange(named[*priority], true)) continue;
      priorities_[i].push_back(std::to_string(*priority));
    }
  }
  if (default_ == said_.classes.size()) return;
  for (std::size_t priority = 0; priority < kPriorities; ++priority)
    if (!named[priority]) priorities_[default_].push_back(std::to_string(priority));
}

void RoceClass::add_ecn(PortIndex index, const TrafficClass& one) {
  const TopologyPort& port = c_.topology.ports[index];
  const std::string tc = std::to_string(*one.tc);
  const Said<Ecn>& said = ecn_on(one, c_.topology.devices[port.device].role);
  if (!said.said) return;
  const EcnThresholds ecn = ecn_of_port(
      ecn_port(c_.catalog, c_.topology, index, buffer_ && !c_.twin ? buffer_->fires : std::nullopt), *said,
      c_.twin);
  const OriginId origin = said->automatic ? of(said, rule::ecn_auto) : of(said, "classes.ecn");
  out_.list.add(Path(row("interface[*]/class[*]/ecn-max"), {port.name, tc}), ecn.kmax, origin);
  out_.list.add(Path(row("interface[*]/class[*]/ecn-min"), {port.name, tc}), ecn.kmin, origin);
  out_.list.add(Path(row("interface[*]/class[*]/ecn-probability"), {port.name, tc}),
                std::uint64_t{ecn.pmax.parts_per_million / kPartsPerPermille}, origin);
}

void RoceClass::add_class(PortIndex index, std::size_t number) {
  const TopologyPort& port = c_.topology.ports[index];
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
             number == default_ ? at(one, rule::default_class)
                                : of(priorities_of(one).front(), "classes.priority"));
  const bool strict = *one.scheduling == Scheduling::strict;
  list.add(path(row("interface[*]/class[*]/strict")), strict,
           one.scheduling.said ? of(one.scheduling, "classes.scheduling") : at(one, "classes.scheduling"));
  if (one.bandwidth.said && !strict)
    list.add(path(row("interface[*]/class[*]/share")),
             std::uint64_t{one.bandwidth->parts_per_million / kPartsPerPermille},
             of(one.bandwidth, "classes.bandwidth"));
  if (one.max_rate.said)
    list.add(path(row("interface[*]/class[*]/max-rate")),
             max_rate_of(c_.topology.links[port.link], *one.max_rate, c_.twin),
             of(one.max_rate, rule::max_rate));
  add_ecn(index, one);
}

void RoceClass::add_buffer(PortIndex index, const TrafficClass& one) {
  const TopologyDevice& device = c_.topology.devices[c_.topology.ports[index].device];
  if (device.is_switch() && has_driver(device, DriverName::sonic))
    for (const Said<std::uint8_t>& said : priorities_of(one))
      out_.list.add(
          Path(row("interface[*]/buffer[*]"), {c_.topology.ports[index].name, std::to_string(*said)}),
          Value::present(), of(one.lossless, "classes.lossless"));
  const Result<Headroom> headroom = headroom_of_port(c_.catalog, c_.topology, index);
  if (!headroom) return;  // the proofs report which constants the platform lacks
  const std::string_view port = c_.topology.ports[index].name;
  const OriginId origin = of(one.lossless, rule::headroom);
  const Buffers& buffers = *said_.buffers;
  for (const Said<std::uint8_t>& said : priorities_of(one)) {
    const std::string priority = std::to_string(*said);
    const auto add = [&](RowId id, Value value, OriginId from) {
      out_.list.add(Path(id, {port, priority}), value, from);
    };
    const auto number = [](std::uint64_t bytes) { return Value::integer(bytes); };
    add(row("interface[*]/buffer[*]/size"), number(headroom->reserved), origin);
    add(row("interface[*]/buffer[*]/xoff"), number(headroom->xoff), origin);
    if (!device.is_switch()) continue;
    add(row("interface[*]/buffer[*]/xon"), number(headroom->xon), origin);
    if (headroom->xon_offset != 0 || buffers.xon_offset.said)
      add(row("interface[*]/buffer[*]/xon-offset"), number(headroom->xon_offset),
          buffers.xon_offset.said ? of(buffers.xon_offset, "buffers.xonOffset") : origin);
    if (const auto threshold = threshold_of(index))
      add(row("interface[*]/buffer[*]/dynamic-threshold"), Value::integer(*threshold),
          buffers.dynamic_threshold.said ? of(buffers.dynamic_threshold, "buffers.dynamicThreshold")
                                         : of(one.lossless, rule::dynamic_threshold));
  }
}

// None: neither the profile nor the platform sets one.
std::optional<std::int64_t> RoceClass::threshold_of(PortIndex port) const {
  const Result<const Platform*> platform = find_platform(c_.catalog, c_.topology.ports[port].platform);
  if (!said_.buffers->dynamic_threshold.said && !(platform && (*platform)->alpha_log2)) return std::nullopt;
  return platform ? dynamic_threshold(said_, **platform) : *said_.buffers->dynamic_threshold;
}

// For the whole switch: the headroom that its classes share, and the profile's pools.
void RoceClass::add_pools() {
  const Buffers& buffers = *said_.buffers;
  if (buffer_ && buffer_->shared_headroom != 0)
    out_.list.add(Path(row("buffer-headroom"), {}), buffer_->shared_headroom,
                  buffers.oversubscription.said
                      ? of(buffers.oversubscription, rule::shared_headroom)
                      : c_.origins.add(who_, c_.origins.claimant(who_).at, rule::shared_headroom));
  if (!buffers.pools.said) return;
  const BufferPools& pools = *buffers.pools;
  for (const auto& [name, share] :
       {std::pair{"headroom", &pools.headroom}, {"lossless", &pools.lossless}, {"lossy", &pools.lossy}})
    out_.list.add(Path(row("buffer-pool[*]/share"), {name}),
                  std::uint64_t{(*share)->parts_per_million / kPartsPerPermille},
                  of(*share, "buffers.pools"));
}

void RoceClass::add_cable_length(const TopologyPort& port, const TopologyLink& link, Position lossless) {
  const std::uint64_t length = headroom_ask(c_.catalog, link).cable_length;
  const std::uint64_t metres = (length + kMillimetresPerMetre - 1) / kMillimetresPerMetre;
  out_.list.add(Path(row("interface[*]/cable-length"), {port.name}), metres,
                c_.origins.add(who_, lossless, rule::cable_length));
}

void RoceClass::add_watchdog(std::string_view port) {
  if (!said_.pfc->watchdog.said) return;
  const Watchdog& watchdog = *said_.pfc->watchdog;
  if (watchdog.action.said)
    out_.list.add(Path(row("interface[*]/pfc-watchdog/action"), {port}), to_string(*watchdog.action),
                  of(watchdog.action, "pfc.watchdog.action"));
  const auto add = [&](RowId row, const Said<Duration>& time, std::string_view rule) {
    if (time.said) out_.list.add(Path(row, {port}), milliseconds(*time), of(time, rule));
  };
  add(row("interface[*]/pfc-watchdog/detection-time"), watchdog.detection_time, "pfc.watchdog.detectionTime");
  add(row("interface[*]/pfc-watchdog/restoration-time"), watchdog.restoration_time,
      "pfc.watchdog.restorationTime");
}

// Of all ports: devices have one.
void RoceClass::add_poll_interval() {
  const Said<Duration>& poll = said_.pfc->watchdog->poll_interval;
  if (poll.said)
    out_.list.add(Path(row("pfc-watchdog/poll-interval"), {}), milliseconds(*poll),
                  of(poll, "pfc.watchdog.pollInterval"));
}

void RoceClass::add_nic(std::string_view port) {
  EntryList& list = out_.list;
  if (said_.congestion_control.said)
    list.add(Path(row("interface[*]/congestion-control"), {port}), to_string(*said_.congestion_control),
             of(said_.congestion_control, "congestionControl"));
  const TrafficClass* const cnp = class_for(said_, Carried::cnp);
  if (cnp != nullptr && !cnp->dscp.empty()) {
    list.add(Path(row("interface[*]/cnp-dscp"), {port}), std::uint64_t{*cnp->dscp.front()},
             c_.origins.add(who_, cnp->dscp.front().at, rule::cnp_dscp));
    list.add(Path(row("interface[*]/cnp-priority"), {port}), std::uint64_t{*priorities_of(*cnp).front()},
             c_.origins.add(who_, priorities_of(*cnp).front().at, rule::cnp_priority));
  }
  if (const TrafficClass* const one = rdma_class())
    list.add(Path(row("interface[*]/roce-tos"), {port}), tos_of(*one),
             c_.origins.add(who_, one->dscp.front().at, rule::roce_tos));
  add_dcqcn(port);
}

// In the NIC's unit.
std::uint64_t counted(Duration time) { return static_cast<std::uint64_t>(time.count()) / kDcqcnTime; }
std::uint64_t counted(BitRate rate) { return rate.bits_per_second / kDcqcnRate; }
std::uint64_t counted(Ratio share) { return share.parts_per_million / kDcqcnShare; }
std::uint64_t counted(ByteCount amount) { return amount.bytes; }
std::uint64_t counted(std::uint32_t number) { return number; }
bool counted(bool on) { return on; }

void RoceClass::add_dcqcn(std::string_view port) {
  const Dcqcn& said = *said_.dcqcn;
  const auto add = [&](RowId row, const auto& field, std::string_view rule) {
    if (field.said) out_.list.add(Path(row, {port}), counted(*field), of(field, rule));
  };
  add(row("interface[*]/dcqcn/cnp-interval"), said.cnp_interval, "dcqcn.cnpInterval");
  add(row("interface[*]/dcqcn/initial-alpha"), said.initial_alpha, "dcqcn.initialAlpha");
  add(row("interface[*]/dcqcn/alpha-gain"), said.alpha_gain, "dcqcn.alphaGain");
  add(row("interface[*]/dcqcn/alpha-timer"), said.alpha_timer, "dcqcn.alphaTimer");
  add(row("interface[*]/dcqcn/rate-reduce-period"), said.rate_reduce_period, "dcqcn.rateReducePeriod");
  add(row("interface[*]/dcqcn/min-decrease"), said.min_decrease, "dcqcn.minDecrease");
  add(row("interface[*]/dcqcn/reduction-shift"), said.reduction_shift, "dcqcn.reductionShift");
  add(row("interface[*]/dcqcn/min-rate"), said.min_rate, "dcqcn.minRate");
  add(row("interface[*]/dcqcn/rate-on-first-cnp"), said.rate_on_first_cnp, "dcqcn.rateOnFirstCnp");
  add(row("interface[*]/dcqcn/clamp-target-rate"), said.clamp_target_rate, "dcqcn.clampTargetRate");
  add(row("interface[*]/dcqcn/clamp-target-rate-after-timer"), said.clamp_target_rate_after_timer,
      "dcqcn.clampTargetRateAfterTimer");
  add(row("interface[*]/dcqcn/time-reset"), said.time_reset, "dcqcn.timeReset");
  add(row("interface[*]/dcqcn/byte-reset"), said.byte_reset, "dcqcn.byteReset");
  add(row("interface[*]/dcqcn/fast-recovery-steps"), said.fast_recovery_steps, "dcqcn.fastRecoverySteps");
  add(row("interface[*]/dcqcn/additive-increase"), said.additive_increase, "dcqcn.additiveIncrease");
  add(row("interface[*]/dcqcn/hyper-increase"), said.hyper_increase, "dcqcn.hyperIncrease");
  add(row("interface[*]/dcqcn/max-rate"), said.max_rate, "dcqcn.maxRate");
}

// The class for RDMA on this fabric; nullptr: none that has a DSCP.
const TrafficClass* RoceClass::rdma_class() const {
  const TrafficClass* const one = class_for(said_, rdma_of(*c_.catalog.fabrics[fabric_].role));
  return one == nullptr || one->dscp.empty() ? nullptr : one;
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
  const TrafficClass* const one = rdma_class();
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
  for (const RowId of_class : {row("interface[*]/class[*]"), row("interface[*]/class[*]/max-rate"),
                               row("interface[*]/class[*]/ecn-min"), row("interface[*]/class[*]/ecn-max"),
                               row("interface[*]/class[*]/ecn-probability")})
    out_.claim(of_class, {std::string(port.name)}, whole);
  std::vector<std::string> lossless;
  Position first_lossless{};
  for (std::size_t i = 0; i < said_.classes.size(); ++i) {
    const TrafficClass& one = said_.classes[i];
    add_class(index, i);
    if (!*one.lossless) continue;
    if (lossless.empty()) first_lossless = one.lossless.at;
    for (const Said<std::uint8_t>& priority : priorities_of(one))
      lossless.push_back(std::to_string(*priority));
    add_buffer(index, one);
  }
  if (!lossless.empty()) add_cable_length(port, link, first_lossless);
  const OriginId pfc = lossless.empty() ? whole : c_.origins.add(who_, first_lossless, "classes.lossless");
  list.add(Path(row("interface[*]/pfc"), {port.name}), Value::set(std::move(lossless)), pfc);
  list.add(Path(row("interface[*]/pause"), {port.name}), false,
           c_.origins.add(who_, c_.origins.claimant(who_).at, rule::no_pause));
  list.add(Path(row("interface[*]/dcbx"), {port.name}), "host ieee",
           c_.origins.add(who_, c_.origins.claimant(who_).at, rule::dcbx));
  list.add(Path(row("interface[*]/trust"), {port.name}), to_string(*said_.trust), of(said_.trust, "trust"));
  if (said_.pfc->asymmetric.said)
    list.add(Path(row("interface[*]/pfc-asymmetric"), {port.name}), *said_.pfc->asymmetric,
             of(said_.pfc->asymmetric, "pfc.asymmetric"));
  add_watchdog(port.name);
  if (!c_.topology.devices[port.device].is_switch()) add_nic(port.name);
  const auto marked = std::find_if(said_.classes.begin(), said_.classes.end(),
                                   [](const TrafficClass& one) { return one.ecn.said; });
  if (c_.twin && marked != said_.classes.end())
    list.add(Path(row("interface[*]/ecn-threshold"), {port.name}),
             software_ecn_threshold(link.speed_in_twin, *mtu_of(c_.catalog, link)),
             of(marked->ecn, rule::ecn_software));
}

}  // namespace

void add_roce_entries(Compilation& c, FabricIndex fabric, std::size_t profile, ClassEntries& out) {
  RoceClass(c, fabric, profile, out).run();
}

}  // namespace lockstep
