// The own path: the devices that packets cross on the way from this machine, compared with an enumeration of
// all paths.
#include "reconciler/engine/own_path.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {
namespace {

// Devices of every tier with some cables among them. Each port has a unique name.
Topology any_fabric() {
  SmallFabric fabric;
  std::vector<DeviceIndex> devices;
  for (const DeviceRole role :
       {DeviceRole::host, DeviceRole::leaf, DeviceRole::spine, DeviceRole::superspine})
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) devices.push_back(fabric.add(role));
  for (const DeviceIndex a : devices)
    for (const DeviceIndex b : devices) {
      const unsigned up = fabric.topology.devices[b].tier();
      const unsigned down = fabric.topology.devices[a].tier();
      if (up != down + 1 && !(up == down && a < b && down > 0 && *rc::gen::inRange(0, 4) == 0)) continue;
      for (int cables = *rc::gen::element(0, 1, 1, 2); cables > 0; --cables) fabric.link(a, b);
    }
  fabric.settle();
  std::uint32_t number = 0;
  static std::deque<std::string> names;  // ports only hold a reference to their names
  while (names.size() < fabric.topology.ports.size()) names.push_back("p" + std::to_string(names.size()));
  for (TopologyPort& port : fabric.topology.ports) port.name = names[number++];
  return fabric.topology;
}

// All up-down paths by which a packet that leaves by `first` can reach a device, each once.
class AllWays {
 public:
  AllWays(const Topology& topology, PortIndex first, const ReachedDevice& to)
      : topology_(topology), to_(to), self_(topology.ports[first].device) {
    walk(first, true, {});
  }
  // The paths with the fewest cables, each as the ports by which it leaves.
  std::vector<std::vector<PortIndex>> shortest() const {
    std::vector<std::vector<PortIndex>> out;
    for (const std::vector<PortIndex>& way : all_)
      if (std::ranges::all_of(all_, [&](const auto& other) { return way.size() <= other.size(); }))
        out.push_back(way);
    return out;
  }

 private:
  unsigned tier(DeviceIndex device) const { return topology_.devices[device].tier(); }

  void walk(PortIndex out, bool up, std::vector<PortIndex> way) {
    const PortIndex in = topology_.peer(out);
    const DeviceIndex from = topology_.ports[out].device;
    const DeviceIndex next = topology_.ports[in].device;
    const bool goes_up = tier(next) > tier(from);
    if ((goes_up && !up) || next == self_ || (tier(next) == tier(from) && from != self_)) return;
    way.push_back(out);
    if (next == to_.device) {
      if (!to_.at || *to_.at == in) all_.push_back(std::move(way));
      return;
    }
    if (tier(next) == 0) return;
    const TopologyDevice& device = topology_.devices[next];
    for (PortIndex port = device.first_port; port < device.first_port + device.port_count; ++port)
      if (port != in && topology_.ports[port].link != kNone) walk(port, goes_up, way);
  }

  const Topology& topology_;
  const ReachedDevice& to_;
  DeviceIndex self_;
  std::vector<std::vector<PortIndex>> all_;
};

TEST(OwnPath, IsEveryDeviceOnAShortestUpDownPath) {
  EXPECT_TRUE(rc::check([] {
    const Topology topology = any_fabric();
    const DeviceIndex self =
        *rc::gen::inRange<DeviceIndex>(0, static_cast<DeviceIndex>(topology.devices.size()));
    std::vector<PortIndex> own;
    for (PortIndex port = 0; port < topology.ports.size(); ++port)
      if (topology.ports[port].device == self) own.push_back(port);
    std::vector<ReachedDevice> reached;
    for (DeviceIndex device = 0; device < topology.devices.size(); ++device) {
      if (device == self || *rc::gen::inRange(0, 3) == 0) continue;
      ReachedDevice& one = reached.emplace_back(ReachedDevice{.device = device, .by = {}});
      for (const PortIndex port : own)
        if (*rc::gen::arbitrary<bool>()) one.by.push_back(port);
      const TopologyDevice& there = topology.devices[device];
      if (there.port_count > 0 && !there.is_switch() && *rc::gen::arbitrary<bool>())
        one.at = there.first_port + *rc::gen::inRange<PortIndex>(0, there.port_count);
    }

    std::map<std::string, std::set<std::string>> crossed;  // by device: the devices reached through it
    std::map<std::string, std::set<std::string>> entered;
    std::set<std::string> nearest;
    std::set<std::string> open;
    for (const ReachedDevice& one : reached) {
      const std::string& name = topology.devices[one.device].name;
      if (one.by.empty()) open.insert(name);
      for (const PortIndex first : one.by) {
        nearest.insert(topology.device_of(topology.peer(first)));
        const auto ways = AllWays(topology, first, one).shortest();
        if (ways.empty()) open.insert(name);
        for (const std::vector<PortIndex>& way : ways) {
          entered[name].emplace(topology.ports[topology.peer(way.back())].name);
          for (std::size_t hop = 1; hop < way.size(); ++hop)
            crossed[topology.device_of(way[hop])].insert(name);
        }
      }
    }
    const OwnPath found = own_path(topology, self, reached);
    const std::string& own_name = topology.devices[self].name;
    for (const TopologyDevice& device : topology.devices) {
      const OwnRank rank = !reached.empty() && device.name == own_name ? OwnRank::nearest
                           : nearest.contains(device.name)             ? OwnRank::nearest
                           : crossed.contains(device.name)             ? OwnRank::on_path
                                                                       : OwnRank::off;
      RC_LOG() << device.name << '\n';
      RC_ASSERT(found.rank(device.name) == rank);
      if (rank == OwnRank::on_path)
        RC_ASSERT(crossed.at(device.name).contains(found.places.at(device.name).to));
      const auto ports = found.entered_by.find(device.name);
      const bool is_known = entered.contains(device.name) && !open.contains(device.name);
      RC_ASSERT((ports != found.entered_by.end()) == is_known);
      if (is_known)
        RC_ASSERT(std::set<std::string>(ports->second.begin(), ports->second.end()) ==
                  entered.at(device.name));
    }
  }));
}

}  // namespace
}  // namespace lockstep
