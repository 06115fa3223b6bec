#include "reconciler/cli/attached_fleet.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

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
  const Result<AttachedFleet> attached = attach_fleet(cluster_of(2));
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().text().find("gpu1 and gpu2"), std::string::npos) << attached.error().text();
}

TEST(AttachedFleet, OneDeviceMayBeThisMachine) { EXPECT_TRUE(attach_fleet(cluster_of(1))); }

TEST(AttachedFleet, TheClustersManagementInterfaceIsTheLastPathToEachDevice) {
  OpenedCluster cluster = cluster_of(1);
  Cluster& said = cluster.catalog.clusters.emplace_back();
  said.management.said = said.management.value.interface.said = true;
  said.management.value.interface.value = "eth0";
  const Result<AttachedFleet> attached = attach_fleet(cluster);
  ASSERT_TRUE(attached) << attached.error().text();
  const auto& ports = attached->fleet.wiring().management_ports;
  ASSERT_TRUE(ports.contains("gpu1"));
  EXPECT_EQ(ports.at("gpu1"), std::vector<std::string>{"eth0"});
}

TEST(AttachedFleet, ThePortsThatSpecsNameAreLookedForOnThisMachine) {
  OpenedCluster cluster = cluster_of(1);
  cluster.compiled.topology.devices.front().drivers = {DriverName::linux_kernel};
  const Path mtu(row("interface[*]/mtu"), {"no-such0"});
  cluster.compiled.intents.front().want.set(mtu, Value::integer(9000));
  const Result<AttachedFleet> attached = attach_fleet(cluster);
  ASSERT_TRUE(attached) << attached.error().text();
  const auto why = attached->fleet.carriers(0).why_not(mtu);
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->by_hand);
  EXPECT_EQ(why->reason.find("no interface is called no-such0 here (there are "), 0U) << why->reason;
  EXPECT_FALSE(attached->fleet.carriers(0).why_not(Path(row("interface[*]/mtu"), {"lo"})));
}

}  // namespace
}  // namespace lockstep
