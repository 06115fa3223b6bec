#include "drivers/sim/simulated_device.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

const Path kMtu(row("interface[*]/mtu"), {"rail0"});
const Path kAddress(row("interface[*]/address[*]"), {"rail0", "10.0.0.1/31"});
const Path kRoute(row("route[*]"), {"main:10.0.0.0/8"});
const Path kGovernor(row("cpu/governor"), {});

Value route_over(const char* port) { return Value::set({std::string("via 10.0.0.0 dev ") + port}); }

TEST(SimulatedDevice, WritesInOrderAndAnswersForEachChange) {
  SimulatedDevice device("gpu1", 1);
  const auto receipt =
      device.apply({{kMtu, {}, Value::integer(9000), 0}},
                   Guard{.ticket = "t1", .revision = {}, .epoch = 1, .undo_after = {}}, Call{});
  ASSERT_TRUE(receipt);
  ASSERT_EQ(receipt->outcomes.size(), 1U);
  EXPECT_FALSE(receipt->outcomes[0].error);
  EXPECT_EQ(device.truth().value(kMtu), Value::integer(9000));
}

TEST(SimulatedDevice, DropsTheRoutesThatGoWithAnAddress) {
  SimulatedDevice device("gpu1", 1);
  device.set(kAddress, Value::present());
  device.set(kRoute, route_over("rail0"));
  device.set(kAddress, Value{});
  EXPECT_FALSE(device.truth().value(kRoute));
}

TEST(SimulatedDevice, KeepsRoutesOverOtherPorts) {
  SimulatedDevice device("gpu1", 1);
  device.set(kAddress, Value::present());
  device.set(kRoute, route_over("rail1"));
  device.set(kAddress, Value{});
  EXPECT_TRUE(device.truth().value(kRoute));
}

TEST(SimulatedDevice, RebootDropsVolatileEntries) {
  SimulatedDevice device("gpu1", 1);
  device.set(kMtu, Value::integer(9000));
  device.set(kGovernor, Value::text("performance"));
  device.reboot();
  EXPECT_EQ(device.truth().value(kMtu), Value::integer(9000));
  EXPECT_FALSE(device.truth().value(kGovernor));
}

TEST(SimulatedDevice, LostReplyHasWrittenAll) {
  SimulatedDevice device("gpu1", 1);
  device.faults.lost_reply = 1;
  const auto receipt =
      device.apply({{kMtu, {}, Value::integer(9000), 0}},
                   Guard{.ticket = "t1", .revision = {}, .epoch = 1, .undo_after = {}}, Call{});
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind, ErrorKind::unknown_outcome);
  EXPECT_EQ(device.truth().value(kMtu), Value::integer(9000));
}

TEST(SimulatedDevice, RefusesAnOlderLeader) {
  SimulatedDevice device("gpu1", 1);
  const ChangeSet change{{kMtu, {}, Value::integer(9000), 0}};
  ASSERT_TRUE(
      device.apply(change, Guard{.ticket = "a", .revision = {}, .epoch = 2, .undo_after = {}}, Call{}));
  const auto late =
      device.apply(change, Guard{.ticket = "b", .revision = {}, .epoch = 1, .undo_after = {}}, Call{});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::denied);
}

TEST(SimulatedDevice, RollsBackUnsettledChangesAfterTheTimeout) {
  Time now{};
  SimulatedDevice device("gpu1", 1);
  device.undoes_itself = true;
  device.clock = [&now] { return now; };
  device.set(kMtu, Value::integer(1500));
  const Guard guard{.ticket = "a",
                    .revision = {},
                    .epoch = 1,
                    .undo_after = std::chrono::seconds(30),
                    .transaction = "t",
                    .undo = {{kMtu, Value::integer(9000), Value::integer(1500), 0}}};
  ASSERT_TRUE(device.apply({{kMtu, Value::integer(1500), Value::integer(9000), 0}}, guard, Call{}));
  EXPECT_EQ(device.truth().value(kMtu), Value::integer(9000));
  now += std::chrono::seconds(31);
  ASSERT_TRUE(device.observe({}, "", Call{}));
  EXPECT_EQ(device.truth().value(kMtu), Value::integer(1500));
}

TEST(SimulatedDevice, KeepsSettledChanges) {
  Time now{};
  SimulatedDevice device("gpu1", 1);
  device.clock = [&now] { return now; };
  device.undoes_itself = true;
  const Guard guard{
      .ticket = "a", .revision = {}, .epoch = 1, .undo_after = std::chrono::seconds(30), .transaction = "t"};
  ASSERT_TRUE(device.apply({{kMtu, {}, Value::integer(9000), 0}}, guard, Call{}));
  ASSERT_TRUE(device.settle("t", Settlement::keep, Call{}));
  now += std::chrono::seconds(31);
  ASSERT_TRUE(device.observe({}, "", Call{}));
  EXPECT_EQ(device.truth().value(kMtu), Value::integer(9000));
}

TEST(SimulatedDevice, ReportsUnreadEntries) {
  SimulatedDevice device("gpu1", 7);
  device.rows = {row("interface[*]/mtu")};
  device.set(kMtu, Value::integer(9000));
  device.faults.unread = 1;
  const auto observation = device.observe({}, "", Call{});
  ASSERT_TRUE(observation);
  ASSERT_EQ(observation->unread.size(), 1U);
  EXPECT_FALSE(observation->have.value(kMtu));
}

}  // namespace
}  // namespace lockstep
