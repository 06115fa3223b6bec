// Combines what is already out of service with what a step takes out.
#include "cluster.hpp"
#include "reconciler/engine/service.hpp"

namespace lockstep {
namespace {

TEST(OutOfService, UnansweredDeviceCountsAsUpOrDownWhicheverIsWorse) {
  Cluster cluster;
  for (const char* const name : {"leaf0", "leaf1", "spine0"})
    cluster.add(name, name[0] == 'l' ? "leaf" : "spine");
  cluster.cable("leaf0", "up0", "spine0", "down0");
  cluster.cable("leaf1", "up0", "spine0", "down1");
  cluster.wiring.index();
  cluster.wiring.capacity_left = [](const Outage& outage) {
    return 1 - 0.1 * static_cast<double>(outage.devices.size()) -
           0.01 * static_cast<double>(outage.cables.size());
  };
  OutOfService out{.devices = {{"leaf0", "it did not answer"}}, .cables = {}};
  out.unanswered = {"leaf0"};
  const Outage at_leaf0{.devices = {}, .cables = {0}};
  EXPECT_DOUBLE_EQ(out.capacity_left(at_leaf0, at_leaf0, cluster.wiring), 0.99) << "as if it were up";
  const Outage at_both{.devices = {}, .cables = {0, 1}};
  EXPECT_DOUBLE_EQ(out.capacity_left(at_both, at_both, cluster.wiring), 0.88) << "as it may be down";
}

TEST(OutOfService, UnjudgedDevicesAreReturning) {
  OutOfService out{.devices = {{"spine0", "it is off"}, {"spine1", "change 7 is not judged"}}, .cables = {}};
  out.unjudged_devices = {"spine1"};
  const Outage all = out.with({});
  EXPECT_EQ(all.devices, (std::vector<std::string>{"spine0", "spine1"}));
  EXPECT_EQ(all.returning, (std::vector<std::string>{"spine1"}));
}

}  // namespace
}  // namespace lockstep
