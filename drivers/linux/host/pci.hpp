// PCI functions of a machine as sysfs shows them: what each is, where it hangs, how wide and fast its link
// runs, and how far two are apart.
//
// Sources: Documentation/ABI/testing/sysfs-bus-pci (class, vendor, numa_node, current_link_speed,
// max_link_width), Documentation/PCI/sysfs-pci.rst; the words of distances are those of `nvidia-smi topo -m`
// (its legend). Promises: changes nothing; what a file does not say is left empty. Refuses nothing.
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
  unsigned width = 0;     // lanes; 0: not told
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
  std::optional<int> numa_node;       // none: the machine has no NUMA, or firmware does not say
  bool is_virtual = false;            // of SR-IOV
  std::string host_bridge;            // "pci0000:16"
  std::vector<std::string> upstream;  // bridges from the root port down to it
  PcieLink link;
  std::vector<std::string> rdma_devices;  // "mlx5_0"
};

inline constexpr std::uint32_t kPciVendorNvidia = 0x10de;
inline constexpr std::uint32_t kPciVendorAmd = 0x1002;

bool is_nic(const PciFunction& one);  // base class 02, network controller
bool is_gpu(const PciFunction& one);  // of a vendor of compute GPUs; a server's console is none
std::string_view gpu_vendor(const PciFunction& gpu);  // "nvidia", "amd"

std::string pci_path(std::string_view address);  // "/sys/bus/pci/devices/0000:18:00.0"
// Network and display controllers and accelerators, sorted by address: a server has hundreds of functions
// besides, which are of no interest here.
std::vector<PciFunction> read_pci(const HostFiles& files);
// None: no such function.
std::optional<PciFunction> read_pci_function(const HostFiles& files, std::string_view address);

// read_pci() once for all who ask within one call of the driver.
class PciScan {
 public:
  explicit PciScan(HostFiles files) : files_(std::move(files)) {}
  std::shared_ptr<const std::vector<PciFunction>> functions();
  void forget();  // the next who asks reads anew

 private:
  HostFiles files_;
  std::mutex mutex_;  // a call that was given up on may still be at work
  std::shared_ptr<const std::vector<PciFunction>> known_;
};

// The NICs that carry RDMA, without virtual functions; where none does, all physical NICs.
std::vector<PciFunction> fabric_nics(const std::vector<PciFunction>& all);

// Nearest first. pix: at most one PCIe switch between; pxb: several; phb: over the host bridge; node: over
// host bridges of one NUMA node; sys: between NUMA nodes.
enum class PciDistance : std::uint8_t { pix, pxb, phb, node, sys };
std::string_view to_string(PciDistance distance);  // "PIX"
PciDistance distance_between(const PciFunction& a, const PciFunction& b);

}  // namespace lockstep
