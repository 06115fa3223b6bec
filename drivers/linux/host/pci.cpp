#include "drivers/linux/host/pci.hpp"

#include <algorithm>
#include <charconv>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPciDevices = "/sys/bus/pci/devices/";
// pci.ids: network controllers, display controllers, processing accelerators.
constexpr std::uint32_t kBaseClasses[] = {0x02, 0x03, 0x12};

std::string line_or_nothing(const HostFiles& files, const std::string& path) {
  auto line = files.line(path);
  return line ? *std::move(line) : std::string();
}

// "0x020700".
std::uint32_t hex_of(std::string_view text) {
  std::uint32_t out = 0;
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return code == std::errc{} && end == text.data() + text.size() ? out : 0;
}

std::optional<int> number_of(std::string_view text) {
  int out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// "0000:18:00.0": a function's name in sysfs, between the host bridge's folder and its own.
bool is_address(std::string_view name) {
  return name.size() >= 12 && name.find(':') != std::string_view::npos &&
         name.find('.') != std::string_view::npos && !name.starts_with("pci");
}

// "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0"
void place(const HostFiles& files, PciFunction& out) {
  std::error_code failed;
  const fs::path target = fs::read_symlink(files.at(pci_path(out.address)), failed);
  if (failed) return;
  for (const fs::path& part : target) {
    const std::string name = part.string();
    if (name.starts_with("pci") && out.host_bridge.empty()) out.host_bridge = name;
    if (is_address(name) && name != out.address) out.upstream.push_back(name);
  }
}

// Without a PCIe link the kernel reports a width of 63 (0xff & the field) or 255, and "Unknown" as its speed
// (drivers/pci/pci-sysfs.c, PCI_SPEED_UNKNOWN).
PcieLink link_of(const HostFiles& files, const std::string& at) {
  PcieLink out;
  const auto lanes = [&](const char* name) {
    const std::optional<int> width = number_of(line_or_nothing(files, at + "/" + name));
    return width && *width > 0 && *width <= 32 ? static_cast<unsigned>(*width) : 0U;
  };
  const auto speed = [&](const char* name) {
    std::string text = line_or_nothing(files, at + "/" + name);
    return text.starts_with("Unknown") ? std::string() : text;
  };
  out.width = lanes("current_link_width");
  out.max_width = lanes("max_link_width");
  out.speed = speed("current_link_speed");
  out.max_speed = speed("max_link_speed");
  return out;
}

// "32.0" of "32.0 GT/s PCIe".
std::string_view rate_of(std::string_view speed) { return speed.substr(0, speed.find(' ')); }

}  // namespace

std::string PcieLink::text() const {
  if (speed.empty() || width == 0) return {};
  std::string out(rate_of(speed));
  if (slow()) out += " of " + std::string(rate_of(max_speed));
  out += " GT/s x" + std::to_string(width);
  if (narrow()) out += " of x" + std::to_string(max_width);
  return out;
}

bool is_nic(const PciFunction& one) { return one.device_class >> 16 == 0x02; }

bool is_gpu(const PciFunction& one) {
  // pci.ids: 0300 VGA, 0302 3D, 0380 other display controller, 1200 processing accelerator (MI300).
  const std::uint32_t kind = one.device_class >> 8;
  const bool displays = kind == 0x0300 || kind == 0x0302 || kind == 0x0380 || kind == 0x1200;
  return displays && (one.vendor == kPciVendorNvidia || one.vendor == kPciVendorAmd) && !one.is_virtual;
}

std::string_view gpu_vendor(const PciFunction& gpu) {
  return gpu.vendor == kPciVendorNvidia ? "nvidia" : "amd";
}

std::string pci_path(std::string_view address) { return std::string(kPciDevices) + std::string(address); }

std::optional<PciFunction> read_pci_function(const HostFiles& files, std::string_view address) {
  // The address comes from the kernel; still, it must be the name of one entry of the folder.
  if (address.empty() || address.find('/') != std::string_view::npos || address.starts_with('.'))
    return std::nullopt;
  const std::string at = pci_path(address);
  if (!files.exists(at)) return std::nullopt;
  PciFunction out;
  out.address = address;
  out.device_class = hex_of(line_or_nothing(files, at + "/class"));
  out.vendor = hex_of(line_or_nothing(files, at + "/vendor"));
  out.device = hex_of(line_or_nothing(files, at + "/device"));
  out.driver = files.linked_name(at + "/driver");
  out.numa_node = number_of(line_or_nothing(files, at + "/numa_node"));
  // The kernel reports -1 if firmware reports no node (Documentation/ABI/testing/sysfs-bus-pci).
  if (out.numa_node && *out.numa_node < 0) out.numa_node.reset();
  out.is_virtual = files.exists(at + "/physfn");
  place(files, out);
  out.link = link_of(files, at);
  out.rdma_devices = files.names(at + "/infiniband");
  return out;
}

std::vector<PciFunction> read_pci(const HostFiles& files) {
  std::vector<PciFunction> out;
  for (const std::string& address : files.names(kPciDevices)) {
    const std::uint32_t base = hex_of(line_or_nothing(files, pci_path(address) + "/class")) >> 16;
    if (std::find(std::begin(kBaseClasses), std::end(kBaseClasses), base) == std::end(kBaseClasses)) continue;
    if (auto one = read_pci_function(files, address)) out.push_back(*std::move(one));
  }
  return out;
}

std::shared_ptr<const std::vector<PciFunction>> PciScan::functions() {
  const std::lock_guard lock(mutex_);
  if (!known_) known_ = std::make_shared<const std::vector<PciFunction>>(read_pci(files_));
  return known_;
}

void PciScan::forget() {
  const std::lock_guard lock(mutex_);
  known_.reset();
}

std::vector<PciFunction> fabric_nics(const std::vector<PciFunction>& all) {
  std::vector<PciFunction> rdma;
  std::vector<PciFunction> physical;
  for (const PciFunction& one : all) {
    if (!is_nic(one) || one.is_virtual) continue;
    physical.push_back(one);
    if (!one.rdma_devices.empty()) rdma.push_back(one);
  }
  return rdma.empty() ? physical : rdma;
}

std::string_view to_string(PciDistance distance) {
  static constexpr std::string_view kWords[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  return kWords[static_cast<std::size_t>(distance)];
}

PciDistance distance_between(const PciFunction& a, const PciFunction& b) {
  if (a.host_bridge != b.host_bridge || a.host_bridge.empty())
    return a.numa_node == b.numa_node ? PciDistance::node : PciDistance::sys;
  const auto [one, other] =
      std::mismatch(a.upstream.begin(), a.upstream.end(), b.upstream.begin(), b.upstream.end());
  if (one == a.upstream.begin()) return PciDistance::phb;
  // Below the last common bridge: a switch's downstream port adds one bridge on each side.
  const bool one_switch = a.upstream.end() - one <= 1 && b.upstream.end() - other <= 1;
  return one_switch ? PciDistance::pix : PciDistance::pxb;
}

}  // namespace lockstep
