// What is there: the ports, RDMA devices and GPUs of this machine or of a network namespace, as facts to
// print or to draft specs from.
//
// Promises: changes nothing; a fact that can't be had is left empty, and a source that can't be asked is
// named in `notes`. PCI facts come from sysfs under `sysfs_root`, so that tests can use a recorded tree. GPUs
// and RDMA devices belong to the machine, so a namespace has none of its own. Refuses: a namespace that is
// not there.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct DiscoveredPort {
  std::string name;
  std::string kind;    // "veth", "bridge"; empty: hardware
  std::string driver;  // "mlx5_core"; the kind, where there is no PCI device
  std::string hardware_address;
  std::uint32_t mtu = 0;
  bool admin_up = false;
  bool carrier = false;
  bool loopback = false;
  std::optional<std::uint32_t> speed;  // Mbit/s
  std::string pci;                     // "0000:3b:00.0"
  std::optional<int> numa_node;
  std::vector<std::string> rdma_devices;  // "mlx5_0"
  std::vector<std::string> addresses;     // address/length, without link-local and loopback ones
  std::string peer;                       // "leaf0:swp1" by LLDP; empty: not heard
};

struct DiscoveredGpu {
  std::string pci;
  std::string vendor;         // "nvidia", "amd"
  std::string device_id;      // "0x2330"
  std::string kernel_driver;  // empty: none bound
  std::optional<int> numa_node;
};

struct DiscoveredHost {
  std::vector<DiscoveredPort> ports;
  std::vector<DiscoveredGpu> gpus;
  std::vector<std::string> rdma_devices;
  std::vector<std::string> notes;
};

struct DiscoverTarget {
  std::string netns_path;  // empty: this machine's own
  std::string sysfs_root = "/sys";
  std::string lldpd_socket;  // asked for neighbours; empty: not asked
  std::chrono::milliseconds listen{
      0};  // without lldpd: listen for LLDP frames this long (senders send every 30 s)
};

Result<DiscoveredHost> discover_host(const DiscoverTarget& target, const Call& call);

// The parts that come from sysfs.
struct PciFacts {
  std::string driver;
  std::optional<int> numa_node;
  std::vector<std::string> rdma_devices;
};
PciFacts pci_facts(const std::string& sysfs_root, const std::string& address);
std::vector<DiscoveredGpu> sysfs_gpus(const std::string& sysfs_root);
std::vector<std::string> sysfs_rdma_devices(const std::string& sysfs_root);

}  // namespace lockstep
