#include "specs/fabric/routing.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep {
namespace {

struct Edge {
  PortIndex port = 0;
  DeviceIndex peer = 0;
  bool up = false;
};

class Router {
 public:
  Router(const Topology& topology, FabricIndex fabric)
      : topology_(topology), graph_(topology.fabrics[fabric]) {
    out_.destinations = graph_.leaves;
    for (unsigned tier = 1; tier <= 3; ++tier)
      out_.switches.insert(out_.switches.end(), graph_.tier(tier).begin(), graph_.tier(tier).end());
    find_edges(fabric);
    classify();
  }

  FabricRoutes run() {
    out_.group.assign(out_.switches.size() * out_.destinations.size(), kNone);
    for (const std::vector<std::uint32_t>& members : classes_) route_to_class(members);
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kFar = 0xFFFF;

  void find_edges(FabricIndex fabric);
  void classify();
  void route_to_class(const std::vector<std::uint32_t>& members);
  void measure_distances(DeviceIndex destination);
  void route_switch(std::size_t number, const std::vector<std::uint32_t>& members);
  std::uint32_t add_group(std::vector<PortIndex> ports);
  std::span<const Edge> edges(DeviceIndex device) const {
    return std::span(edges_).subspan(first_[device], first_[device + 1] - first_[device]);
  }

  const Topology& topology_;
  const FabricGraph& graph_;
  FabricRoutes out_;
  std::vector<std::uint32_t> first_;  // CSR over devices
  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> classes_;  // destination numbers with the same uplinks
  std::vector<std::uint32_t> down_;                  // by device: hops to the destination going down only
  std::vector<std::uint32_t> best_;                  // by device: hops going up, then down
  std::map<std::vector<PortIndex>, std::uint32_t> known_;
};

void Router::find_edges(FabricIndex fabric) {
  first_.assign(topology_.devices.size() + 1, 0);
  for (DeviceIndex device = 0; device < topology_.devices.size(); ++device) {
    first_[device] = static_cast<std::uint32_t>(edges_.size());
    const TopologyDevice& self = topology_.devices[device];
    if (!self.is_switch()) continue;
    for (PortIndex port = self.first_port; port < self.first_port + self.port_count; ++port) {
      const LinkIndex link = topology_.ports[port].link;
      if (link == kNone || topology_.links[link].fabric != fabric) continue;
      const DeviceIndex peer = topology_.ports[topology_.peer(port)].device;
      if (!topology_.devices[peer].is_switch() || topology_.devices[peer].tier() == self.tier()) continue;
      edges_.push_back({port, peer, topology_.devices[peer].tier() > self.tier()});
    }
  }
  first_.back() = static_cast<std::uint32_t>(edges_.size());
}

void Router::classify() {
  std::map<std::vector<DeviceIndex>, std::uint32_t> by_uplinks;
  for (std::uint32_t number = 0; number < out_.destinations.size(); ++number) {
    std::vector<DeviceIndex> peers;
    for (const Edge& edge : edges(out_.destinations[number]))
      if (edge.up) peers.push_back(edge.peer);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    const auto [at, fresh] =
        by_uplinks.try_emplace(std::move(peers), static_cast<std::uint32_t>(classes_.size()));
    if (fresh) classes_.emplace_back();
    classes_[at->second].push_back(number);
  }
}

void Router::measure_distances(DeviceIndex destination) {
  down_.assign(topology_.devices.size(), kFar);
  best_.assign(topology_.devices.size(), kFar);
  down_[destination] = 0;
  std::vector<DeviceIndex> wave{destination};
  while (!wave.empty()) {
    std::vector<DeviceIndex> next;
    for (const DeviceIndex device : wave) {
      for (const Edge& edge : edges(device)) {
        if (!edge.up || down_[edge.peer] != kFar) continue;
        down_[edge.peer] = down_[device] + 1;
        next.push_back(edge.peer);
      }
    }
    wave = std::move(next);
  }
  // From the top tier downwards: a switch above is final before it is used.
  for (auto at = out_.switches.rbegin(); at != out_.switches.rend(); ++at) {
    best_[*at] = down_[*at];
    for (const Edge& edge : edges(*at))
      if (edge.up) best_[*at] = std::min(best_[*at], best_[edge.peer] + 1);
  }
}

std::uint32_t Router::add_group(std::vector<PortIndex> ports) {
  const auto [at, fresh] =
      known_.try_emplace(std::move(ports), static_cast<std::uint32_t>(out_.groups.size()));
  if (fresh) out_.groups.push_back(at->first);
  return at->second;
}

// One switch's groups towards all members of a class. Only a switch directly above a member has different
// groups for different members.
void Router::route_switch(std::size_t number, const std::vector<std::uint32_t>& members) {
  const DeviceIndex self = out_.switches[number];
  std::uint32_t* const row = &out_.group[number * out_.destinations.size()];
  if (down_[self] == 1) {
    std::vector<std::pair<DeviceIndex, PortIndex>> direct;
    for (const Edge& edge : edges(self))
      if (!edge.up) direct.emplace_back(edge.peer, edge.port);
    std::sort(direct.begin(), direct.end());
    for (const std::uint32_t member : members) {
      const DeviceIndex leaf = out_.destinations[member];
      std::vector<PortIndex> ports;
      for (auto at = std::lower_bound(direct.begin(), direct.end(), std::pair{leaf, PortIndex{0}});
           at != direct.end() && at->first == leaf; ++at)
        ports.push_back(at->second);
      row[member] = add_group(std::move(ports));
    }
    return;
  }
  // The class's first member represents all; it is as far from the other members' switches as they are from
  // it.
  if (best_[self] >= kFar) return;
  std::vector<PortIndex> ports;
  for (const Edge& edge : edges(self)) {
    const std::uint32_t through = edge.up ? best_[edge.peer] : down_[edge.peer];
    if (through + 1 == best_[self]) ports.push_back(edge.port);
  }
  const std::uint32_t group = add_group(std::move(ports));
  for (const std::uint32_t member : members)
    if (out_.destinations[member] != self) row[member] = group;
}

void Router::route_to_class(const std::vector<std::uint32_t>& members) {
  measure_distances(out_.destinations[members.front()]);
  for (std::size_t number = 0; number < out_.switches.size(); ++number) {
    if (out_.switches[number] != out_.destinations[members.front()]) {
      route_switch(number, members);
      continue;
    }
    // The first member itself: towards the others it sends as any other member does.
    if (members.size() < 2) continue;
    std::uint32_t nearest = kFar;
    for (const Edge& edge : edges(out_.switches[number]))
      if (edge.up) nearest = std::min(nearest, best_[edge.peer]);
    if (nearest >= kFar) continue;
    std::vector<PortIndex> ports;
    for (const Edge& edge : edges(out_.switches[number]))
      if (edge.up && best_[edge.peer] == nearest) ports.push_back(edge.port);
    const std::uint32_t group = add_group(std::move(ports));
    for (std::size_t i = 1; i < members.size(); ++i)
      out_.group[number * out_.destinations.size() + members[i]] = group;
  }
}

}  // namespace

FabricRoutes route(const Topology& topology, FabricIndex fabric) { return Router(topology, fabric).run(); }

}  // namespace lockstep
