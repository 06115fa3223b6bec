// Allocation: the numbers that nobody wants to write: addresses, loopbacks, ASNs.
//
// Promises: numbers don't move: a number follows from the name's index in its hostlist, or from the lock
// where that has it (AllocationLock, written beside the specs and committed); adding a device renumbers
// nothing. Every leaf's host links lie in one block, so that it announces one aggregate. Refuses (LS122x,
// with the lines): a pool or range that runs out, pools that overlap, a lock whose number lies outside its
// pool or is given twice.
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

// Which cluster it is, from whatever clone of its specs (reconciler/session/identity.hpp).
struct ClusterIdentity {
  std::string name;  // as its specs named it when this was written: identity_name()
  std::string uuid;  // of version 4
  bool operator==(const ClusterIdentity&) const = default;
};
// A name that a file may have too: of letters, digits, '-', '_' and '.', as a Cluster's is; anything else (a
// folder without a Cluster gives its own name) becomes '_'.
std::string identity_name(std::string_view name);

// What has been given out: "Fabric/backend asn/leaf" -> name -> number. The number is an index into the pool
// or range, not the address: a pool may move as a whole, its members keep their places.
struct AllocationLock {
  std::map<std::string, std::map<std::string, std::uint64_t>> pools{};
  std::optional<ClusterIdentity> cluster{};  // none: nothing was applied yet, or by a lockstep before these
  bool operator==(const AllocationLock&) const = default;
};

inline constexpr std::string_view kAllocationLockFile = "allocations.lock";  // beside the specs
// JSON. Errors begin with NAME:LINE:COLUMN.
Result<AllocationLock> parse_allocation_lock(std::string name, std::string text);
std::string to_text(const AllocationLock& lock);
// None: the folder has no lock yet.
Result<std::optional<AllocationLock>> read_allocation_lock(const std::string& directory);
// Whole or not at all (replace_file.hpp).
Result<Done> write_allocation_lock(const std::string& directory, const AllocationLock& lock);

struct Allocation {
  std::vector<std::optional<IpPrefix>> port;      // by PortIndex: the address with its length (10.64.0.1/31)
  std::vector<std::optional<IpPrefix>> loopback;  // by DeviceIndex
  std::vector<std::uint32_t> asn;                 // by DeviceIndex; 0: none
  // By FabricIndex, then DeviceIndex: the aggregate that a leaf announces there.
  std::vector<std::vector<std::optional<IpPrefix>>> block;
  std::vector<std::string> router_id;  // by DeviceIndex; empty: none
  // By DeviceIndex, which fabric gave them where several share a switch: the first that says any; kNone:
  // none.
  std::vector<FabricIndex> asn_by;
  std::vector<FabricIndex> loopback_by;  // the router id too
  AllocationLock lock;                   // what a new lock must say of numbers
};

struct AllocateOptions {
  std::optional<AllocationLock> lock;
  bool renumber = false;  // forget the lock
};

Allocation allocate(const Catalog& catalog, const Topology& topology, const AllocateOptions& options,
                    Diagnostics& diagnostics);

}  // namespace lockstep
