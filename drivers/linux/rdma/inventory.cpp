#include "drivers/linux/rdma/inventory.hpp"

#include <algorithm>
#include <charconv>

#include "drivers/linux/rdma/nldev.hpp"

namespace lockstep::rdma {
namespace {

constexpr std::string_view kClass = "/sys/class/infiniband/";

std::string port_folder(std::string_view device, std::uint32_t port) {
  return std::string(kClass) + std::string(device) + "/ports/" + std::to_string(port);
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{}) return std::nullopt;
  return out;
}

// Empty if the file is missing or returns an error, as those of unused GIDs do.
std::string line_of(const HostFiles& files, const std::string& path) {
  const auto out = files.line(path);
  return out ? *out : std::string();
}

// The numbers in file names, in order.
std::vector<std::uint32_t> numbers_in(const HostFiles& files, const std::string& folder) {
  std::vector<std::uint32_t> out;
  for (const std::string& name : files.names(folder))
    if (const auto number = number_of(name)) out.push_back(*number);
  std::sort(out.begin(), out.end());
  return out;
}

// "4: ACTIVE"
std::uint8_t state_of(const std::string& line) {
  const auto number = number_of(line);
  return static_cast<std::uint8_t>(number && *number <= 0xFF ? *number : 0U);
}

// The netdev of the first entry, which is the default GID: the port's own netdev, not a VLAN's.
std::string netdev_of(const HostFiles& files, const std::string& folder) {
  const std::string netdevs = folder + "/gid_attrs/ndevs";
  for (const std::uint32_t index : numbers_in(files, netdevs))
    if (std::string name = line_of(files, netdevs + "/" + std::to_string(index)); !name.empty()) return name;
  return {};
}

void add_device_facts(const HostFiles& files, DeviceFacts& out) {
  const std::string at = std::string(kClass) + out.name;
  std::string bus_device = files.linked_name(at + "/device");
  if (bus_device.find(':') != std::string::npos) out.pci = std::move(bus_device);
  out.driver = files.linked_name(at + "/device/driver");
  if (out.driver.empty()) out.driver = line_of(files, at + "/node_desc");
  for (PortFacts& port : out.ports)
    port.link_layer = line_of(files, port_folder(out.name, port.number) + "/link_layer");
}

Result<std::vector<DeviceFacts>> from_kernel(const Call& call) {
  TRY(const DevicesAndPorts all, read_devices_and_ports(call));
  std::vector<DeviceFacts> out;
  for (const Device& device : all.devices) {
    DeviceFacts one;
    one.name = device.name;
    one.firmware = device.firmware;
    for (const Port& port : all.ports)
      if (port.device == device.name)
        one.ports.push_back({port.number,
                             state_words(port.state),
                             physical_state_words(port.physical_state),
                             {},
                             port.netdev});
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<DeviceFacts> from_files(const HostFiles& files) {
  std::vector<DeviceFacts> out;
  for (const std::string& name : files.names(kClass)) {
    DeviceFacts one;
    one.name = name;
    one.firmware = line_of(files, std::string(kClass) + name + "/fw_ver");
    for (const std::uint32_t number : numbers_in(files, std::string(kClass) + name + "/ports")) {
      const std::string at = port_folder(name, number);
      one.ports.push_back({number,
                           state_words(state_of(line_of(files, at + "/state"))),
                           physical_state_words(state_of(line_of(files, at + "/phys_state"))),
                           {},
                           netdev_of(files, at)});
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<std::vector<DeviceFacts>> read_rdma(const HostFiles& files, const Call& call) {
  std::vector<DeviceFacts> out;
  if (files.at("/") == "/") {
    TRY(out, from_kernel(call));
  } else {
    out = from_files(files);
  }
  std::ranges::sort(out, {}, &DeviceFacts::name);
  for (DeviceFacts& one : out) add_device_facts(files, one);
  return out;
}

std::vector<Gid> read_gids(const HostFiles& files, std::string_view device, std::uint32_t port) {
  const std::string at = port_folder(device, port);
  std::vector<Gid> out;
  for (const std::uint32_t index : numbers_in(files, at + "/gids")) {
    const std::string number = std::to_string(index);
    Gid one{index, line_of(files, at + "/gids/" + number), {}, {}, false, false};
    one.type = line_of(files, at + "/gid_attrs/types/" + number);
    if (one.text.empty() || one.type.empty()) continue;
    one.netdev = line_of(files, at + "/gid_attrs/ndevs/" + number);
    one.v4 = one.text.starts_with("0000:0000:0000:0000:0000:ffff:");
    one.link_local = one.text.starts_with("fe80:");
    out.push_back(std::move(one));
  }
  return out;
}

const Gid* choose_gid(const std::vector<Gid>& gids, std::string_view type, bool v4, std::string_view netdev) {
  const Gid* link_local = nullptr;
  for (const Gid& one : gids) {
    if (one.type != type || one.v4 != v4 || one.netdev != netdev) continue;
    if (!one.link_local) return &one;
    link_local = &one;
  }
  return link_local;
}

}  // namespace lockstep::rdma
