// Expands a cabling law to pairs of (device, port name), by rule. Part of expand().
//
// by: rail   rails R = from-ports / (planes * parallel). Hosts fill groups as large as a leaf has ports;
//            group g, plane p, rail r is in leaf (p * groups + g) * R + r, at the host's place in its group.
// by: mesh   every `from` device has `parallel` links to every `to` device of its plane; port number = the
//            other side's place in its plane. Planes are equal consecutive parts of both sides.
// by: pairs  number n of the one side to number n of the other (devices first, then their ports).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

// One side of a law: every device has every port.
struct CablingSide {
  std::vector<DeviceIndex> devices;
  std::vector<std::uint32_t> names;  // TopologyPort::name_id
  Position at;
};

struct LaidCable {
  DeviceIndex a = 0;
  std::uint32_t a_name = 0;
  DeviceIndex b = 0;
  std::uint32_t b_name = 0;
  std::uint32_t rail = 0;
  std::uint32_t plane = 0;
};

// Appends the law's cables. If counts do not match, reports it and appends nothing.
void lay_cables(const Cabling& law, const CablingSide& from, const CablingSide& to,
                std::vector<LaidCable>& out, Diagnostics& diagnostics);

// Warnings: hosts without a cable while others of their DeviceSet have one.
Diagnostics uncabled_hosts(const Catalog& catalog, const Topology& topology);

}  // namespace lockstep
