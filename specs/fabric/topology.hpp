// Topology: every device, port and cable of a cluster, and the endpoints of each fabric, as dense arrays.
//
// Promises: devices are in the order of their sets and hostlists, ports of a device in path order, so that
// the same specs give the same indices in every run; devices, ports and links are identified by index
// everywhere; a port is on at most one link. Cheap at 4,096 hosts x 8 rails + 640 switches. Refuses (LS12xx,
// with both lines): a port cabled twice, a port or device that does not exist, counts that do not match, a
// link without a speed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "specs/language/catalog.hpp"
#include "specs/model/diagnostic.hpp"

namespace lockstep {

using DeviceIndex = std::uint32_t;  // into Topology::devices
using PortIndex = std::uint32_t;    // into Topology::ports
using LinkIndex = std::uint32_t;    // into Topology::links
using FabricIndex = std::uint32_t;  // into Topology::fabrics and Catalog::fabrics
constexpr std::uint32_t kNone = 0xFFFF'FFFF;

// Limits of one cluster: each about ten times 16,384 hosts x 8 rails with 2,560 switches of 128 ports, the
// largest that is measured (18,944 devices, 458,752 ports, 2,048 leaves).
constexpr std::size_t kDevicesMax = 200'000;
constexpr std::size_t kPortsMax = 4'000'000;
constexpr std::size_t kSwitchPairsMax = 50'000'000;  // switches x leaves of one fabric: one route each

struct TopologyDevice {
  std::string name;
  DeviceRole role = DeviceRole::host;  // its tier: host 0, leaf 1, spine 2, superspine 3
  std::uint32_t set = 0;               // index into Catalog::device_sets
  std::uint32_t ordinal = 0;           // position in the set's hostlist, from 0
  std::string_view platform{};         // empty: not specified
  std::vector<DriverName> drivers{};   // in a twin: see scale_for_twin()
  PortIndex first_port = 0;
  std::uint32_t port_count = 0;
  unsigned tier() const { return static_cast<unsigned>(role); }
  bool is_switch() const { return role != DeviceRole::host; }
};

struct TopologyPort {
  std::string_view name{};    // interned: lives as long as the program
  std::uint32_t name_id = 0;  // dense: equal names have equal ids, below Topology::port_names
  DeviceIndex device = 0;
  LinkIndex link = kNone;           // none: not cabled
  std::uint32_t entry = kNone;      // into the set's interfaces (host) or ports (switch); none: cabling only
  std::string_view platform{};      // the interface's, else the device's
  std::uint64_t speed = 0;          // bit/s; the link's if cabled; 0: not specified
  std::uint64_t speed_in_twin = 0;  // bit/s after scaling; 0 outside a twin or if not cabled
  bool rdma = false;
};

// A cable. End a is the one nearer to the hosts (`from` of its law where both are of one tier).
struct TopologyLink {
  PortIndex a = 0;
  PortIndex b = 0;
  FabricIndex fabric = 0;
  std::uint32_t law = 0;       // index into the fabric's cabling
  std::uint32_t rail = kNone;  // of a host's link
  std::uint32_t plane = 0;
  std::uint64_t speed = 0;          // bit/s, one direction
  std::uint64_t speed_in_twin = 0;  // bit/s after scaling; 0 outside a twin
  std::uint64_t cable_length = 0;   // millimetres; 0: not specified
  Position at{};                    // of the law
  Position speed_at{};              // of the line that sets the speed: the law's, or a port's
};

// A host's port in a fabric.
struct Endpoint {
  DeviceIndex device = 0;
  PortIndex port = 0;
  DeviceIndex leaf = 0;
  PortIndex leaf_port = 0;
  LinkIndex link = 0;
  std::uint32_t rail = 0;
  std::uint32_t plane = 0;
};

struct FabricGraph {
  std::vector<DeviceIndex> hosts;  // each tier in device order
  std::vector<DeviceIndex> leaves;
  std::vector<DeviceIndex> spines;
  std::vector<DeviceIndex> superspines;
  std::vector<LinkIndex> links;
  std::vector<Endpoint> endpoints;  // by device, then rail
  std::uint32_t rails = 0;
  const std::vector<DeviceIndex>& tier(unsigned number) const;
};

struct Topology {
  std::vector<TopologyDevice> devices;
  std::vector<TopologyPort> ports;  // CSR: those of a device are [first_port, first_port + port_count)
  std::vector<TopologyLink> links;
  std::vector<FabricGraph> fabrics;  // one for each of Catalog::fabrics
  std::uint32_t port_names = 0;      // how many different port names there are
  std::vector<DeviceIndex> by_name;  // devices sorted by name, for find_device
  std::span<const TopologyPort> ports_of(DeviceIndex device) const {
    return std::span(ports).subspan(devices[device].first_port, devices[device].port_count);
  }
  DeviceIndex find_device(std::string_view name) const;  // kNone: there is none
  PortIndex find_port(DeviceIndex device, std::string_view name) const;
  // The port at the other end of the cable; kNone where there is no cable.
  PortIndex peer(PortIndex port) const;
  // "leaf0:swp1"
  std::string port_text(PortIndex port) const;
  const std::string& device_of(PortIndex port) const { return devices[ports[port].device].name; }
};

struct Expanded {
  Topology topology;
  Diagnostics diagnostics;
};

// Expands the DeviceSets and cabling laws of the specs. With errors, it contains what could be expanded.
Expanded expand(const Catalog& catalog);

// The IP MTU (bytes) that the spec sets for a link: the host MTU for a host's link, the fabric MTU between
// switches.
const Said<std::uint32_t>& mtu_of(const Catalog& catalog, const TopologyLink& link);

// Scales all speeds so that the fastest link runs at `link_rate` bit/s (speed_in_twin), and replaces each
// device's drivers by those of a twin: linux, and frr on switches; sonic alone on a switch that names it.
void scale_for_twin(Topology& topology, std::uint64_t link_rate);

}  // namespace lockstep
