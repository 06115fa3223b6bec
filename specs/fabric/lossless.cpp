#include "specs/fabric/lossless.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kSmallestPacket = 64;   // bytes, IEEE 802.3 3.2.8
constexpr double kBytesPerQuantum = 64;  // 512 bit times, IEEE 802.3 31B.2
constexpr double kGiga = 1e9;

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
  out.from_table = true;
  out.xoff = best->xoff_bytes;
  out.xon = best->xon_bytes;
  // What is reserved holds what comes after XOFF as well, or that is taken from what all share.
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

Result<double> peer_response(const Platform& platform, std::uint64_t speed, Headroom& out) {
  for (const PauseQuanta& row : platform.pause_quanta) {
    if (row.speed != speed) continue;
    note(out, "pause quanta", row.quanta, "quanta of 512 bit times", platform.pause_quanta_source);
    return row.quanta * kBytesPerQuantum;
  }
  if (!platform.peer_response_bytes) return lacks(platform, "pause quanta for " + format(BitRate{speed}));
  return take(out, "peer response", *platform.peer_response_bytes, "B");
}

// Bytes of buffer that a byte on the wire can take, when packets fill their cells badly.
double occupancy(double cell, double small_packet_percent) {
  const double worst = cell > 2 * kSmallestPacket ? cell / kSmallestPacket : 2 * cell / (1 + cell);
  return (100 - small_packet_percent + small_packet_percent * worst) / 100;
}

}  // namespace

Result<Headroom> pfc_headroom(const Platform& platform, const HeadroomAsk& ask) {
  const bool formula = platform.cell_bytes && platform.pipeline_bytes && platform.mac_phy_bytes &&
                       platform.small_packet_percent;
  if (!formula && !platform.headroom.empty()) return from_table(platform, ask);
  if (!formula) return lacks(platform, "cell size, pipeline or MAC/PHY delay");
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
  note(out, "speed in the medium", kMetresPerSecond, "m/s", "sonic-swss buffer_headroom_mellanox.lua");
  note(out, "cable", metres, "m", "the spec");
  note(out, "port MTU", ask.port_mtu, "B", "the spec");
  note(out, "lossless MTU", ask.lossless_mtu, "B", "the spec");
  const double in_gearbox =
      platform.gearbox_ns ? take(out, "gearbox", *platform.gearbox_ns, "ns") * 1e-9 * speed / 8 : 0;
  double extra = 0;
  if (platform.eight_lane_gbps && speed >= platform.eight_lane_gbps->value * kGiga) {
    take(out, "ports of eight lanes from", *platform.eight_lane_gbps, "Gbit/s");
    pipeline = pipeline * 2;  // 1 KiB more than the Lua's is_8lane, as in the vendor's tables
    extra = ask.port_mtu;
  }
  const double arriving = ask.port_mtu + 2 * (cable + in_gearbox) + mac_phy + peer;
  out.xoff = up(ask.lossless_mtu + arriving * occupancy(cell, small));
  out.xon = up(pipeline);
  out.size = out.reserved = out.xoff + out.xon + up(extra);
  return out;
}

PfcPoint pfc_point(std::uint64_t shared, double alpha, std::uint32_t ports, std::uint32_t fan_in) {
  PfcPoint out{.queue = 0, .alpha = alpha, .fan_in = fan_in, .ports = ports, .shared = shared};
  const double sharing = std::max(ports, fan_in);
  out.queue =
      static_cast<std::uint64_t>(alpha * fan_in * static_cast<double>(shared) / (1 + alpha * sharing));
  return out;
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
  return "alpha " + alpha + ", " + std::to_string(point.fan_in) + " ports into one, " +
         std::to_string(point.ports) + " ports share " + about(point.shared);
}

EcnThresholds ecn_auto(std::uint64_t speed, std::optional<PfcPoint> fires) {
  constexpr double kRoundTrip = 20e-6;  // seconds
  constexpr double kMinOfBdp = 0.8;
  constexpr double kMaxOfBdp = 3;
  constexpr std::string_view kSource =
      "Huawei lossless network guide: 100G, RTT 20 us, 200 KB / 750 KB / 10 %";
  const double bdp = static_cast<double>(speed) / 8 * kRoundTrip;
  EcnThresholds out;
  out.kmin = static_cast<std::uint64_t>(kMinOfBdp * bdp);
  out.kmax = static_cast<std::uint64_t>(kMaxOfBdp * bdp);
  out.pmax = Ratio{100'000};
  out.constants = {{"round trip", kRoundTrip * 1e6, "us", std::string(kSource)},
                   {"bandwidth-delay product", bdp, "B", "speed x round trip"},
                   {"Kmin", kMinOfBdp, "BDP", std::string(kSource)},
                   {"Kmax", kMaxOfBdp, "BDP", std::string(kSource)},
                   {"Pmax", 10, "%", std::string(kSource)}};
  if (!fires || fires->queue >= out.kmax) return out;
  out.shrunk = true;
  out.kmin = static_cast<std::uint64_t>(static_cast<double>(fires->queue) * kMinOfBdp / kMaxOfBdp);
  out.kmax = fires->queue;
  out.constants.push_back({"PFC fires at", static_cast<double>(fires->queue), "B", terms_of(*fires)});
  return out;
}

}  // namespace lockstep
