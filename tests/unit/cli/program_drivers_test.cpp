// The program's driver table.
#include "reconciler/cli/program_drivers.hpp"

#include <gtest/gtest.h>

#include "reconciler/session/attached_fleet.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

OpenedCluster this_machine_as_gpu1() {
  OpenedCluster cluster;
  cluster.catalog.device_sets.emplace_back();
  cluster.catalog.device_sets.front().connect.value.local.value = true;
  TopologyDevice device;
  device.name = "gpu1";
  device.set = 0;
  device.drivers = {DriverName::linux_kernel};
  cluster.compiled.topology.devices.push_back(device);
  cluster.compiled.intents.emplace_back();
  return cluster;
}

TEST(Wiring, MissingPortIsReportedOnThisMachine) {
  OpenedCluster cluster = this_machine_as_gpu1();
  const Path mtu(row("interface[*]/mtu"), {"no-such0"});
  cluster.compiled.intents.front().want.set(mtu, Value::integer(9000));
  const Result<AttachedFleet> attached = attach_fleet(cluster, driver_table());
  ASSERT_TRUE(attached) << attached.error().text();
  const auto seen =
      attached->fleet[0].drivers.at(0)->driver->observe(scope_of(*attached->fleet[0].intent), "", Call{});
  ASSERT_TRUE(seen) << seen.error().text();
  const Incapable* const why = incapable_of(seen->incapable, mtu);
  ASSERT_NE(why, nullptr);
  EXPECT_TRUE(why->by_hand);
  EXPECT_EQ(why->reason.find("no interface is called no-such0 here (there are "), 0U) << why->reason;
  EXPECT_EQ(incapable_of(seen->incapable, Path(row("interface[*]/mtu"), {"lo"})), nullptr);
}

TEST(Wiring, OtherMachineGetsNoDriver) {
  OpenedCluster cluster = this_machine_as_gpu1();
  cluster.catalog.device_sets.front().connect.value.local.value = false;
  cluster.compiled.topology.devices.front().drivers = {DriverName::linux_kernel, DriverName::frr};
  const Result<AttachedFleet> attached = attach_fleet(cluster, driver_table());
  ASSERT_TRUE(attached) << attached.error().text();
  EXPECT_TRUE(attached->fleet[0].drivers.empty());
  EXPECT_EQ(attached->fleet[0].unattached->text(), kWhyUnreached);
}

// Over Redis it can be watched, over ssh it can't.
TEST(Wiring, SonicSwitchIsReachedAsItsSpecSays) {
  const Intent intent;
  const auto attach = [&intent](const char* redis, const char* ssh) {
    Connect connect;
    if (redis != nullptr) connect.redis = Said<std::string>{redis, {}, true};
    if (ssh != nullptr) connect.ssh = Said<std::string>{ssh, {}, true};
    return driver_table()
        .at(DriverName::sonic)
        .attach({.device = "leaf0", .cluster = "c", .connect = connect, .intent = intent, .twin = {}});
  };
  const auto over_ssh = attach(nullptr, "admin@{name}.example.com:2222");
  ASSERT_TRUE(over_ssh && *over_ssh);
  EXPECT_FALSE((*over_ssh)->watch);
  EXPECT_FALSE((*over_ssh)->address);
  EXPECT_EQ((*attach(nullptr, "admin@10.0.0.1"))->address, IpAddress::parse("10.0.0.1"));
  const auto both = attach("redis://10.0.0.2:6379", "admin@10.0.0.1");
  ASSERT_TRUE(both && *both);
  EXPECT_TRUE((*both)->watch);
  EXPECT_EQ((*both)->address, IpAddress::parse("10.0.0.2"));
  EXPECT_FALSE(*attach(nullptr, nullptr));
  const auto wrong = attach(nullptr, "-oProxyCommand=id");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::invalid_spec);
}

}  // namespace
}  // namespace lockstep
