// Named counters: what a host's NIC counts, under the names that switches have as well
// (specs/model/counters.hpp).
//
// Promises: one reading for the RDMA counters of a device's port (counters.hpp), and the driver statistics
// and queues of its network port. The same name of RDMA and of ethtool means different things (tx_bytes), so
// that each has its own table. A counter that the driver or its firmware lacks is absent. Where a driver has
// two names for one counter, the first of the table is taken, and never their sum. Natives without the exact
// meaning or unit of a name of the vocabulary are left out: counters.hpp has them under their own names.
// Refuses: a device or port that does not exist (unsupported), statistics that could not be read (transient).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "drivers/linux/rdma/counters.hpp"
#include "drivers/posix/call.hpp"
#include "specs/model/counter_reading.hpp"

namespace lockstep::rdma {

// Of a host's port. An empty device: a port without RDMA; an empty netdev: only RDMA counters are read.
struct CountingPort {
  std::string netdev{};  // "enp1s0", in the calling thread's network namespace
  std::string device{};  // "mlx5_0"
  std::uint32_t port = 1;

  std::string name() const { return netdev.empty() ? device + "/" + std::to_string(port) : netdev; }
};

// What is read of one port is added to `out`, whose time is then the end of it.
Result<Done> read_named_counters(const HostFiles& files, const CountingPort& port, const Call& call,
                                 CounterReading& out);

// '#' is a number.
struct NamedNative {
  std::string_view native;
  std::string_view counter;  // of the vocabulary
};
std::span<const NamedNative> named_rdma_counters();
std::span<const NamedNative> named_port_statistics();

// Natives by name, of one table, to counters of a port.
void name_counters(const std::map<std::string, std::uint64_t>& values, std::span<const NamedNative> names,
                   const std::string& port, CounterReading& out);

}  // namespace lockstep::rdma
