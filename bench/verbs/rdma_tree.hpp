// The RDMA devices of a machine as sysfs tells them: ports, GIDs with their types and interfaces, NUMA nodes.
//
// Promises: a recorded tree will do; entries of a GID table that are not in use
// (their type can't be read, or the GID is zero) are left out; what can't be read is left at its default. A
// GID is chosen by its type and its address, never by its index, which moves when addresses come and go.
// Refuses to choose where none fits, and says what is there instead.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

#include "drivers/linux/host/files.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench::verbs {

struct GidEntry {
  std::uint32_t index = 0;
  ibv_gid gid{};
  std::string type;    // "RoCE v2", "IB/RoCE v1" (drivers/infiniband/core/cache.c, gid_type_str)
  std::string netdev;  // "h1"
};

struct RdmaPort {
  std::uint8_t number = 1;
  std::string state;  // "ACTIVE" (IBA volume 1, PortState)
  std::vector<GidEntry> gids;
};

struct RdmaDevice {
  std::string name;
  int numa_node = -1;  // -1: none, or not told
  std::vector<RdmaPort> ports;
};

std::vector<RdmaDevice> read_rdma_devices(const HostFiles& files);  // in order of their names

struct GidChoice {
  std::string device;
  std::uint8_t port = 1;
  std::uint32_t index = 0;
  ibv_gid gid{};
  std::string netdev;
  int numa_node = -1;
};
// The RoCE v2 GID of an address: ::ffff:a.b.c.d or the IPv6 address itself (RoCE v2 annex A17). `device`:
// empty for any.
Result<GidChoice> choose_gid(const std::vector<RdmaDevice>& devices, const std::string& address,
                             const std::string& device);

}  // namespace lockstep::bench::verbs
