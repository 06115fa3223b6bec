// Allocation of addresses, loopbacks and AS numbers.
//
// Promises: numbers are stable: a number follows from the name's index in its hostlist, or from the lock
// where it contains the name (AllocationLock, written beside the specs and committed); adding a device
// renumbers nothing. The host links of a leaf lie in one block, so that the leaf announces one aggregate.
// Refuses (LS122x, with the lines): a pool or range that runs out, overlapping pools, a lock with a number
// outside its pool or with a duplicate number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/fabric/topology.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// Identifies the cluster, whichever clone of its specs is used (reconciler/session/identity.hpp).
struct ClusterIdentity {
  std::string name;  // as in the specs when this was written: identity_name()
  std::string uuid;  // of version 4
  bool operator==(const ClusterIdentity&) const = default;
};
// A name that is also a valid file name: letters, digits, '-', '_' and '.', as in a Cluster's name; any other
// character becomes '_' (a folder without a Cluster uses its own name).
std::string identity_name(std::string_view name);

// Allocated numbers: "Fabric/backend asn/leaf" -> name -> number. The number is an index into the pool or
// range, not the address: if a pool moves as a whole, its members keep their indices.
struct AllocationLock {
  std::map<std::string, std::map<std::string, std::uint64_t>> pools{};
  std::optional<ClusterIdentity> cluster{};  // none: nothing applied yet, or by a lockstep older than these
  bool operator==(const AllocationLock&) const = default;
};

inline constexpr std::string_view kAllocationLockFile = "allocations.lock";  // beside the specs
// JSON. Errors begin with NAME:LINE:COLUMN.
Result<AllocationLock> parse_allocation_lock(std::string name, std::string text);
std::string to_text(const AllocationLock& lock);
// None: the folder has no lock yet.
Result<std::optional<AllocationLock>> read_allocation_lock(const std::string& directory);
// Atomic (replace_file.hpp).
Result<Done> write_allocation_lock(const std::string& directory, const AllocationLock& lock);

struct Allocation {
  std::vector<std::optional<IpPrefix>> port;      // by PortIndex: with the prefix length (10.64.0.1/31)
  std::vector<std::optional<IpPrefix>> loopback;  // by DeviceIndex
  std::vector<std::uint32_t> asn;                 // by DeviceIndex; 0: none
  // By FabricIndex, then DeviceIndex: the aggregate that a leaf announces in that fabric.
  std::vector<std::vector<std::optional<IpPrefix>>> block;
  std::vector<std::string> router_id;  // by DeviceIndex; empty: none
  // By DeviceIndex: where several fabrics share a switch, the fabric that gave the number, which is the first
  // that sets any; kNone: none.
  std::vector<FabricIndex> asn_by;
  std::vector<FabricIndex> loopback_by;  // also for the router id
  AllocationLock lock;                   // the numbers to write to a new lock
};

struct AllocateOptions {
  std::optional<AllocationLock> lock;
  bool renumber = false;  // ignore the lock
};

Allocation allocate(const Catalog& catalog, const Topology& topology, const AllocateOptions& options,
                    Diagnostics& diagnostics);

}  // namespace lockstep
