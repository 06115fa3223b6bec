#include "reconciler/measure/paths.hpp"

#include <algorithm>

namespace lockstep {
namespace {

void sort_unique(std::vector<std::uint32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

// The direction in which a packet leaves through `port`.
std::uint32_t directed(const Topology& topology, PortIndex port) {
  const LinkIndex link = topology.ports[port].link;
  return 2 * link + (topology.links[link].a == port ? 0 : 1);
}

}  // namespace

FabricPaths::FabricPaths(const Topology& topology, FabricIndex fabric)
    : topology_(topology), routes_(route(topology, fabric)) {
  for (std::size_t i = 0; i < routes_.switches.size(); ++i) switch_number_[routes_.switches[i]] = i;
  for (std::size_t i = 0; i < routes_.destinations.size(); ++i)
    destination_number_[routes_.destinations[i]] = i;
}

const CrossedPath* FabricPaths::between_leaves(DeviceIndex from, DeviceIndex to) {
  const auto [cached, is_new] = leaf_paths_.try_emplace({from, to});
  if (!is_new) return cached->second ? &*cached->second : nullptr;
  const auto destination = destination_number_.find(to);
  if (destination == destination_number_.end()) return nullptr;
  CrossedPath path;
  std::vector<DeviceIndex> here{from};
  while (!here.empty()) {
    std::vector<std::uint32_t> stage;
    std::vector<DeviceIndex> next;
    for (const DeviceIndex device : here) {
      path.devices.push_back(device);
      if (device == to) continue;
      const auto number = switch_number_.find(device);
      if (number == switch_number_.end()) return nullptr;
      const std::uint32_t group = routes_.group_of(number->second, destination->second);
      if (group == kNone) return nullptr;
      for (const PortIndex port : routes_.groups[group]) {
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
