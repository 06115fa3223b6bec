#include "reconciler/cli/attached_fleet.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lockstep
