// RDMA devices and ports from the kernel's RDMA netlink (NETLINK_RDMA, client NLDEV): bytes in and out, no
// I/O except in the functions that take a Call.
//
// Promises: a message is checked like all netlink (netlink.hpp); what the device does not report is left
// empty. Refuses a device or port without its number and name. Formats: rdma/rdma_netlink.h,
// drivers/infiniband/core/nldev.c; states: rdma/ib_verbs.h (IBTA 1.4, 14.2.5.6 PortInfo). In Linux 6.1 this
// family does not report GIDs, MTUs and counters: see inventory.hpp and counters.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/netlink_socket.hpp"

namespace lockstep::rdma {

inline constexpr std::uint8_t kActive = 4;  // IB_PORT_ACTIVE
inline constexpr std::uint8_t kLinkUp = 5;  // IB_PORT_PHYS_STATE_LINK_UP

struct Device {
  std::uint32_t index = 0;
  std::string name;  // "mlx5_0"
  std::uint32_t ports = 0;
  std::string firmware;
  std::string protocol;         // "roce", "ib", "iw", "opa", "usnic"
  std::uint64_t node_guid = 0;  // in host byte order
};

struct Port {
  std::string device;
  std::uint32_t number = 0;  // from 1
  std::uint8_t state = 0;
  std::uint8_t physical_state = 0;
  std::string netdev;  // empty: none, or in another network namespace
};

// A dump's request, and the payload of each of its messages. Ports are dumped one device at a time.
netlink::Request devices_request();
netlink::Request ports_request(std::uint32_t device);
Result<std::optional<Device>> decode_device(netlink::Bytes payload);
Result<std::optional<Port>> decode_port(netlink::Bytes payload);

// "ACTIVE", "LINK_UP" as in rdma-link(8); "7" for a number without a name.
std::string state_words(std::uint8_t state);
std::string physical_state_words(std::uint8_t state);

struct DevicesAndPorts {
  std::vector<Device> devices;
  std::vector<Port> ports;
};

struct QueuePair {
  std::uint32_t port = 0;  // 0: not reported
  std::uint8_t type = 0;   // enum ib_qp_type
  std::uint8_t state = 0;  // enum ib_qp_state
  // Whether it sends to others in packets of up to its path MTU: it is connected, and neither a management
  // one (SMI, GSI) nor one for raw packets.
  bool is_connected() const;
};
netlink::Request queue_pairs_request(std::uint32_t device);
// One message of the dump, which contains several.
Result<Done> add_queue_pairs(netlink::Bytes payload, std::vector<QueuePair>& out);
// For a device's port, including those of the kernel (storage). In the calling thread's namespace.
Result<std::size_t> connected_queue_pairs(std::uint32_t device, std::uint32_t port, const Call& call);

// In the calling thread's namespace. `unsupported`: a kernel without RDMA.
Result<DevicesAndPorts> read_devices_and_ports(const Call& call);

}  // namespace lockstep::rdma
