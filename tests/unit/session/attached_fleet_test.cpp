#include "reconciler/session/attached_fleet.hpp"

#include <gtest/gtest.h>

#include "drivers/sim/simulated_device.hpp"
#include "reconciler/engine/observe.hpp"

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

TEST(AttachedFleet, RefusesTwoDevicesThatAreThisMachine) {
  const Result<AttachedFleet> attached = attach_fleet(cluster_of(2), {});
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().text().find("gpu1 and gpu2"), std::string::npos) << attached.error().text();
}

TEST(AttachedFleet, OneDeviceMayBeThisMachine) { EXPECT_TRUE(attach_fleet(cluster_of(1), {})); }

TEST(AttachedFleet, TheClustersManagementInterfaceIsTheLastPathToEachDevice) {
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

TEST(AttachedFleet, ADeviceWithADriverThatCannotBeAttachedIsUnobservedWithTheReason) {
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

TEST(AttachedFleet, AFactoryGetsTheDeviceItsConnectionAndItsIntent) {
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

}  // namespace
}  // namespace lockstep
