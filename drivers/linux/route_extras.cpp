#include "drivers/linux/route_extras.hpp"

#include <linux/rtnetlink.h>

#include <array>
#include <string_view>

namespace lockstep {
namespace {

// iproute2's names (ip/iproute.c, mx_names), by RTAX_*.
constexpr std::array<const char*, RTAX_MAX + 1> kNames{
    "",         "lock",    "mtu",      "window",     "rtt",      "rttvar",
    "ssthresh", "cwnd",    "advmss",   "reordering", "hoplimit", "initcwnd",
    "features", "rto_min", "initrwnd", "quickack",   "congctl",  "fastopen_no_cookie"};
static_assert(kNames.back() != nullptr, "newer headers know more of them");
constexpr std::uint32_t kIpv6Metric = 1024;  // IP6_RT_PRIO_USER, linux/ipv6_route.h

}  // namespace

std::uint32_t usual_metric(const IpPrefix& destination) { return destination.address.v6 ? kIpv6Metric : 0; }

std::string tos_text(std::uint8_t tos) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return tos == 0 ? "" : std::string(" tos 0x") + kDigits[tos >> 4] + kDigits[tos & 0xF];
}

std::string metric_words(const Route& route) {
  std::string out;
  for (const RouteMetric& one : route.metrics) {
    out += std::string(" ") + kNames.at(one.type);
    if (one.locked) out += " lock";
    out += " " + (one.text.empty() ? std::to_string(one.number) : one.text);
  }
  return out;
}

std::string extras(const Route& route) {
  std::string out;
  if (route.type != RTN_UNICAST) out += " type " + std::to_string(route.type);
  out += tos_text(route.tos);
  if (route.metric != usual_metric(route.destination)) out += " metric " + std::to_string(route.metric);
  if (route.source) out += " src " + route.source->text();
  return out + metric_words(route);
}

std::string extras(const NextHop& hop) {
  std::string out;
  if (hop.encapsulation != 0) out += " encap";
  if (hop.weight != 1) out += " weight " + std::to_string(hop.weight);
  return out;
}

}  // namespace lockstep
