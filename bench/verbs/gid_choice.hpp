// Which device, port and GID an IP address corresponds to.
//
// Promises: chosen by the RoCE v2 type and the address itself, never by the GID's index, which moves when
// addresses are added and removed. Refuses to choose if none fits, and reports what exists instead. A
// machine's devices are read by drivers/linux/rdma/inventory.hpp.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

#include "drivers/linux/rdma/inventory.hpp"

namespace lockstep::bench::verbs {

struct RdmaPort {
  rdma::PortFacts facts;
  std::vector<rdma::Gid> gids;
};
struct RdmaDevice {
  std::string name;
  int numa_node = -1;  // -1: none, or not known
  std::vector<RdmaPort> ports;
};
// Sorted by name; empty if the kernel has no RDMA.
std::vector<RdmaDevice> read_rdma_devices(const HostFiles& files, const Call& call);

struct GidChoice {
  std::string device;
  std::uint8_t port = 1;
  std::uint32_t index = 0;
  ibv_gid gid{};
  std::string netdev;
  int numa_node = -1;
};
// ::ffff:a.b.c.d or the IPv6 address itself (RoCE v2 annex A17). `device`: empty for any.
Result<GidChoice> choose_gid(const std::vector<RdmaDevice>& devices, const std::string& address,
                             const std::string& device);

}  // namespace lockstep::bench::verbs
