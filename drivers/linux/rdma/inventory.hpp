// RDMA devices of one machine, their ports and GIDs.
//
// Promises: changes nothing. A running machine's devices, states and netdevs are read over RDMA netlink
// (nldev.hpp), a recorded machine's from its sysfs; GIDs and link layers are always read from sysfs, as the
// netlink of Linux 6.1 does not report them. A GID is chosen by its type and address family, never by its
// index, which changes with every address that is added or removed. Refuses nothing: what is not reported is
// left empty. Sources: drivers/infiniband/core/sysfs.c, Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/host/files.hpp"
#include "drivers/posix/call.hpp"

namespace lockstep::rdma {

inline constexpr std::string_view kRoceV2 = "RoCE v2";

struct Gid {
  std::uint32_t index = 0;
  std::string text;    // as in sysfs: eight groups of four digits
  std::string type;    // "RoCE v2", "IB/RoCE v1"
  std::string netdev;  // a VLAN's GIDs belong to the VLAN's netdev
  bool v4 = false;     // an IPv4 address in an IPv6 one (RFC 4291, 2.5.5.2)
  bool link_local = false;
};

struct PortFacts {
  std::uint32_t number = 0;
  std::string state;           // "ACTIVE"
  std::string physical_state;  // "LINK_UP"
  std::string link_layer;      // "Ethernet", "InfiniBand"
  std::string netdev;
};

struct DeviceFacts {
  std::string name;      // "mlx5_0"
  std::string driver;    // "mlx5_core"; the device's own name for itself ("rxe") if there is no bus
  std::string pci;       // "0000:3b:00.0"; empty: not on a PCI bus
  std::string firmware;  // empty: none, or not reported
  std::vector<PortFacts> ports;
};

// Sorted by name. `unsupported`: the kernel has no RDMA.
Result<std::vector<DeviceFacts>> read_rdma(const HostFiles& files, const Call& call);
// Unused entries of the table are left out.
std::vector<Gid> read_gids(const HostFiles& files, std::string_view device, std::uint32_t port);
// The one to use for a peer of this family; none: there is none. Among several IPv6 ones, not the link-local.
const Gid* choose_gid(const std::vector<Gid>& gids, std::string_view type, bool v4, std::string_view netdev);

}  // namespace lockstep::rdma
