// State shared by all parts of one compile, and the entries collected for one class of devices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "specs/compile/compile.hpp"
#include "specs/compile/entry_list.hpp"
#include "specs/compile/origin_table.hpp"
#include "specs/fabric/routing.hpp"

namespace lockstep {

// Used where no spec sets the number of equal paths: a leaf of a 128-port switch has 64 uplinks.
inline constexpr std::uint32_t kPathsDefault = 64;

struct Compilation {
  const Catalog& catalog;
  const CompileOptions& options;
  const Topology& topology;
  const Allocation& allocation;
  OriginTable& origins;
  Diagnostics& diagnostics;
  Diagnostics& by_hand;                 // warnings shown by `validate` only
  std::vector<ClaimantId> device_sets;  // one for each object of the kind, in the catalog's order
  std::vector<ClaimantId> fabrics;
  std::vector<ClaimantId> roce_profiles;
  std::vector<ClaimantId> host_profiles;
  std::vector<FabricRoutes> routes;  // by FabricIndex
  bool twin = false;

  void report(std::string_view code, Position at, std::string message, std::string hint,
              std::vector<Related> related = {}) const {
    diagnostics.push_back(Diagnostic{.code = std::string(code),
                                     .at = at,
                                     .message = std::move(message),
                                     .hint = std::move(hint),
                                     .related = std::move(related)});
  }
  void warn(std::string_view code, Position at, std::string message, std::string hint) const {
    report(code, at, std::move(message), std::move(hint));
    diagnostics.back().severity = Severity::warning;
  }
  // Whether the last valid day of an override or exception has passed.
  bool has_ended(const Said<Date>& until) const {
    return options.today && until.said && *until < *options.today;
  }
};

// The entries that all devices of one class have in common. Devices belong to one class if they are in the
// same set and their ports have the same cabling laws and profiles: they then differ only in numbers and
// neighbours.
struct ClassEntries {
  DeviceIndex example = 0;  // a device of the class
  EntryList list;
  std::vector<Claim> claims;
  std::vector<Allowed> allowed;
  std::vector<ClaimantId> claimants;  // the objects that set any of its entries

  void claim(RowId collection, std::vector<std::string> keys, OriginId origin,
             std::optional<IpPrefix> within = {}) {
    claims.push_back({collection, std::move(keys), origin, within});
  }
};

// Each adds what one object sets for a class, except for the rows that numbered_entries.hpp owns.
void add_device_set_entries(Compilation& compilation, ClassEntries& out);
void add_fabric_entries(Compilation& compilation, FabricIndex fabric, ClassEntries& out);
void add_roce_entries(Compilation& compilation, FabricIndex fabric, std::size_t profile, ClassEntries& out);
void add_host_entries(Compilation& compilation, std::size_t profile, ClassEntries& out);

// The ports of a device that a fabric cables, in path order.
std::vector<PortIndex> fabric_ports(const Topology& topology, DeviceIndex device, FabricIndex fabric);
// Whether the device has that driver.
bool has_driver(const TopologyDevice& device, DriverName driver);

}  // namespace lockstep
