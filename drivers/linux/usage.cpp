#include "drivers/linux/usage.hpp"

#include <net/if.h>

#include <map>
#include <optional>

#include "drivers/linux/queueing/class_counters.hpp"
#include "drivers/linux/rdma/nldev.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kClass = row("interface[*]/class[*]");
constexpr RowId kMtu = row("interface[*]/mtu");

// What was read for one question.
class Reading {
 public:
  explicit Reading(const Call& call) : call_(call) {}

  Result<Usage::Use> of(Path entry) {
    const std::string port(entry.key(0));
    if (entry.row() == kMtu) return queue_pairs(port);
    TRY(const ClassBytes* const bytes, classes(port));
    for (const auto& [number, passed] : *bytes)
      if (std::to_string(number) == entry.key(1))
        return Usage::Use{"packets of class " + std::string(entry.key(1)) + " of " + port, 0, passed};
    return Error{ErrorKind::transient, entry.text() + ": the kernel has no such class"};
  }

 private:
  Result<const ClassBytes*> classes(const std::string& port) {
    const auto known = classes_.find(port);
    if (known != classes_.end()) return &known->second;
    const std::uint32_t index = ::if_nametoindex(port.c_str());
    if (index == 0) return Error{ErrorKind::transient, port + ": there is no such port"};
    TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
    TRY(ClassBytes bytes, read_class_bytes(socket, index, call_));
    return &classes_.emplace(port, std::move(bytes)).first->second;
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
  std::map<std::string, ClassBytes> classes_;  // by port
  std::optional<rdma::DevicesAndPorts> rdma_;
};

}  // namespace

LinuxUsage::LinuxUsage(const LinuxTarget& target)
    : netns_path_(target.netns_path),
      counts_classes_(target.software_rate),
      sees_queue_pairs_(target.netns_path.empty()) {}

bool LinuxUsage::knows(Path entry) const {
  return (entry.row() == kClass && counts_classes_) || (entry.row() == kMtu && sees_queue_pairs_);
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
