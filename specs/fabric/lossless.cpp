#include "specs/fabric/lossless.hpp"

#include <algorithm>
#include <cmath>

#include "specs/model/roce_mtu.hpp"

namespace lockstep {
namespace {

constexpr double kSmallestPacket = 64;   // bytes, IEEE 802.3 3.2.8
constexpr double kBytesPerQuantum = 64;  // 512 bit times, IEEE 802.3 31B.2
constexpr double kGiga = 1e9;
constexpr std::uint32_t kFanIn = 2;  // ports into one of the same speed: the fewest that can congest it

std::uint64_t up(double bytes) { return static_cast<std::uint64_t>(std::ceil(bytes - 1e-6)); }

void note(Headroom& out, std::string_view name, double value, std::string_view unit,
          std::string_view source) {
  out.constants.push_back({std::string(name), value, std::string(unit), std::string(source)});
}

double take(Headroom& out, std::string_view name, const Figure& figure, std::string_view unit) {
  note(out, name, figure.value, unit, figure.source);
  return figure.value;
}

Error lacks(const Platform& platform, std::string_view what) {
  return {ErrorKind::unsupported, "no " + std::string(what) + " is known of platform " + platform.name};
}

std::string source_of_cable(const HeadroomAsk& ask) {
  return ask.assumes_cable ? "assumed, as no cableLength is written: SONiC's default_cable" : "the spec";
}

// For constants that the formula needs and no file has.
Error lacks_constants(const Platform& platform) {
  const std::pair<const std::optional<Figure>*, std::string_view> needed[] = {
      {&platform.cell_bytes, "cellBytes"},
      {&platform.pipeline_bytes, "pipelineBytes"},
      {&platform.mac_phy_bytes, "macPhyBytes"},
      {&platform.small_packet_percent, "smallPacketPercent"}};
  std::string missing;
  for (const auto& [figure, key] : needed)
    if (!*figure) missing += (missing.empty() ? "" : ", ") + std::string(key);
  return lacks(platform, missing + ", nor a table of headroom,");
}

// The vendor's row for this speed (or the next higher) and the next longer cable.
Result<Headroom> from_table(const Platform& platform, const HeadroomAsk& ask) {
  const HeadroomRow* best = nullptr;
  const auto fits = [&](const HeadroomRow& row) {
    return row.speed >= ask.speed && std::uint64_t{row.cable_metres} * 1000 >= ask.cable_length;
  };
  const auto nearer = [](const HeadroomRow& a, const HeadroomRow& b) {
    return a.speed != b.speed ? a.speed < b.speed : a.cable_metres < b.cable_metres;
  };
  for (const HeadroomRow& row : platform.headroom)
    if (fits(row) && (best == nullptr || nearer(row, *best))) best = &row;
  if (best == nullptr)
    return lacks(platform,
                 "row for " + format(BitRate{ask.speed}) + " and " + format(Length{ask.cable_length}));
  Headroom out;
  out.rule = HeadroomRule::table;
  out.xoff = best->xoff_bytes;
  out.xon = best->xon_bytes;
  out.xon_offset = best->xon_offset_bytes;
  // Either the reserved part also holds the data after XOFF, or that comes from the shared headroom.
  const bool holds_all = best->reserved_bytes >= best->xoff_bytes;
  out.size =
      holds_all ? best->reserved_bytes : std::max(best->reserved_bytes, best->xon_bytes) + best->xoff_bytes;
  out.reserved = platform.shared_headroom_bytes ? best->reserved_bytes : out.size;
  note(out, "vendor's table, xoff", static_cast<double>(best->xoff_bytes), "B", best->source);
  note(out, "vendor's table, size", static_cast<double>(best->reserved_bytes), "B", best->source);
  note(out, "vendor's table, xon", static_cast<double>(best->xon_bytes), "B", best->source);
  note(out, "vendor's table, xon_offset", static_cast<double>(best->xon_offset_bytes), "B", best->source);
  note(out, "vendor's table, cable", best->cable_metres, "m", best->source);
  if (platform.shared_headroom_bytes) take(out, "shared headroom", *platform.shared_headroom_bytes, "B");
  return out;
}

// For a speed missing from the table: the next higher one's, else the highest; it grows with the speed.
Result<double> peer_response(const Platform& platform, std::uint64_t speed, Headroom& out) {
  const PauseQuanta* best = nullptr;
  for (const PauseQuanta& row : platform.pause_quanta) {
    const bool is_enough = row.speed >= speed;
    if (best == nullptr ||
        (best->speed < speed ? row.speed > best->speed : is_enough && row.speed < best->speed))
      best = &row;
  }
  if (best != nullptr) {
    note(out, best->speed == speed ? "pause quanta" : "pause quanta of " + format(BitRate{best->speed}),
         best->quanta, "quanta of 512 bit times", platform.pause_quanta_source);
    return best->quanta * kBytesPerQuantum;
  }
  if (!platform.peer_response_bytes) return lacks(platform, "pause quanta for " + format(BitRate{speed}));
  return take(out, "peer response", *platform.peer_response_bytes, "B");
}

// Bytes of buffer per byte on the wire when packets fill their cells badly.
double occupancy(double cell, double small_packet_percent) {
  const double worst = cell > 2 * kSmallestPacket ? cell / kSmallestPacket : 2 * cell / (1 + cell);
  return (100 - small_packet_percent + small_packet_percent * worst) / 100;
}

// The driver's own calculation, in its integers and in its order (Linux
// drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c, calculate_xoff and update_buffer_lossy). It
// accepts no smaller buffer for a lossless priority, and sets XON one largest frame below XOFF.
Result<Headroom> by_mlx5(const Platform& platform, const HeadroomAsk& ask) {
  constexpr std::uint64_t kLeastSpeed = 40'000;  // Mbit/s
  // What ConnectX ports report (ip -d link, maxmtu); the driver uses at least MINIMUM_MAX_MTU 9216.
  constexpr std::uint64_t kLargestMtu = 9978;
  constexpr std::uint64_t kCell = 128;  // unless the firmware reports another (SBCAM)
  constexpr std::uint64_t kPerMega = 1'000'000;
  constexpr std::uint64_t kPerMetre = 1000;
  constexpr std::uint64_t kFixed = 301;  // bytes at 1 Gbit/s
  const std::string& source = platform.headroom_rule->source;
  const std::uint64_t metres = (ask.cable_length + kPerMetre - 1) / kPerMetre;
  const std::uint64_t speed = std::max(ask.speed / kPerMega, kLeastSpeed);
  const auto mtu = static_cast<std::uint64_t>(ask.ip_mtu);
  Headroom out;
  out.rule = HeadroomRule::mlx5;
  const std::uint64_t for_cable = 216 * metres / 100;
  const std::uint64_t for_mtu = 272 * mtu / 100;
  out.xoff = (kFixed + for_cable) * speed / 1000 + for_mtu;
  out.size = out.reserved = out.xoff + kLargestMtu + kCell;
  out.xon = kLargestMtu;
  note(out, "fixed", kFixed, "B per Gbit/s", source);
  note(out, "cable", static_cast<double>(metres), "m", source_of_cable(ask));
  note(out, "for the cable (2.16 per metre, rounded down)", static_cast<double>(for_cable), "B per Gbit/s",
       source);
  note(out, "MTU", ask.ip_mtu, "B", "the spec");
  note(out, "for the MTU (2.72 MTUs, rounded down)", static_cast<double>(for_mtu), "B", source);
  note(out, "largest frame, between XOFF and XON", kLargestMtu, "B",
       "ip -d link, maxmtu of ConnectX ports; the driver takes 9216 at least");
  note(out, "cell", kCell, "B", source);
  return out;
}

}  // namespace

Result<Headroom> pfc_headroom(const Platform& platform, const HeadroomAsk& ask) {
  const bool formula = platform.cell_bytes && platform.pipeline_bytes && platform.mac_phy_bytes &&
                       platform.small_packet_percent;
  if (platform.headroom_rule) return by_mlx5(platform, ask);
  if (!formula && !platform.headroom.empty()) return from_table(platform, ask);
  if (!formula) return lacks_constants(platform);
  Headroom out;
  const double cell = take(out, "cell", *platform.cell_bytes, "B");
  if (ask.small_packet_percent) note(out, "small packets", *ask.small_packet_percent, "%", "the spec");
  const double small = ask.small_packet_percent
                           ? *ask.small_packet_percent
                           : take(out, "small packets", *platform.small_packet_percent, "%");
  double pipeline = take(out, "pipeline", *platform.pipeline_bytes, "B");
  const double mac_phy = take(out, "MAC and PHY", *platform.mac_phy_bytes, "B");
  TRY(const double peer, peer_response(platform, ask.speed, out));
  const double metres = static_cast<double>(ask.cable_length) / 1000;
  const double speed = static_cast<double>(ask.speed);
  const double cable = metres / kMetresPerSecond * speed / 8;
  note(out, "signal speed in the cable", kMetresPerSecond, "m/s", "sonic-swss buffer_headroom_mellanox.lua");
  note(out, "cable", metres, "m", source_of_cable(ask));
  note(out, "largest frame", ask.port_mtu, "B", "the spec's MTU, Ethernet's header, a tag and FCS: 22 B");
  const double in_gearbox =
      platform.gearbox_ns ? take(out, "gearbox", *platform.gearbox_ns, "ns") * 1e-9 * speed / 8 : 0;
  double extra = 0;
  if (platform.eight_lane_gbps && speed >= platform.eight_lane_gbps->value * kGiga) {
    take(out, "ports of eight lanes from", *platform.eight_lane_gbps, "Gbit/s");
    pipeline = pipeline * 2;  // 1 KiB more than the Lua's is_8lane, as in the vendor's tables
    extra = ask.port_mtu;
  }
  const double arriving = ask.port_mtu + 2 * (cable + in_gearbox) + mac_phy + peer;
  const double times = occupancy(cell, small);
  note(out, "cell overhead factor", times, "times", "the cell and the small packets");
  out.xoff = up(ask.lossless_mtu + arriving * times);
  out.xon = up(pipeline);
  out.size = out.reserved = out.xoff + out.xon + up(extra);
  return out;
}

std::uint64_t PfcPoint::even() const {
  const double sharing = std::max(ports, kFanIn);
  return static_cast<std::uint64_t>(alpha * kFanIn * static_cast<double>(shared) /
                                    (1 + alpha * sharing * priorities));
}

std::uint64_t PfcPoint::lone() const {
  return static_cast<std::uint64_t>(alpha * kFanIn * static_cast<double>(shared) / (1 + alpha * kFanIn));
}

std::uint64_t PfcPoint::bound() const {
  return static_cast<std::uint64_t>(alpha * static_cast<double>(shared) / (ports * (1 + alpha * priorities)));
}

std::string about(std::uint64_t bytes) {
  constexpr std::uint64_t kKilo = 1000;
  std::uint64_t grain = 1;
  while (bytes / grain >= 100 * kKilo) grain *= kKilo;
  return format(ByteCount{(bytes + grain / 2) / grain * grain});
}

std::string terms_of(const PfcPoint& point) {
  std::string alpha = std::to_string(point.alpha);
  alpha.erase(alpha.find_last_not_of('0') + 1);
  if (alpha.ends_with('.')) alpha.pop_back();
  return "alpha " + alpha + ", " + std::to_string(point.ports) + " ports share " + about(point.shared);
}

std::uint64_t roce_frame(std::uint32_t ip_mtu) {
  const std::uint32_t payload = roce_mtu(ip_mtu);
  return (payload == 0 ? ip_mtu : payload + kRoceHeaders) + kFrameOverhead;
}

std::uint64_t ecn_floor(std::uint64_t speed, std::uint32_t ip_mtu) {
  constexpr double kKmin = 5'000;  // bytes
  constexpr double kSpeed = 40e9;  // bit/s
  const auto in_proportion = static_cast<std::uint64_t>(kKmin * static_cast<double>(speed) / kSpeed);
  return std::max(in_proportion, 2 * roce_frame(ip_mtu));
}

namespace {

void published(EcnThresholds& out, const PublishedEcn& ecn) {
  out.kmin = ecn.kmin_bytes;
  out.kmax = ecn.kmax_bytes;
  out.pmax = ecn.pmax;
  out.constants = {{"Kmin, published", static_cast<double>(out.kmin), "B", ecn.source},
                   {"Kmax, published", static_cast<double>(out.kmax), "B", ecn.source},
                   {"Pmax, published", ecn.pmax.fraction() * 100, "%", ecn.source}};
}

void by_bandwidth_and_delay(EcnThresholds& out, std::uint64_t speed) {
  constexpr double kRoundTrip = 20e-6;  // seconds
  constexpr double kMinOfBdp = 0.8;
  constexpr double kMaxOfBdp = 3;
  constexpr std::string_view kSource =
      "Huawei lossless network guide: 100G, RTT 20 us, 200 KB / 750 KB / 10 %";
  const double bdp = static_cast<double>(speed) / 8 * kRoundTrip;
  out.kmin = static_cast<std::uint64_t>(kMinOfBdp * bdp);
  out.kmax = static_cast<std::uint64_t>(kMaxOfBdp * bdp);
  out.pmax = Ratio{100'000};
  out.constants = {{"round trip", kRoundTrip * 1e6, "us", std::string(kSource)},
                   {"bandwidth-delay product", bdp, "B", "speed x round trip"},
                   {"Kmin", kMinOfBdp, "BDP", std::string(kSource)},
                   {"Kmax", kMaxOfBdp, "BDP", std::string(kSource)},
                   {"Pmax", 10, "%", std::string(kSource)}};
}

// Scales both down until marking comes before PFC.
void shrink(EcnThresholds& out, const PfcPoint& fires) {
  const double of_kmin = static_cast<double>(fires.bound()) / static_cast<double>(out.kmin);
  const double of_kmax = static_cast<double>(fires.even()) / static_cast<double>(out.kmax);
  const double factor = std::min(of_kmin, of_kmax);
  if (factor >= 1) return;
  out.shrunk = true;
  out.kmin = static_cast<std::uint64_t>(static_cast<double>(out.kmin) * factor);
  out.kmax = static_cast<std::uint64_t>(static_cast<double>(out.kmax) * factor);
  out.constants.push_back({"PFC fires at, one port into all queues", static_cast<double>(fires.bound()), "B",
                           terms_of(fires) + "; Zhu et al., SIGCOMM 2015, 4"});
  out.constants.push_back(
      {"PFC fires at, two ports into each", static_cast<double>(fires.even()), "B", terms_of(fires)});
}

}  // namespace

EcnThresholds ecn_auto(const EcnAsk& ask) {
  EcnThresholds out;
  if (ask.published != nullptr)
    published(out, *ask.published);
  else
    by_bandwidth_and_delay(out, ask.speed);
  const std::uint64_t kmax = out.kmax;
  if (ask.fires) shrink(out, *ask.fires);
  const std::uint64_t least = ecn_floor(ask.speed, ask.ip_mtu);
  if (out.kmin >= least) return out;
  out.kmax = std::max(least, ask.fires ? std::min(kmax, ask.fires->even()) : kmax);
  out.kmin = least;
  out.constants.push_back({"least Kmin", static_cast<double>(least), "B",
                           "Zhu et al., SIGCOMM 2015: 5 KB at 40 Gb/s, in proportion; two packets at least"});
  return out;
}

}  // namespace lockstep
