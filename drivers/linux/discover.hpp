// Discovers the ports, RDMA devices and GPUs of this machine or of a network namespace, as facts to print or
// to draft specs from.
//
// Promises: changes nothing; a fact that is unavailable is left empty, and a source that can't be read is
// listed in `notes`. What belongs to the machine (PCI, GPUs, RDMA devices, settings) is read below `root`, so
// that tests can use a recorded tree; a namespace of this machine has none of its own. Refuses: a namespace
// that does not exist.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/devlink/inventory.hpp"
#include "drivers/linux/ethtool/inventory.hpp"
#include "drivers/linux/host/facts.hpp"
#include "drivers/linux/host/gpu.hpp"
#include "drivers/linux/rdma/inventory.hpp"
#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct DiscoveredPort {
  std::string name;
  std::string kind;    // "veth", "bridge"; empty: hardware
  std::string driver;  // "mlx5_core"; the kind if there is no PCI device
  std::string hardware_address;
  std::uint32_t mtu = 0;
  bool admin_up = false;
  bool carrier = false;
  bool loopback = false;
  ethtool::NicFacts nic;
  std::optional<PciFunction> pci;
  std::vector<std::string> rdma_devices;  // of its PCI function, or on top of it like Soft-RoCE
  std::vector<std::string> addresses;     // address/length, without link-local and loopback ones
  std::string peer;                       // "leaf0:swp1" by LLDP; empty: none heard
};

struct DiscoveredGpu {
  HostGpu gpu;
  // Distance to each NIC of the fabric, by its port's name (its PCI address if it has no port
  // here).
  std::vector<std::pair<std::string, PciDistance>> nics;
};

struct DiscoveredRdma {
  struct Port {
    std::vector<rdma::Gid> gids;
    // The largest path MTU that its netdev's MTU allows for RoCE; 0: unknown, or not RoCE.
    std::uint32_t path_mtu = 0;
  };
  rdma::DeviceFacts facts;
  std::vector<Port> ports;  // of facts.ports
};

struct DiscoveredHost {
  std::vector<DiscoveredPort> ports;
  std::vector<DiscoveredGpu> gpus;
  std::vector<DiscoveredRdma> rdma;
  std::vector<devlink::DeviceFacts> devlink;
  std::vector<HostFact> settings;
  std::vector<std::string> notes;
};

struct DiscoverTarget {
  std::string netns_path;  // empty: this machine's own
  std::filesystem::path root = "/";
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string lldpd_socket;  // queried for neighbours; empty: not queried
  std::chrono::milliseconds listen{
      0};  // without lldpd: listen for LLDP frames this long (senders send every 30 s)
};

Result<DiscoveredHost> discover_host(const DiscoverTarget& target, const Call& call);

}  // namespace lockstep
