#include "reconciler/engine/wiring.hpp"

#include <algorithm>

#include "specs/fabric/topology.hpp"

namespace lockstep {
namespace {

std::string port_key(const std::string& device, std::string_view port) {
  std::string key = device;
  key += ':';
  key += port;
  return key;
}

}  // namespace

void Wiring::index() {
  by_port_.clear();
  by_port_.reserve(cables.size() * 2);
  for (std::uint32_t i = 0; i < cables.size(); ++i) {
    by_port_.emplace(port_key(cables[i].a.device, cables[i].a.port), i);
    by_port_.emplace(port_key(cables[i].b.device, cables[i].b.port), i);
  }
}

std::optional<std::uint32_t> Wiring::cable_at(const std::string& device, std::string_view port) const {
  const auto found = by_port_.find(port_key(device, port));
  if (found == by_port_.end()) return std::nullopt;
  return found->second;
}

const PortName* Wiring::peer(const std::string& device, std::string_view port) const {
  const auto cable = cable_at(device, port);
  if (!cable) return nullptr;
  const Cable& one = cables[*cable];
  return one.a.device == device && one.a.port == port ? &one.b : &one.a;
}

Wiring wiring_of(const Topology& topology) {
  Wiring wiring;
  wiring.cables.reserve(topology.links.size());
  std::vector<std::vector<DeviceIndex>> neighbours(topology.devices.size());
  for (const TopologyLink& link : topology.links) {
    const TopologyPort& a = topology.ports[link.a];
    const TopologyPort& b = topology.ports[link.b];
    wiring.cables.push_back({{topology.devices[a.device].name, std::string(a.name)},
                             {topology.devices[b.device].name, std::string(b.name)}});
    neighbours[a.device].push_back(b.device);
    neighbours[b.device].push_back(a.device);
  }
  wiring.index();
  // Switches of one tier that are connected to the same devices can carry each other's traffic.
  std::map<std::pair<unsigned, std::vector<DeviceIndex>>, std::vector<DeviceIndex>> alike;
  for (DeviceIndex device = 0; device < topology.devices.size(); ++device) {
    if (!topology.devices[device].is_switch() || neighbours[device].empty()) continue;
    auto& those = neighbours[device];
    std::sort(those.begin(), those.end());
    those.erase(std::unique(those.begin(), those.end()), those.end());
    alike[{topology.devices[device].tier(), those}].push_back(device);
  }
  for (const auto& [what, members] : alike) {
    if (members.size() < 2) continue;
    for (const DeviceIndex member : members)
      wiring.redundancy_group[topology.devices[member].name] = topology.devices[members.front()].name;
  }
  return wiring;
}

}  // namespace lockstep
