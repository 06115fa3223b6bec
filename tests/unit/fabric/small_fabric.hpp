// Builds a Topology of one fabric link by link, so that graph functions can be tested on any graph, not only
// on those that the cabling rules of specs produce.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "specs/fabric/topology.hpp"

namespace lockstep {

class SmallFabric {
 public:
  SmallFabric() { topology.fabrics.emplace_back(); }

  DeviceIndex add(DeviceRole role) {
    const auto index = static_cast<DeviceIndex>(topology.devices.size());
    topology.devices.push_back(TopologyDevice{
        .name = std::string(to_string(role)) + std::to_string(index), .role = role, .drivers = {}});
    FabricGraph& graph = topology.fabrics[0];
    switch (role) {
      case DeviceRole::host: graph.hosts.push_back(index); break;
      case DeviceRole::leaf: graph.leaves.push_back(index); break;
      case DeviceRole::spine: graph.spines.push_back(index); break;
      case DeviceRole::superspine: graph.superspines.push_back(index); break;
    }
    return index;
  }

  LinkIndex link(DeviceIndex a, DeviceIndex b, std::uint64_t speed = 1, std::uint32_t rail = 0) {
    if (topology.devices[a].tier() > topology.devices[b].tier()) std::swap(a, b);
    const auto index = static_cast<LinkIndex>(topology.links.size());
    const auto port = static_cast<PortIndex>(topology.ports.size());
    topology.ports.push_back(TopologyPort{.name = "p", .device = a, .link = index});
    topology.ports.push_back(TopologyPort{.name = "p", .device = b, .link = index});
    TopologyLink made{.a = port, .b = port + 1, .speed = speed};
    if (topology.devices[a].role == DeviceRole::host) {
      made.rail = rail;
      topology.fabrics[0].endpoints.push_back({a, port, b, port + 1, index, rail, 0});
    }
    topology.links.push_back(made);
    topology.fabrics[0].links.push_back(index);
    return index;
  }

  // Sorts ports by device, as in a real topology (Topology::ports_of), and endpoints likewise.
  void settle() {
    std::vector<PortIndex> order(topology.ports.size());
    for (PortIndex i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](PortIndex a, PortIndex b) {
      return topology.ports[a].device < topology.ports[b].device;
    });
    std::vector<PortIndex> place(order.size());
    std::vector<TopologyPort> ports;
    for (PortIndex i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      ports.push_back(topology.ports[order[i]]);
    }
    topology.ports = std::move(ports);
    for (TopologyDevice& device : topology.devices) device.port_count = 0;
    for (auto i = static_cast<PortIndex>(topology.ports.size()); i-- > 0;) {
      TopologyDevice& device = topology.devices[topology.ports[i].device];
      device.first_port = i;
      ++device.port_count;
    }
    for (TopologyLink& link : topology.links) {
      link.a = place[link.a];
      link.b = place[link.b];
    }
    auto& endpoints = topology.fabrics[0].endpoints;
    for (Endpoint& endpoint : endpoints) {
      endpoint.port = place[endpoint.port];
      endpoint.leaf_port = place[endpoint.leaf_port];
    }
    std::sort(endpoints.begin(), endpoints.end(), [](const Endpoint& x, const Endpoint& y) {
      return std::tie(x.device, x.rail, x.port) < std::tie(y.device, y.rail, y.port);
    });
  }

  Topology topology;
};

}  // namespace lockstep
