// The next hops that switches must have are the graph's shortest paths that go up and then down. Tested on
// random graphs, and from specs to the entries of an intent.
#include "specs/fabric/routing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <queue>
#include <set>

#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {
namespace {

constexpr int kFar = 1 << 20;

// A slow, simple reference: breadth-first search over (switch, has gone down), one leaf at a time.
class Walk {
 public:
  explicit Walk(const Topology& topology) : topology_(topology) {}

  // Hops to the leaf. `down`: the path has gone down and may not go up again.
  int distance(DeviceIndex from, DeviceIndex leaf, bool down) const {
    std::map<std::pair<DeviceIndex, bool>, int> known{{{from, down}, 0}};
    std::queue<std::pair<DeviceIndex, bool>> queue({{from, down}});
    for (; !queue.empty(); queue.pop()) {
      const auto [device, turned] = queue.front();
      if (device == leaf) return known[queue.front()];
      for (const PortIndex port : ports(device)) {
        const DeviceIndex next = peer(port);
        const bool up = tier(next) > tier(device);
        if (up && turned) continue;
        if (known.try_emplace({next, turned || !up}, known[queue.front()] + 1).second)
          queue.push({next, turned || !up});
      }
    }
    return kFar;
  }

  std::set<PortIndex> next_hops(DeviceIndex from, DeviceIndex leaf) const {
    std::set<PortIndex> out;
    const int far = distance(from, leaf, false);
    for (const PortIndex port : ports(from))
      if (far < kFar && distance(peer(port), leaf, tier(peer(port)) < tier(from)) == far - 1)
        out.insert(port);
    return out;
  }

 private:
  unsigned tier(DeviceIndex device) const { return topology_.devices[device].tier(); }
  DeviceIndex peer(PortIndex port) const { return topology_.ports[topology_.peer(port)].device; }
  // The ports that lead to a switch of another tier.
  std::vector<PortIndex> ports(DeviceIndex device) const {
    std::vector<PortIndex> out;
    const TopologyDevice& self = topology_.devices[device];
    for (PortIndex port = self.first_port; port < self.first_port + self.port_count; ++port)
      if (topology_.ports[port].link != kNone && topology_.devices[peer(port)].is_switch() &&
          tier(peer(port)) != tier(device))
        out.push_back(port);
    return out;
  }
  const Topology& topology_;
};

TEST(Routing, NextHopsAreTheShortestPathsUpAndThenDownOnAnyGraph) {
  EXPECT_TRUE(rc::check("graph", [] {
    SmallFabric fabric;
    const int size = *rc::gen::inRange(1, 12);
    for (int i = 0; i < size; ++i)
      fabric.add(
          *rc::gen::element(DeviceRole::leaf, DeviceRole::leaf, DeviceRole::spine, DeviceRole::superspine));
    const int links = *rc::gen::inRange(0, 30);
    for (int i = 0; i < links; ++i) {
      const auto a = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      const auto b = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      if (a != b) fabric.link(a, b);
    }
    fabric.settle();
    const Walk walk(fabric.topology);
    const FabricRoutes routes = route(fabric.topology, 0);
    for (std::size_t from = 0; from < routes.switches.size(); ++from)
      for (std::size_t to = 0; to < routes.destinations.size(); ++to) {
        if (routes.switches[from] == routes.destinations[to]) continue;
        const std::uint32_t group = routes.group_of(from, to);
        std::set<PortIndex> ports;
        if (group != kNone) ports.insert(routes.groups[group].begin(), routes.groups[group].end());
        RC_ASSERT(ports == walk.next_hops(routes.switches[from], routes.destinations[to]));
      }
  }));
}

std::string set_of(std::string_view name, std::string_view names, std::string_view more) {
  return "---\napiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: " + std::string(name) +
         "}\nspec: {names: '" + std::string(names) + "', drivers: [linux, frr], " + std::string(more) + "}\n";
}

std::string to(int last) { return "[1-" + std::to_string(last) + "]"; }

// Pods of leaves under spines, with superspines above all; `parallel` is the number of parallel links.
std::string any_clos() {
  const int pods = *rc::gen::inRange(1, 4);
  const int leaves = pods * *rc::gen::inRange(1, 4);
  const int spines = pods * *rc::gen::inRange(1, 4);
  const int superspines = *rc::gen::inRange(0, 3);
  const int parallel = *rc::gen::inRange(1, 3);
  const std::string factors =
      "by: mesh, speed: 100Gbps, parallel: " + std::to_string(parallel) + ", planes: " + std::to_string(pods);
  std::string out = set_of("hosts", "h" + to(leaves), "role: host, interfaces: [{name: e, speed: 100Gbps}]") +
                    set_of("leaves", "leaf" + to(leaves), "role: leaf") +
                    set_of("spines", "spine" + to(spines), "role: spine");
  if (superspines > 0) out += set_of("tops", "top" + to(superspines), "role: superspine");
  out +=
      "---\napiVersion: lockstep.dev/v1alpha1\nkind: Fabric\nmetadata: {name: f}\nspec:\n  role: backend\n"
      "  topology: leaf-spine\n  cabling:\n    - {from: 'h" +
      to(leaves) + ":e', to: 'leaf" + to(leaves) + ":s1', by: pairs}\n    - {from: 'leaf" + to(leaves) +
      ":u" + to(spines / pods * parallel) + "', to: 'spine" + to(spines) + ":d" +
      to(leaves / pods * parallel) + "', " + factors + "}\n";
  if (superspines > 0)
    out += "    - {from: 'spine" + to(spines) + ":u" + to(superspines) + "', to: 'top" + to(superspines) +
           ":d" + to(spines) + "', by: mesh, speed: 100Gbps}\n";
  return out +
         "  addressing: {hosts: 10.64.0.0/16, loopbacks: 10.255.0.0/24}\n"
         "  routing: {protocol: bgp-unnumbered, asn: {leaf: 4200000000-4200000999, spine: "
         "4200100000-4200100999, superspine: 4200200000}}\n";
}

TEST(Routing, EverySwitchMustReachEveryOtherLeafsBlockByItsShortestPaths) {
  EXPECT_TRUE(rc::check("specs", [] {
    const std::string text = any_clos();
    RC_LOG() << text;
    const Loaded loaded = load_text("cluster.yaml", text);
    RC_ASSERT(loaded.diagnostics.empty());
    const Compiled compiled = compile(loaded.catalog);
    RC_ASSERT(compiled.diagnostics.empty());
    const Topology& topology = compiled.topology;
    const Walk walk(topology);
    for (DeviceIndex from = 0; from < topology.devices.size(); ++from) {
      std::size_t expected = 0;
      for (const DeviceIndex leaf : topology.fabrics[0].leaves) {
        if (!topology.devices[from].is_switch() || from == leaf) continue;
        std::vector<std::string> names;
        for (const PortIndex port : walk.next_hops(from, leaf)) names.emplace_back(topology.ports[port].name);
        const Path path(row("fib[*]"), {compiled.allocation.block[0][leaf]->text()});
        const Value want = names.empty() ? Value{} : Value::set(names);
        RC_ASSERT(compiled.intents[from].want.value(path) == want);
        expected += names.empty() ? 0 : 1;
      }
      for (const TopologyPort& port : topology.ports_of(from)) {
        const auto& address =
            compiled.allocation.port[static_cast<std::size_t>(&port - topology.ports.data())];
        if (!address) continue;
        const Path connected(row("fib[*]"), {address->network().text()});
        RC_ASSERT(compiled.intents[from].want.value(connected) == Value::set({std::string(port.name)}));
        ++expected;
      }
      RC_ASSERT(compiled.intents[from].want.of_row(row("fib[*]")).size() == expected);
    }
  }));
}

}  // namespace
}  // namespace lockstep
