// The entries that are unique to one device: addresses, neighbours, AS number, aggregate, routing tables of
// rails, and the routes expected in its kernel.
//
// Promises: these rows are compiled only here (kNumberedRows, ascending), so that a device's tree is the
// entries of its class plus these, row by row. Safe to use from several threads, one object per thread.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "specs/compile/compilation.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

inline constexpr std::array kNumberedRows{row("bgp/aggregate[*]"),
                                          row("bgp/asn"),
                                          row("bgp/router-id"),
                                          row("fib[*]"),
                                          row("fib[*]/paths"),
                                          row("interface[*]/address[*]"),
                                          row("interface[*]/peer"),
                                          row("route[*]"),
                                          row("rule[*]")};

// Data that all devices of a fabric share, built once before any thread starts.
struct FabricNumbers {
  bool routed = false;
  std::vector<OriginId> law_peer;  // by law
  OriginId address = 0;
  OriginId connected = 0;
  OriginId loopback = 0;
  OriginId aggregate = 0;
  OriginId ecmp = 0;
  OriginId paths = 0;
  OriginId router_id = 0;
  std::array<OriginId, 4> asn{};  // by tier
  OriginId rail_table = 0;
  OriginId rail_rule = 0;
  OriginId rail_routes = 0;
  std::vector<Path> table_default;  // route[TABLE:0.0.0.0/0], by endpoint number
  std::vector<Path> table_rule;     // rule[TABLE], by endpoint number
  Path pool_route{};                // route[main:POOL]
  std::uint64_t max_paths = 0;
  struct Destination {
    std::uint32_t number;  // into FabricRoutes::destinations
    Path ports;            // fib[BLOCK]
    Path paths;            // fib[BLOCK]/paths; a path without a row if no group is too large
  };
  std::vector<Destination> destinations;  // in path order
  // By group: the ports that must be used; none for a group larger than max_paths, where only their number
  // counts.
  std::vector<Value> group_ports;
  std::vector<std::uint32_t> switch_number;  // by device
};

class NumberedEntries {
 public:
  NumberedEntries(const Compilation& compilation, std::span<const FabricNumbers> fabrics)
      : c_(compilation), fabrics_(fabrics) {}
  // The entries of each row in path order; valid until the next call.
  const std::array<std::vector<Entry>, kNumberedRows.size()>& of(DeviceIndex device);

 private:
  std::vector<Entry>& rows(RowId id);
  void add_ports(DeviceIndex device);
  void add_speaker(DeviceIndex device);
  void add_switch(DeviceIndex device);
  void add_routes(DeviceIndex device, FabricIndex fabric);
  void add_rails(DeviceIndex device, FabricIndex fabric);

  const Compilation& c_;
  std::span<const FabricNumbers> fabrics_;
  std::array<std::vector<Entry>, kNumberedRows.size()> out_;
  std::vector<Entry> connected_;  // fib[*], of addresses
};

std::vector<FabricNumbers> prepare_numbers(Compilation& compilation);

// The routing table number of a rail: from 1000, a thousand per fabric, so that it collides neither with the
// kernel's 253 to 255 nor with the small numbers that people choose.
constexpr std::uint32_t rail_table_number(FabricIndex fabric, std::uint32_t endpoint) {
  return 1000 * (fabric + 1) + endpoint;
}

}  // namespace lockstep
