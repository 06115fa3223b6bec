#include "reconciler/measure/paths.hpp"

#include <algorithm>

namespace lockstep {
namespace {

void sort_unique(std::vector<std::uint32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

std::uint32_t directed(const Topology& topology, PortIndex port) {
  const LinkIndex link = topology.ports[port].link;
  return 2 * link + (topology.links[link].a == port ? 0 : 1);
}

PortIndex sending_port(const Topology& topology, std::uint32_t directed_link) {
  const TopologyLink& link = topology.links[directed_link / 2];
  return directed_link % 2 == 0 ? link.a : link.b;
}

PortIndex receiving_port(const Topology& topology, std::uint32_t directed_link) {
  return sending_port(topology, directed_link ^ 1U);
}

FabricPaths::FabricPaths(const Topology& topology, FabricIndex fabric)
    : topology_(topology),
      fabric_(fabric),
      routes_(route(topology, fabric)),
      switch_number_(topology.devices.size(), kNone),
      destination_number_(topology.devices.size(), kNone),
      seen_(topology.devices.size(), 0) {
  for (std::uint32_t i = 0; i < routes_.switches.size(); ++i) switch_number_[routes_.switches[i]] = i;
  for (std::uint32_t i = 0; i < leaf_count(); ++i) destination_number_[leaf(i)] = i;
}

bool FabricPaths::leads(PortIndex port, std::uint32_t leaf) const {
  const std::vector<PortIndex>* const ports = towards(topology_.ports[port].device, leaf);
  return ports != nullptr && std::find(ports->begin(), ports->end(), port) != ports->end();
}

bool FabricPaths::for_sources(DeviceIndex device, std::uint32_t leaf, std::size_t first,
                              const std::function<bool(std::uint32_t source)>& found) {
  ++searches_;
  return search(device, leaf, first, found);
}

bool FabricPaths::search(DeviceIndex device, std::uint32_t leaf, std::size_t first,
                         const std::function<bool(std::uint32_t source)>& found) {
  seen_[device] = searches_;
  // A leaf is no transit.
  if (destination_number_[device] != kNone) return found(destination_number_[device]);
  const std::uint32_t count = topology_.devices[device].port_count;
  for (std::size_t i = 1; i <= count; ++i) {
    const PortIndex own =
        topology_.devices[device].first_port + static_cast<PortIndex>((first + count - i) % count);
    const LinkIndex link = topology_.ports[own].link;
    if (link == kNone || topology_.links[link].fabric != fabric_) continue;
    const PortIndex theirs = topology_.peer(own);
    const DeviceIndex neighbour = topology_.ports[theirs].device;
    if (seen_[neighbour] == searches_ || !leads(theirs, leaf)) continue;
    if (search(neighbour, leaf, first, found)) return true;
  }
  return false;
}

const CrossedPath* FabricPaths::between_leaves(DeviceIndex from, DeviceIndex to) {
  const auto [cached, is_new] = leaf_paths_.try_emplace({from, to});
  if (!is_new) return cached->second ? &*cached->second : nullptr;
  const std::uint32_t destination = destination_number_[to];
  if (destination == kNone) return nullptr;
  CrossedPath path;
  std::vector<DeviceIndex> here{from};
  while (!here.empty()) {
    std::vector<std::uint32_t> stage;
    std::vector<DeviceIndex> next;
    for (const DeviceIndex device : here) {
      path.devices.push_back(device);
      if (device == to) continue;
      const std::vector<PortIndex>* const ports = towards(device, destination);
      if (ports == nullptr) return nullptr;
      for (const PortIndex port : *ports) {
        stage.push_back(directed(topology_, port));
        next.push_back(topology_.ports[topology_.peer(port)].device);
      }
    }
    sort_unique(stage);
    sort_unique(next);
    path.links.insert(path.links.end(), stage.begin(), stage.end());
    if (stage.size() == 1) path.fixed.push_back(stage.front());
    if (stage.size() > 1) path.stages.push_back(std::move(stage));
    here = std::move(next);
  }
  sort_unique(path.links);
  sort_unique(path.devices);
  cached->second = std::move(path);
  return &*cached->second;
}

std::optional<CrossedPath> FabricPaths::between(const Endpoint& from, const Endpoint& to) {
  CrossedPath path;
  if (from.leaf != to.leaf) {
    const CrossedPath* const middle = between_leaves(from.leaf, to.leaf);
    if (middle == nullptr) return std::nullopt;
    path = *middle;
  } else {
    path.devices.push_back(from.leaf);
  }
  path.devices.push_back(from.device);
  path.devices.push_back(to.device);
  for (const std::uint32_t link : {directed(topology_, from.port), directed(topology_, to.leaf_port)}) {
    path.links.push_back(link);
    path.fixed.push_back(link);
  }
  sort_unique(path.devices);
  sort_unique(path.links);
  return path;
}

}  // namespace lockstep
