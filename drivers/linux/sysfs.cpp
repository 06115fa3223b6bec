#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "drivers/linux/discover.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// PCI classes (pci.ids, class 03): 0x0300 VGA controller, 0x0302 3D controller, as data-centre GPUs report.
constexpr std::string_view kGpuClasses[] = {"0x0300", "0x0302"};

// The first line of a small file; empty when it can't be read.
std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string out;
  std::getline(in, out);
  return out;
}

// Names in a folder, sorted; a folder that is not there has none.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    out.push_back(at->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string linked_name(const fs::path& link) {
  std::error_code failed;
  const fs::path target = fs::read_symlink(link, failed);
  return failed ? std::string() : target.filename().string();
}

// The kernel says -1 on a machine without NUMA (Documentation/ABI/testing/sysfs-bus-pci).
std::optional<int> numa_of(const fs::path& device) {
  const std::string text = line_of(device / "numa_node");
  int out = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code != std::errc{} || end != text.data() + text.size() || out < 0) return std::nullopt;
  return out;
}

std::string gpu_vendor(const std::string& id) {
  if (id == "0x10de") return "nvidia";
  if (id == "0x1002") return "amd";
  return {};
}

fs::path pci_devices(const std::string& sysfs_root) { return fs::path(sysfs_root) / "bus/pci/devices"; }

}  // namespace

PciFacts pci_facts(const std::string& sysfs_root, const std::string& address) {
  PciFacts out;
  // The address comes from the kernel; even so, it names one entry of the folder and nothing else.
  if (address.empty() || address.find('/') != std::string::npos) return out;
  const fs::path device = pci_devices(sysfs_root) / address;
  out.driver = linked_name(device / "driver");
  out.numa_node = numa_of(device);
  out.rdma_devices = names_in(device / "infiniband");
  return out;
}

std::vector<DiscoveredGpu> sysfs_gpus(const std::string& sysfs_root) {
  std::vector<DiscoveredGpu> out;
  for (const std::string& address : names_in(pci_devices(sysfs_root))) {
    const fs::path device = pci_devices(sysfs_root) / address;
    const std::string device_class = line_of(device / "class");
    const bool is_gpu = std::any_of(std::begin(kGpuClasses), std::end(kGpuClasses),
                                    [&](std::string_view one) { return device_class.starts_with(one); });
    const std::string vendor = is_gpu ? gpu_vendor(line_of(device / "vendor")) : std::string();
    if (vendor.empty()) continue;  // a server's console is a VGA controller too, of another vendor
    out.push_back(
        {address, vendor, line_of(device / "device"), linked_name(device / "driver"), numa_of(device)});
  }
  return out;
}

std::vector<std::string> sysfs_rdma_devices(const std::string& sysfs_root) {
  return names_in(fs::path(sysfs_root) / "class/infiniband");
}

}  // namespace lockstep
