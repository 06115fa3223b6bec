#include "drivers/linux/usage.hpp"

#include <net/if.h>

#include <map>
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

// What left and arrived in a priority ('#'): mlx5 (its counters.rst), bnxt_en (bnxt_ethtool.c), mlxsw
// (spectrum_ethtool.c), in packets or in bytes.
constexpr std::string_view kOfPriority[] = {"tx_prio#_packets", "rx_prio#_packets", "tx_packets_pri#",
                                            "rx_packets_pri#",  "tx_octets_prio_#", "rx_octets_prio_#"};

std::string name_of(std::string_view pattern, std::uint8_t priority) {
  std::string out(pattern);
  return out.replace(out.find('#'), 1, std::to_string(priority));
}

// What was read for one question.
class Reading {
 public:
  explicit Reading(const Call& call) : call_(call) {}

  Result<Usage::Use> of(Path entry) {
    const std::string port(entry.key(0));
    if (entry.row() == kMtu) return queue_pairs(port);
    TRY(const std::set<std::uint8_t> priorities, priorities_of(port, std::string(entry.key(1))));
    const std::map<std::string, std::uint64_t> all = driver_statistics(port);
    std::optional<std::uint64_t> passed;
    for (const std::uint8_t priority : priorities)
      for (const std::string_view pattern : kOfPriority)
        if (const auto counted = all.find(name_of(pattern, priority)); counted != all.end())
          passed = passed.value_or(0) + counted->second;
    if (!passed)
      return Error{ErrorKind::unsupported, entry.text() + ": its driver counts no packets by priority"};
    return Usage::Use{"packets of class " + std::string(entry.key(1)) + " of " + port, 0, passed};
  }

 private:
  Result<std::set<std::uint8_t>> priorities_of(const std::string& port, const std::string& number) {
    Link link;
    link.index = ::if_nametoindex(port.c_str());
    link.name = port;
    if (link.index == 0) return Error{ErrorKind::transient, port + ": there is no such port"};
    TRY(dcb::Ports ports, dcb::Ports::open(call_));
    TRY(const dcb::PortState state, ports.read(link, call_));
    for (const auto& [one, is] : state.classes)
      if (std::to_string(one) == number) return is.priorities;
    return Error{ErrorKind::unsupported, port + " has no class " + number + " of its own"};
  }

  // Of the device whose port it is; where none has it, none is open.
  Result<Usage::Use> queue_pairs(const std::string& port) {
    if (!rdma_) {
      auto read = rdma::read_devices_and_ports(call_);
      if (!read && read.error().kind != ErrorKind::unsupported) return read.error();
      rdma_.emplace(read ? *std::move(read) : rdma::DevicesAndPorts{});
    }
    Usage::Use out{"queue pairs of " + port, 0, std::nullopt};
    for (const rdma::Port& one : rdma_->ports) {
      if (one.netdev != port) continue;
      for (const rdma::Device& device : rdma_->devices)
        if (device.name == one.device) {
          TRY(const std::size_t open, rdma::connected_queue_pairs(device.index, one.number, call_));
          out.open += open;
          out.what = "queue pairs of " + device.name;
        }
    }
    return out;
  }

  const Call& call_;
  std::optional<rdma::DevicesAndPorts> rdma_;
};

}  // namespace

LinuxUsage::LinuxUsage(const LinuxTarget& target)
    : netns_path_(target.netns_path),
      has_lossless_classes_(!target.software_rate),
      sees_queue_pairs_(target.netns_path.empty()) {}

bool LinuxUsage::knows(Path entry) const {
  return (entry.row() == kClass && has_lossless_classes_) || (entry.row() == kMtu && sees_queue_pairs_);
}

Result<std::vector<Usage::Use>> LinuxUsage::of(const std::vector<Path>& entries, const Call& call) {
  std::vector<Use> out;
  std::optional<Error> failed;
  TRY_DONE(in_namespace(netns_path_, [&] {
    Reading reading(call);
    for (const Path entry : entries) {
      Result<Use> one = reading.of(entry);
      if (!one) {
        failed = one.error();
        return;
      }
      out.push_back(*std::move(one));
    }
  }));
  if (failed) return *failed;
  return out;
}

}  // namespace lockstep
