// RDMA devices and ports as the kernel's RDMA netlink tells them (NETLINK_RDMA, client NLDEV): bytes in and
// out, no I/O.
//
// Promises: a message is checked as all netlink is (netlink.hpp); what the device does not tell is left
// empty. Refuses a device or port without its number and name. Formats: rdma/rdma_netlink.h,
// drivers/infiniband/core/nldev.c; states: rdma/ib_verbs.h (IBTA 1.4, 14.2.5.6 PortInfo). Of GIDs, MTUs and
// counters this family says nothing in Linux 6.1: see sysfs.hpp.
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

// What a dump asks for, and the payload of each of its messages. Ports are dumped one device at a time.
netlink::Request devices_request();
netlink::Request ports_request(std::uint32_t device);
Result<std::optional<Device>> decode_device(netlink::Bytes payload);
Result<std::optional<Port>> decode_port(netlink::Bytes payload);

// "ACTIVE", "LINK_UP" as rdma-link(8) has them; "7" of a number that has no word.
std::string state_words(std::uint8_t state);
std::string physical_state_words(std::uint8_t state);

struct DevicesAndPorts {
  std::vector<Device> devices;
  std::vector<Port> ports;
};

struct QueuePair {
  std::uint32_t port = 0;  // 0: not told
  std::uint8_t type = 0;   // enum ib_qp_type
  std::uint8_t state = 0;  // enum ib_qp_state
  // Whether it sends to others in packets of up to its path MTU: it is connected, and neither management's
  // (SMI, GSI) nor one of raw packets.
  bool is_connected() const;
};
netlink::Request queue_pairs_request(std::uint32_t device);
// One message of the dump, which tells of several.
Result<Done> add_queue_pairs(netlink::Bytes payload, std::vector<QueuePair>& out);
// Of a device's port, those of the kernel included (storage). In the calling thread's namespace.
Result<std::size_t> connected_queue_pairs(std::uint32_t device, std::uint32_t port, const Call& call);

// In the calling thread's namespace. `unsupported`: a kernel without RDMA.
Result<DevicesAndPorts> read_devices_and_ports(const Call& call);

}  // namespace lockstep::rdma
