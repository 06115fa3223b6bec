#include "drivers/linux/usage.hpp"

#include <net/if.h>

#include <optional>
#include <set>

#include "drivers/linux/dcb/port_state.hpp"
#include "drivers/linux/ethtool/driver_statistics.hpp"
#include "drivers/linux/map.hpp"
#include "drivers/linux/rdma/nldev.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

using linux_map::kClass;
using linux_map::kMtu;

// Traffic sent and received in a priority ('#'): mlx5 (its counters.rst), bnxt_en (bnxt_ethtool.c), mlxsw
// (spectrum_ethtool.c), in packets or in bytes.
constexpr std::string_view kOfPriority[] = {"tx_prio#_packets", "rx_prio#_packets", "tx_packets_pri#",
                                            "rx_packets_pri#",  "tx_octets_prio_#", "rx_octets_prio_#"};

std::string name_of(std::string_view pattern, std::uint8_t priority) {
  std::string out(pattern);
  return out.replace(out.find('#'), 1, std::to_string(priority));
}

Result<std::set<std::uint8_t>> priorities_of(const std::string& port, std::string_view number,
                                             const Call& call) {
  Link link;
  link.index = ::if_nametoindex(port.c_str());
  link.name = port;
  if (link.index == 0) return Error{ErrorKind::transient, port + ": there is no such port"};
  TRY(dcb::Ports ports, dcb::Ports::open(call));
  TRY(const dcb::PortState state, ports.read(link, call));
  for (const auto& [one, is] : state.classes)
    if (std::to_string(one) == number) return is.priorities;
  return Error{ErrorKind::unsupported, port + " has no class " + std::string(number) + " of its own"};
}

Result<Usage::Use> packets(const std::string& port, std::string_view number, const Call& call) {
  TRY(const std::set<std::uint8_t> priorities, priorities_of(port, number, call));
  TRY(const auto all, driver_statistics(port));
  std::optional<std::uint64_t> passed;
  for (const std::uint8_t priority : priorities)
    for (const std::string_view pattern : kOfPriority)
      if (const auto counted = all.find(name_of(pattern, priority)); counted != all.end())
        passed = passed.value_or(0) + counted->second;
  if (!passed) return Error{ErrorKind::unsupported, port + ": its driver counts no packets by priority"};
  return Usage::Use{"packets of class " + std::string(number) + " of " + port, 0, passed};
}

// Without RDMA in the kernel, or without a device, there are no open queue pairs.
Result<Usage::Use> queue_pairs(const std::string& port, const Call& call) {
  Usage::Use out{"queue pairs of " + port, 0, std::nullopt};
  auto known = rdma::read_devices_and_ports(call);
  if (!known && known.error().kind != ErrorKind::unsupported) return known.error();
  if (!known || known->devices.empty()) return out;
  bool is_found = false;
  for (const rdma::Port& one : known->ports) {
    if (one.netdev != port) continue;
    for (const rdma::Device& device : known->devices)
      if (device.name == one.device) {
        TRY(const std::size_t open, rdma::connected_queue_pairs(device.index, one.number, call));
        out.open += open;
        out.what = "queue pairs of " + device.name;
        is_found = true;
      }
  }
  if (!is_found) return Error{ErrorKind::unsupported, port + ": no RDMA device names it as its port"};
  return out;
}

}  // namespace

LinuxUsage::LinuxUsage(const LinuxTarget& target)
    : netns_path_(target.netns_path),
      has_lossless_classes_(!target.software_rate),
      sees_queue_pairs_(target.netns_path.empty()) {}

bool LinuxUsage::knows(Path entry) const {
  return (entry.row() == kClass && has_lossless_classes_) || (entry.row() == kMtu && sees_queue_pairs_);
}

Result<Usage::Use> LinuxUsage::of(Path entry, const Call& call) {
  Result<Use> out = Error{ErrorKind::transient, entry.text() + ": not asked"};
  TRY_DONE(in_namespace(netns_path_, [&] {
    const std::string port(entry.key(0));
    out = entry.row() == kMtu ? queue_pairs(port, call) : packets(port, entry.key(1), call);
  }));
  return out;
}

}  // namespace lockstep
