#include "reconciler/engine/own_path.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "specs/fabric/topology.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kFar = 0xFFFF'FFFF;

// The paths behind one port of this machine. A place is a device and whether packets still go up (2 * device)
// or down (2 * device + 1).
class WaysBehind {
 public:
  WaysBehind(const Topology& topology, PortIndex port) : topology_(topology), first_(port) {
    distance_.assign(topology.devices.size() * 2, kFar);
    leads_to_.assign(topology.devices.size() * 2, kNone);
    const DeviceIndex self = topology.ports[port].device;
    enter(2 * self + (leaves_up(port) ? 0 : 1), 0);
    for (std::size_t i = 0; i < order_.size(); ++i)
      each_way(order_[i], [&](PortIndex out) { cross(out, order_[i]); });
  }

  // Marks the last cables to a device; calls back with the ports through which it is entered.
  template <class Enter>
  void reach(const ReachedDevice& reached, const Enter& enters) {
    for (const auto& [place, out] : last_cables(reached)) {
      leads_to_[place] = std::min(leads_to_[place], reached.device);
      enters(topology_.peer(out));
    }
  }

  // Calls back with each device that is crossed, and the first device that it leads to.
  template <class Cross>
  void crossed(const Cross& crosses) {
    for (std::size_t i = order_.size(); i-- > 1;) {
      const std::uint32_t place = order_[i];
      each_way(place, [&](PortIndex out) {
        const std::uint32_t next = place_behind(out);
        if (distance_[next] == distance_[place] + 1)
          leads_to_[place] = std::min(leads_to_[place], leads_to_[next]);
      });
      if (leads_to_[place] != kNone) crosses(place / 2, leads_to_[place]);
    }
  }

 private:
  unsigned tier_of(PortIndex port) const { return topology_.devices[topology_.ports[port].device].tier(); }
  bool leaves_up(PortIndex port) const { return tier_of(topology_.peer(port)) > tier_of(port); }
  std::uint32_t place_behind(PortIndex out) const {
    return 2 * topology_.ports[topology_.peer(out)].device + (leaves_up(out) ? 0 : 1);
  }

  void enter(std::uint32_t place, std::uint32_t distance) {
    distance_[place] = distance;
    order_.push_back(place);
  }
  void cross(PortIndex out, std::uint32_t from) {
    const std::uint32_t place = place_behind(out);
    if (place / 2 == order_.front() / 2 || distance_[place] != kFar) return;
    enter(place, distance_[from] + 1);
  }

  // Whether packets may leave a place through a port of its device: up as long as they go up, else down; on
  // this machine the port is given. So packets that came down to a host do not leave it.
  bool may_leave(std::uint32_t place, PortIndex out) const {
    if (place == order_.front()) return out == first_;
    const TopologyDevice& device = topology_.devices[place / 2];
    if (topology_.ports[out].link == kNone) return false;
    const unsigned next = tier_of(topology_.peer(out));
    return next < device.tier() || (next > device.tier() && place % 2 == 0);
  }

  template <class Visit>
  void each_way(std::uint32_t place, const Visit& visit) const {
    const TopologyDevice& device = topology_.devices[place / 2];
    for (PortIndex out = device.first_port; out < device.first_port + device.port_count; ++out)
      if (may_leave(place, out)) visit(out);
  }

  // The places before a device on the shortest paths to it, with the ports through which packets leave them.
  std::vector<std::pair<std::uint32_t, PortIndex>> last_cables(const ReachedDevice& reached) const {
    std::vector<std::pair<std::uint32_t, PortIndex>> out;
    std::uint32_t nearest = kFar;
    const auto consider = [&](std::uint32_t place, PortIndex port) {
      if (distance_[place] == kFar || !may_leave(place, port)) return;
      if (distance_[place] < nearest) out.clear();
      nearest = std::min(nearest, distance_[place]);
      if (distance_[place] == nearest) out.emplace_back(place, port);
    };
    const TopologyDevice& device = topology_.devices[reached.device];
    for (PortIndex at = device.first_port; at < device.first_port + device.port_count; ++at) {
      if (topology_.ports[at].link == kNone || (reached.at && *reached.at != at)) continue;
      const PortIndex theirs = topology_.peer(at);
      for (const std::uint32_t down : {0U, 1U}) consider(2 * topology_.ports[theirs].device + down, theirs);
    }
    return out;
  }

  const Topology& topology_;
  PortIndex first_;
  std::vector<std::uint32_t> distance_;  // by place
  std::vector<DeviceIndex> leads_to_;    // by place: the first of the devices behind it
  std::vector<std::uint32_t> order_;     // places, nearest first; this machine's own is the first
};

void add_place(const Topology& topology, DeviceIndex device, OwnRank rank, DeviceIndex to, OwnPath& out) {
  const std::string& name = topology.devices[to].name;
  const auto [found, is_new] =
      out.places.try_emplace(topology.devices[device].name, OwnPath::Place{rank, name});
  if (is_new) return;
  found->second.rank = std::max(found->second.rank, rank);
  found->second.to = std::min(found->second.to, name);
}

}  // namespace

OwnPath own_path(const Topology& topology, std::optional<DeviceIndex> self,
                 const std::vector<ReachedDevice>& reached) {
  OwnPath out;
  std::map<PortIndex, std::vector<const ReachedDevice*>> by_port;
  for (const ReachedDevice& one : reached)
    for (const PortIndex port : one.by)
      if (topology.ports[port].link != kNone && one.device != self) by_port[port].push_back(&one);
  std::map<DeviceIndex, std::set<std::string>> entered;
  std::set<DeviceIndex> open;  // some packets to them take an unknown path
  for (const ReachedDevice& one : reached)
    if (one.by.empty()) open.insert(one.device);
  for (const auto& [port, those] : by_port) {
    WaysBehind ways(topology, port);
    for (const ReachedDevice* const one : those) {
      bool found = false;
      ways.reach(*one, [&](PortIndex in) {
        entered[one->device].emplace(topology.ports[in].name);
        found = true;
      });
      if (!found) open.insert(one->device);
    }
    const DeviceIndex next = topology.ports[topology.peer(port)].device;
    ways.crossed([&](DeviceIndex device, DeviceIndex to) {
      add_place(topology, device, device == next ? OwnRank::nearest : OwnRank::on_path, to, out);
    });
    add_place(topology, next, OwnRank::nearest, those.front()->device, out);
  }
  if (self && !reached.empty()) out.places[topology.devices[*self].name] = {OwnRank::nearest, ""};
  for (const auto& [device, ports] : entered)
    if (!open.contains(device)) out.entered_by[topology.devices[device].name] = {ports.begin(), ports.end()};
  return out;
}

}  // namespace lockstep
