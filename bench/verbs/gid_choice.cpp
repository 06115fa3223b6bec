#include "bench/verbs/gid_choice.hpp"

#include <cstring>

#include "bench/verbs/exchange.hpp"
#include "drivers/linux/host/cpu_list.hpp"
#include "drivers/linux/kernel_address.hpp"

namespace lockstep::bench::verbs {
namespace {

Result<ibv_gid> gid_of(const std::string& address) {
  TRY(const IpAddress parsed, lockstep::parse_address(address));
  const std::vector<std::byte> bytes = lockstep::bytes_of(parsed);
  ibv_gid out{};
  if (bytes.size() < sizeof out.raw) out.raw[10] = out.raw[11] = 0xff;
  std::memcpy(out.raw + sizeof out.raw - bytes.size(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

std::vector<RdmaDevice> read_rdma_devices(const HostFiles& files, const Call& call) {
  std::vector<RdmaDevice> out;
  const auto read = rdma::read_rdma(files, call);
  if (!read) return out;
  for (const rdma::DeviceFacts& one : *read) {
    RdmaDevice device{one.name, -1, {}};
    const auto node = files.line("/sys/class/infiniband/" + one.name + "/device/numa_node");
    if (const auto number = parse_number(node ? *node : "", kCpusMax))
      device.numa_node = static_cast<int>(*number);
    for (const rdma::PortFacts& port : one.ports)
      device.ports.push_back({port, rdma::read_gids(files, one.name, port.number)});
    out.push_back(std::move(device));
  }
  return out;
}

Result<GidChoice> choose_gid(const std::vector<RdmaDevice>& devices, const std::string& address,
                             const std::string& device) {
  TRY(const ibv_gid gid, gid_of(address));
  const std::string wanted = gid_text(gid);
  std::string instead;  // the closest match
  for (const RdmaDevice& one : devices)
    for (const RdmaPort& port : one.ports)
      for (const rdma::Gid& entry : port.gids) {
        if (entry.text != wanted) continue;
        if (entry.type == rdma::kRoceV2 && (device.empty() || device == one.name))
          return GidChoice{one.name,     static_cast<std::uint8_t>(port.facts.number),
                           entry.index,  gid,
                           entry.netdev, one.numa_node};
        instead +=
            (instead.empty() ? ": " : "; ") + one.name + " has it as " + entry.type + " on " + entry.netdev;
      }
  return Error{ErrorKind::unsupported, (device.empty() ? "no RDMA device has" : device + " does not have") +
                                           std::string(" a RoCE v2 GID of ") + address + " (" + wanted + ")" +
                                           instead};
}

}  // namespace lockstep::bench::verbs
