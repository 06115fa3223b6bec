#include "reconciler/session/reach.hpp"

#include <gtest/gtest.h>

#include "reconciler/engine/observe.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Two devices with a desired MTU, both unreachable from this machine, as when `connect` names an agent.
class Reach : public testing::Test {
 protected:
  Reach() {
    std::vector<FleetDevice> devices;
    for (std::size_t i = 0; i < 2; ++i) {
      TreeBuilder builder;
      builder.add(Path(row("interface[*]/mtu"), {"rail0"}), Value::integer(9000), 0);
      intents_[i].want = builder.build();
      FleetDevice device;
      device.name = i == 0 ? "gpu1" : "gpu2";
      device.intent = &intents_[i];
      device.unattached = Error{ErrorKind::refused, kWhyUnreached};
      devices.push_back(std::move(device));
    }
    Result<Fleet> made = Fleet::make(std::move(devices), {});
    if (!made) throw std::runtime_error(made.error().text());
    attached_.fleet = *std::move(made);
    const Fleet& fleet = attached_.fleet;
    for (std::size_t i = 0; i < 2; ++i) states_.push_back(compare(fleet[i], fleet.carriers(i), {}));
  }

  DriftReport report(const std::vector<std::size_t>& only) {
    return report_of(attached_.fleet, states_, only, origins_, sources_, {});
  }

  Intent intents_[2];
  AttachedFleet attached_;
  std::vector<DeviceState> states_;
  Origins origins_;
  Sources sources_;
};

TEST_F(Reach, DeviceWithoutADriverIsNeverInSync) {
  const DriftReport all = report({});
  EXPECT_EQ(all.in_sync, 0U);
  EXPECT_EQ(all.observed, 0U);
  EXPECT_EQ(all.unobserved.size(), 2U);
  EXPECT_EQ(all.exit_code(), 3);
}

TEST_F(Reach, UnreachableDevicesCannotBeWatchedOrMeasured) {
  const Result<Done> reached = reaches_any(attached_.fleet);
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().kind, ErrorKind::refused);
}

TEST_F(Reach, NarrowedReportCoversOnlyTheChosenDevices) {
  states_[1] = DeviceState{};  // gpu2 was read completely
  states_[1].device = "gpu2";
  states_[1].reachable = true;
  EXPECT_EQ(report({1}).exit_code(), 0);
  EXPECT_EQ(report({1}).devices, 1U);
  EXPECT_EQ(report({0}).exit_code(), 3);
  EXPECT_EQ(report({}).exit_code(), 3);
}

TEST_F(Reach, DriftOutranksUnreadableDevices) {
  DriftReport one_drifts = report({});
  one_drifts.drifted = 1;
  EXPECT_EQ(one_drifts.exit_code(), 2);
}

TEST_F(Reach, UnobservedDevicesAreGroupedByReason) {
  states_.emplace_back();
  states_.back().device = "gpu3";
  states_.back().errors.push_back(Error{ErrorKind::transient, "no answer"});
  const std::vector<NotObserved> all = not_observed(attached_.fleet, states_, {});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].why, kWhyUnreached);
  EXPECT_EQ(all[0].devices, (std::vector<std::string>{"gpu1", "gpu2"}));
  EXPECT_EQ(all[1].why, "no answer");
  ASSERT_EQ(not_observed(attached_.fleet, states_, {2}).size(), 1U);
  EXPECT_EQ(not_observed(attached_.fleet, states_, {2})[0].devices, std::vector<std::string>{"gpu3"});
}

}  // namespace
}  // namespace lockstep
