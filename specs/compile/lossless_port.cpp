#include "specs/compile/lossless_port.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep {
namespace {

// 65,536 B at 1 Gb/s: measured on TBF in a namespace lab, 3 to 1 incast without a drop.
constexpr std::uint64_t kSoftwareBytes = 65'536;
constexpr std::uint64_t kSoftwareRate = 1'000'000'000;

// Capped at the maximum of a Value's integer, which is more than any port accepts.
std::uint64_t in_proportion(std::uint64_t value, std::uint64_t numerator, std::uint64_t denominator) {
  if (denominator == 0) return value;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const long double whole = std::round(static_cast<long double>(value) * static_cast<long double>(numerator) /
                                       static_cast<long double>(denominator));
  return static_cast<std::uint64_t>(whole < static_cast<long double>(kMost) ? static_cast<std::int64_t>(whole)
                                                                            : kMost);
}

}  // namespace

Result<Headroom> headroom_of_port(const Catalog& catalog, const Topology& topology, PortIndex index) {
  const TopologyPort& port = topology.ports[index];
  if (port.link == kNone) return Error{ErrorKind::invalid_spec, topology.port_text(index) + " is not cabled"};
  if (port.platform.empty())
    return Error{ErrorKind::unsupported, topology.port_text(index) + " has no platform"};
  TRY(const Platform* const platform, find_platform(catalog, port.platform));
  return class_headroom(catalog, topology.links[port.link], *platform);
}

std::optional<BufferUse> buffer_of(const Catalog& catalog, const Topology& topology, DeviceIndex device) {
  const TopologyDevice& self = topology.devices[device];
  if (!self.is_switch()) return std::nullopt;
  const Result<const Platform*> platform = find_platform(catalog, self.platform);
  if (!platform) return std::nullopt;
  Result<BufferUse> use = buffer_use(catalog, topology, device, **platform);
  return use ? std::optional(std::move(*use)) : std::nullopt;
}

EcnPort ecn_port(const Catalog& catalog, const Topology& topology, PortIndex index,
                 const std::optional<PfcPoint>& fires) {
  const TopologyPort& port = topology.ports[index];
  const TopologyLink& link = topology.links[port.link];
  const Result<const Platform*> platform = find_platform(catalog, port.platform);
  return {.link = &link,
          .platform = platform ? *platform : nullptr,
          .fires = fires,
          .mtu = *mtu_of(catalog, link)};
}

EcnThresholds ecn_of_port(const EcnPort& port, const Ecn& ecn, bool twin) {
  const TopologyLink& link = *port.link;
  EcnThresholds out;
  if (ecn.automatic) {
    const bool published = port.platform != nullptr && port.platform->ecn_defaults;
    out = ecn_auto({.speed = link.speed,
                    .ip_mtu = port.mtu,
                    .published = published ? &*port.platform->ecn_defaults : nullptr,
                    .fires = port.fires});
  } else {
    out.kmin = ecn.kmin->bytes;
    out.kmax = ecn.kmax->bytes;
    out.pmax = *ecn.pmax;
  }
  if (!twin) return out;
  out.kmin = in_proportion(out.kmin, link.speed_in_twin, link.speed);
  out.kmax = in_proportion(out.kmax, link.speed_in_twin, link.speed);
  const std::uint64_t needed = software_ecn_threshold(link.speed_in_twin, port.mtu);
  if (out.kmin >= needed) return out;
  out.kmax = std::max(in_proportion(out.kmax, needed, out.kmin), needed);
  out.kmin = needed;
  out.constants.push_back({"raised to a Kmin of", static_cast<double>(needed), "B",
                           "what a kernel's queue needs: 65,536 B at 1 Gb/s, two packets at least"});
  return out;
}

std::uint64_t max_rate_of(const TopologyLink& link, const RateOrRatio& said, bool twin) {
  const std::uint64_t speed = twin ? link.speed_in_twin : link.speed;
  const std::uint64_t wanted = said.share ? in_proportion(speed, said.ratio.parts_per_million, 1'000'000)
                               : twin
                                   ? in_proportion(said.rate.bits_per_second, link.speed_in_twin, link.speed)
                                   : said.rate.bits_per_second;
  return std::max(kLeastShapedRate, wanted / kShapedRateStep * kShapedRateStep);
}

std::uint64_t software_ecn_threshold(std::uint64_t rate, std::uint32_t mtu) {
  return std::max<std::uint64_t>(in_proportion(kSoftwareBytes, rate, kSoftwareRate), std::uint64_t{2} * mtu);
}

}  // namespace lockstep
