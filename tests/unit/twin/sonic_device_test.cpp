// SONiC switches of a twin, without one.
#include "reconciler/twin/sonic_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "reconciler/twin/daemons.hpp"
#include "reconciler/twin/layout.hpp"

namespace lockstep {
namespace {

TwinRecord one_leaf(const std::string& port) {
  TwinRecord out;
  out.layout.cluster = "podabc123";
  out.layout.devices = {
      {.name = "gpu1"},
      {.name = "leaf0", .role = TwinRole::device_switch, .routing = true, .sonic_type = "LeafRouter"}};
  out.layout.cables = {{.device_a = "gpu1", .port_a = "rail0", .device_b = "leaf0", .port_b = port}};
  out.frr_profile = "datacenter";
  return out;
}

TEST(SonicDevice, IsAnotherDeviceThanASwitchWithoutSonic) {
  const TwinRecord sonic = one_leaf("Ethernet0");
  const auto read = from_text(to_text(sonic));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->layout.devices[1].sonic_type, "LeafRouter");
  EXPECT_EQ(to_text(*read), to_text(sonic));
  TwinRecord plain = sonic;
  plain.layout.devices[1].sonic_type.clear();
  const TwinChange change = change_between(plain.layout, plain.layout, sonic.layout);
  ASSERT_EQ(change.devices_made.size(), 1U);
  EXPECT_EQ(piece_text(change.devices_made[0]), "switch leaf0 (routing) (SONiC LeafRouter)");
  EXPECT_EQ(change.cables_made.size(), 1U);
}

TEST(SonicDevice, HasARedisThatListensOnNoPortAndThenTheStandIn) {
  const std::vector<DaemonPlan> all = daemons_of(one_leaf("Ethernet0"));
  const auto plan = [&](const char* name) {
    return *std::ranges::find(all, std::string(name), &DaemonPlan::name);
  };
  EXPECT_EQ(std::ranges::count(all, std::string("gpu1"), &DaemonPlan::device), 1) << "lldpd alone";
  const DaemonPlan redis = plan(kSonicRedis);
  const auto port = std::ranges::find(redis.argv, "--port");
  ASSERT_NE(port, redis.argv.end());
  EXPECT_EQ(*(port + 1), "0");
  EXPECT_LT(redis.ready_socket.size(), 108U);
  EXPECT_EQ(plan(kSonicStandIn).after, kSonicRedis);
}

TEST(SonicDevice, HasTheKernelsNamesOfPorts) {
  const auto refused = validate(one_leaf("a-port-of-more-than-15-characters").layout);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("leaf0: SONiC can't have a port"), std::string::npos)
      << refused.error().what;
  EXPECT_TRUE(validate(one_leaf("Ethernet0").layout));
}

TEST(SonicOrders, ComeBackAsTheyWereGiven) {
  std::string run_dir = "/tmp/lockstep-orders-XXXXXX";
  ASSERT_NE(::mkdtemp(run_dir.data()), nullptr);
  EXPECT_EQ(*read_orders(run_dir), SonicOrders{});
  const SonicOrders orders{
      .ignores = {"PORT", "BGP_NEIGHBOR|default|up0"}, .reports_up = {"swp1"}, .dies = true};
  ASSERT_TRUE(write_orders(run_dir, orders));
  EXPECT_EQ(*read_orders(run_dir), orders);
  for (const char* const text : {"", "{", "[]", R"({"ignores": [1], "reportsUp": [], "dies": false})"})
    EXPECT_FALSE(orders_from_text(text)) << text;
  std::filesystem::remove_all(run_dir);
}

}  // namespace
}  // namespace lockstep
