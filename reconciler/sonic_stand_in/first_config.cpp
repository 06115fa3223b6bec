#include "reconciler/sonic_stand_in/first_config.hpp"

#include <algorithm>

namespace lockstep::sonic {
namespace {

constexpr std::size_t kLanesOfPort = 8;         // 400GBASE-R8, as the 400 Gb/s ports of SONiC's samples
constexpr const char* kSpeed = "400000";        // Mb/s; veth has none, and a row of PORT must have one
constexpr const char* kMtu = "9100";            // the default of SONiC's sonic-port.yang and of its images
constexpr const char* kPoolBytes = "40000000";  // chosen; a row of BUFFER_POOL must have a size

}  // namespace

ConfigRow first_port_row(std::size_t number) {
  std::string lanes;
  for (std::size_t lane = 0; lane < kLanesOfPort; ++lane)
    lanes += (lane == 0 ? "" : ",") + std::to_string(number * kLanesOfPort + lane);
  return {{"lanes", lanes}, {"speed", kSpeed}, {"mtu", kMtu}, {"admin_status", "down"}};
}

ConfigDb first_config(const SwitchIdentity& identity, std::span<const std::string> ports) {
  ConfigDb out;
  for (std::size_t i = 0; i < ports.size(); ++i) out.tables["PORT"][ports[i]] = first_port_row(i);
  // With frr_mgmt_framework_config SONiC's BGP follows CONFIG_DB's own tables, and not bgpcfgd's templates.
  out.tables["DEVICE_METADATA"]["localhost"] = {
      {"hostname", identity.hostname}, {"type", identity.type}, {"frr_mgmt_framework_config", "true"}};
  out.tables["BUFFER_POOL"]["ingress_lossless_pool"] = {
      {"type", "ingress"}, {"mode", "dynamic"}, {"size", kPoolBytes}};
  return out;
}

// Those of sonic-net/sonic-buildimage, files/image_config/sysctl/sysctl-net.conf, that decide how packets are
// forwarded. An interface's accept_dad counts beside that of all (Documentation/networking/ip-sysctl.rst).
// The hash is none of SONiC's: there the ASIC spreads flows, here the kernel does, by addresses, protocol and
// ports (policy 3, fields 0x37, same document).
std::vector<std::pair<std::string, std::string>> boot_parameters(std::span<const std::string> ports) {
  std::vector<std::pair<std::string, std::string>> out{
      {"net.ipv4.conf.all.forwarding", "1"},
      {"net.ipv4.conf.default.forwarding", "1"},
      {"net.ipv6.conf.all.forwarding", "1"},
      {"net.ipv6.conf.default.forwarding", "1"},
      {"net.ipv6.conf.all.accept_dad", "0"},
      {"net.ipv6.conf.default.accept_dad", "0"},
      {"net.ipv6.conf.all.keep_addr_on_down", "1"},
      {"net.ipv4.conf.all.ignore_routes_with_linkdown", "1"},
      {"net.ipv6.conf.all.ignore_routes_with_linkdown", "1"},
      {"net.ipv4.fib_multipath_use_neigh", "1"},
      {"net.ipv4.fib_multipath_hash_policy", "3"},
      {"net.ipv4.fib_multipath_hash_fields", "55"},
  };
  for (const std::string& port : ports) {
    std::string word = port;  // as sysctl(8) writes a dot of an interface's name
    std::ranges::replace(word, '.', '/');
    out.emplace_back("net.ipv6.conf." + word + ".accept_dad", "0");
  }
  return out;
}

}  // namespace lockstep::sonic
