#include "reconciler/session/attached_fleet.hpp"

#include <gtest/gtest.h>

#include "drivers/sim/simulated_device.hpp"
#include "reconciler/engine/observe.hpp"
#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {
namespace {

OpenedCluster cluster_of(std::size_t devices) {
  OpenedCluster cluster;
  cluster.catalog.device_sets.emplace_back();
  cluster.catalog.device_sets.front().connect.value.local.value = true;
  for (std::size_t i = 0; i < devices; ++i) {
    TopologyDevice device;
    device.name = "gpu" + std::to_string(i + 1);
    device.set = 0;
    cluster.compiled.topology.devices.push_back(device);
    cluster.compiled.intents.emplace_back();
  }
  return cluster;
}

TEST(AttachedFleet, RefusesTwoLocalDevices) {
  const Result<AttachedFleet> attached = attach_fleet(cluster_of(2), {});
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().text().find("gpu1 and gpu2"), std::string::npos) << attached.error().text();
}

TEST(AttachedFleet, AllowsOneLocalDevice) { EXPECT_TRUE(attach_fleet(cluster_of(1), {})); }

TEST(AttachedFleet, ManagementInterfaceIsTheLastPathToEachDevice) {
  OpenedCluster cluster = cluster_of(1);
  Cluster& said = cluster.catalog.clusters.emplace_back();
  said.management.said = said.management.value.interface.said = true;
  said.management.value.interface.value = "eth0";
  const Result<AttachedFleet> attached = attach_fleet(cluster, {});
  ASSERT_TRUE(attached) << attached.error().text();
  const auto& ports = attached->fleet.wiring().management_ports;
  ASSERT_TRUE(ports.contains("gpu1"));
  EXPECT_EQ(ports.at("gpu1"), std::vector<std::string>{"eth0"});
}

TEST(AttachedFleet, DeviceWithAFailedDriverIsUnobservedWithTheReason) {
  OpenedCluster cluster = cluster_of(2);
  cluster.catalog.device_sets.front().connect.value.local.value = false;
  for (TopologyDevice& device : cluster.compiled.topology.devices)
    device.drivers = {DriverName::sim, DriverName::redfish};
  DriverTable table;
  table[DriverName::sim].attach = [](const DriverTarget& target) -> Result<std::optional<Attached>> {
    return std::optional(attach_simulated(std::make_unique<SimulatedDevice>(target.device, 1)));
  };
  table[DriverName::redfish].attach = [](const DriverTarget& target) -> Result<std::optional<Attached>> {
    if (target.device == "gpu1") return Error{ErrorKind::denied, "no credentials for gpu1"};
    return std::optional<Attached>{};
  };
  const Result<AttachedFleet> attached = attach_fleet(cluster, table);
  ASSERT_TRUE(attached) << attached.error().text();
  EXPECT_TRUE(attached->fleet[0].drivers.empty());
  EXPECT_EQ(attached->fleet[1].drivers.size(), 1U);
  const DeviceState state = compare(attached->fleet[0], attached->fleet.carriers(0), {});
  EXPECT_FALSE(state.reachable);
  EXPECT_EQ(state.why_incomplete(), "no credentials for gpu1");
}

TEST(AttachedFleet, FactoryReceivesDeviceConnectionAndIntent) {
  OpenedCluster cluster = cluster_of(1);
  cluster.compiled.topology.devices.front().drivers = {DriverName::sim};
  std::vector<std::string> seen;
  DriverTable table;
  table[DriverName::sim].attach = [&](const DriverTarget& target) -> Result<std::optional<Attached>> {
    seen.push_back(target.device);
    EXPECT_TRUE(target.connect.local.value);
    EXPECT_EQ(&target.intent, &cluster.compiled.intents.front());
    EXPECT_FALSE(target.twin);
    return std::optional<Attached>{};
  };
  ASSERT_TRUE(attach_fleet(cluster, table));
  EXPECT_EQ(seen, std::vector<std::string>{"gpu1"});
}

TEST(AttachedFleet, RefusesATwinThatIsNotUp) {
  OpenedCluster cluster = cluster_of(1);
  cluster.twin = true;
  cluster.name = "lab";
  cluster.id = "nosuchtwin0";
  const Result<AttachedFleet> attached = attach_fleet(cluster, {});
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().text().find("the twin of lab is not up"), std::string::npos)
      << attached.error().text();
}

// host0 (this machine) and host1, each with a port to leaf2 and one to leaf3, which spine4 connects. All but
// host0 are reached by `addresses`, host1 at its port to leaf3.
struct ReachedOverTheFabric {
  OpenedCluster cluster;
  DriverTable table;
  std::map<std::string, IpAddress> addresses;
  std::map<IpAddress, std::set<std::string>> routes;

  ReachedOverTheFabric() {
    SmallFabric fabric;
    for (const DeviceRole role :
         {DeviceRole::host, DeviceRole::host, DeviceRole::leaf, DeviceRole::leaf, DeviceRole::spine})
      fabric.add(role);
    for (const auto& [from, to] :
         std::vector<std::pair<DeviceIndex, DeviceIndex>>{{0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 4}, {3, 4}})
      fabric.link(from, to);
    fabric.settle();
    Topology& topology = cluster.compiled.topology = fabric.topology;
    for (const DeviceIndex host : {0U, 1U})
      for (const std::uint32_t rail : {0U, 1U})
        topology.ports[topology.devices[host].first_port + rail].name = rail == 0 ? "rail0" : "rail1";
    cluster.catalog.device_sets.resize(2);
    cluster.catalog.device_sets[1].connect.value.local.value = true;
    topology.devices[0].set = 1;
    for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
      topology.by_name.push_back(i);
      topology.devices[i].drivers = {DriverName::sim};
      if (i > 0) addresses[topology.devices[i].name] = IpAddress::v4(0x0A000000 + i);
    }
    cluster.compiled.intents.resize(topology.devices.size());
    cluster.compiled.allocation.port.resize(topology.ports.size());
    cluster.compiled.allocation.port[topology.devices[1].first_port + 1] = {addresses.at("host1"), 31};
    table[DriverName::sim].attach = [this](const DriverTarget& target) -> Result<std::optional<Attached>> {
      Attached one = attach_simulated(std::make_unique<SimulatedDevice>(target.device, 1));
      if (const auto at = addresses.find(target.device); at != addresses.end()) one.address = at->second;
      return std::optional(std::move(one));
    };
  }

  OwnPath own_path() const {
    const FirstHops hops = [this](const std::vector<IpAddress>& asked) {
      std::vector<std::set<std::string>> out;
      for (const IpAddress& address : asked) {
        const auto route = routes.find(address);
        out.push_back(route == routes.end() ? std::set<std::string>{} : route->second);
      }
      return Result(std::move(out));
    };
    const Result<AttachedFleet> attached = attach_fleet(cluster, table, hops);
    EXPECT_TRUE(attached) << (attached ? "" : attached.error().text());
    return attached ? attached->fleet.wiring().own_path : OwnPath{};
  }
};

TEST(AttachedFleet, DerivesTheOwnPathFromKernelRoutesAndTopology) {
  ReachedOverTheFabric one;
  one.routes[one.addresses.at("host1")] = {"rail0"};
  const OwnPath path = one.own_path();
  EXPECT_EQ(path.rank("host0"), OwnRank::nearest);
  EXPECT_EQ(path.rank("leaf2"), OwnRank::nearest) << "this machine's port leads there";
  EXPECT_EQ(path.rank("spine4"), OwnRank::on_path);
  EXPECT_EQ(path.rank("leaf3"), OwnRank::on_path) << "the rail that has the address hangs on it";
  EXPECT_EQ(path.rank("host1"), OwnRank::off);
  EXPECT_EQ(path.entered_by, (std::map<std::string, std::vector<std::string>>{{"host1", {"rail1"}}}));
}

TEST(AttachedFleet, ManagementNetworkDoesNotCrossTheFabric) {
  ReachedOverTheFabric one;
  for (const auto& [device, address] : one.addresses) one.routes[address] = {"eth0"};
  const OwnPath path = one.own_path();
  EXPECT_EQ(path.places.size(), 1U);
  EXPECT_EQ(path.rank("host0"), OwnRank::nearest) << "this machine is changed last all the same";
  EXPECT_TRUE(path.entered_by.empty());
}

TEST(AttachedFleet, HasNoOwnPathWithoutALocalDeviceOrRemoteDevices) {
  ReachedOverTheFabric elsewhere;
  elsewhere.routes[elsewhere.addresses.at("host1")] = {"rail0"};
  elsewhere.cluster.catalog.device_sets[1].connect.value.local.value = false;
  EXPECT_TRUE(elsewhere.own_path().places.empty());
  ReachedOverTheFabric here;
  here.addresses.clear();
  EXPECT_TRUE(here.own_path().places.empty());
}

}  // namespace
}  // namespace lockstep
