#include "bench/verbs/rdma_tree.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "bench/verbs/exchange.hpp"
#include "drivers/linux/host/cpu_list.hpp"
#include "drivers/linux/kernel_address.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::string_view rocev2 = "RoCE v2";
constexpr std::string_view kClass = "/sys/class/infiniband";

std::string line_of(const HostFiles& files, const std::string& path) {
  const auto line = files.line(path);
  return line ? *line : std::string{};
}

// The names in a folder that are numbers.
std::vector<std::uint32_t> numbers_in(const HostFiles& files, const std::string& folder) {
  std::vector<std::uint32_t> out;
  for (const std::string& name : files.names(folder))
    if (const auto number = parse_number(name, 0xffff'ffff))
      out.push_back(static_cast<std::uint32_t>(*number));
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<GidEntry> read_gids(const HostFiles& files, const std::string& port) {
  std::vector<GidEntry> out;
  for (const std::uint32_t index : numbers_in(files, port + "/gids")) {
    const std::string name = "/" + std::to_string(index);
    // An entry that is not in use: reading its type is EINVAL, and its GID is zero.
    const auto gid = parse_gid(line_of(files, port + "/gids" + name));
    GidEntry one{index, gid ? *gid : ibv_gid{}, line_of(files, port + "/gid_attrs/types" + name),
                 line_of(files, port + "/gid_attrs/ndevs" + name)};
    const bool zero = std::all_of(std::begin(one.gid.raw), std::end(one.gid.raw), std::logical_not{});
    if (!zero && !one.type.empty()) out.push_back(std::move(one));
  }
  return out;
}

Result<ibv_gid> gid_of(const std::string& address) {
  TRY(const IpAddress parsed, lockstep::parse_address(address));
  const std::vector<std::byte> bytes = lockstep::bytes_of(parsed);
  ibv_gid out{};
  if (bytes.size() < sizeof out.raw) out.raw[10] = out.raw[11] = 0xff;
  std::memcpy(out.raw + sizeof out.raw - bytes.size(), bytes.data(), bytes.size());
  return out;
}

bool same(const ibv_gid& a, const ibv_gid& b) { return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0; }

}  // namespace

std::vector<RdmaDevice> read_rdma_devices(const HostFiles& files) {
  std::vector<RdmaDevice> out;
  for (const std::string& name : files.names(kClass)) {
    const std::string folder = std::string(kClass) + "/" + name;
    RdmaDevice device{name, -1, {}};
    if (const auto node = parse_number(line_of(files, folder + "/device/numa_node"), kCpusMax))
      device.numa_node = static_cast<int>(*node);
    for (const std::uint32_t number : numbers_in(files, folder + "/ports")) {
      const std::string port = folder + "/ports/" + std::to_string(number);
      const std::string state = line_of(files, port + "/state");  // "4: ACTIVE"
      const auto colon = state.find(": ");
      device.ports.push_back({static_cast<std::uint8_t>(number),
                              colon == std::string::npos ? state : state.substr(colon + 2),
                              read_gids(files, port)});
    }
    out.push_back(std::move(device));
  }
  return out;
}

Result<GidChoice> choose_gid(const std::vector<RdmaDevice>& devices, const std::string& address,
                             const std::string& device) {
  TRY(const ibv_gid wanted, gid_of(address));
  std::string instead;  // what comes near
  const auto near = [&instead](const std::string& what) { instead += (instead.empty() ? "" : "; ") + what; };
  for (const RdmaDevice& one : devices)
    for (const RdmaPort& port : one.ports)
      for (const GidEntry& entry : port.gids) {
        if (!same(entry.gid, wanted)) continue;
        if (entry.type == rocev2 && (device.empty() || device == one.name))
          return GidChoice{one.name, port.number, entry.index, entry.gid, entry.netdev, one.numa_node};
        near(one.name + " has it as " + entry.type + " on " + entry.netdev);
      }
  const std::string who = device.empty() ? "no RDMA device" : device;
  const std::string none = device.empty() ? " has" : " does not have";
  return Error{ErrorKind::unsupported, who + none + " a RoCE v2 GID of " + address + " (" + gid_text(wanted) +
                                           ")" + (instead.empty() ? "" : ": " + instead)};
}

}  // namespace lockstep::bench::verbs
