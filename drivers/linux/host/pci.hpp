// PCI functions of a machine from sysfs: what each is, where it is connected, its link's width and speed, and
// the distance between two.
//
// Sources: Documentation/ABI/testing/sysfs-bus-pci (class, vendor, numa_node, current_link_speed,
// max_link_width), Documentation/PCI/sysfs-pci.rst; distances are named as in `nvidia-smi topo -m` (its
// legend). Promises: changes nothing; what a file does not contain is left empty. Refuses nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/host/files.hpp"

namespace lockstep {

struct PcieLink {
  std::string speed;      // "32.0 GT/s PCIe"
  std::string max_speed;  // of the function itself; its slot may have less
  unsigned width = 0;     // lanes; 0: not reported
  unsigned max_width = 0;
  bool narrow() const { return width != 0 && width < max_width; }
  bool slow() const { return !speed.empty() && speed != max_speed; }
  std::string text() const;  // "32.0 GT/s x16", "16.0 of 32.0 GT/s x8 of x16"
};

struct PciFunction {
  std::string address;             // "0000:18:00.0"
  std::uint32_t device_class = 0;  // 0x020000: base class, subclass, interface (pci.ids)
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::string driver;                 // empty: none bound
  std::optional<int> numa_node;       // none: the machine has no NUMA, or firmware does not report it
  bool is_virtual = false;            // an SR-IOV virtual function
  std::string host_bridge;            // "pci0000:16"
  std::vector<std::string> upstream;  // bridges from the root port down to it
  PcieLink link;
  std::vector<std::string> rdma_devices;  // "mlx5_0"
};

inline constexpr std::uint32_t kPciVendorNvidia = 0x10de;
inline constexpr std::uint32_t kPciVendorAmd = 0x1002;

bool is_nic(const PciFunction& one);  // base class 02, network controller
bool is_gpu(const PciFunction& one);  // of a vendor of compute GPUs; a server's console adapter is not one
std::string_view gpu_vendor(const PciFunction& gpu);  // "nvidia", "amd"

std::string pci_path(std::string_view address);  // "/sys/bus/pci/devices/0000:18:00.0"
// Network and display controllers and accelerators, sorted by address; the hundreds of other functions of a
// server are not relevant here.
std::vector<PciFunction> read_pci(const HostFiles& files);
// None: no such function.
std::optional<PciFunction> read_pci_function(const HostFiles& files, std::string_view address);

// Shares one read_pci() among all readers within one call of the driver.
class PciScan {
 public:
  explicit PciScan(HostFiles files) : files_(std::move(files)) {}
  std::shared_ptr<const std::vector<PciFunction>> functions();
  void forget();  // the next reader reads anew

 private:
  HostFiles files_;
  std::mutex mutex_;  // an abandoned call may still be running
  std::shared_ptr<const std::vector<PciFunction>> known_;
};

// The NICs with RDMA, without virtual functions; if none has RDMA, all physical NICs.
std::vector<PciFunction> fabric_nics(const std::vector<PciFunction>& all);

// Nearest first. pix: at most one PCIe switch in between; pxb: several; phb: through the host bridge; node:
// through host bridges of one NUMA node; sys: between NUMA nodes.
enum class PciDistance : std::uint8_t { pix, pxb, phb, node, sys };
std::string_view to_string(PciDistance distance);  // "PIX"
PciDistance distance_between(const PciFunction& a, const PciFunction& b);

}  // namespace lockstep
