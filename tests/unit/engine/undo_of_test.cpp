// The input of a rollback plan, and what is excluded from it.
#include "cluster.hpp"

namespace lockstep {
namespace {

// Nothing of such a device was read: an entry that did not exist before must not be taken as absent now.
TEST(UndoOf, ExcludesDevicesWithoutADriver) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.want("gpu1", "interface[rail0]/address[10.0.0.1/31]", there());
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 1U);
  FleetDevice gpu1 = cluster.fleet()[0];
  gpu1.drivers.clear();
  Fleet without = *Fleet::make({gpu1}, {});
  ObserveRound round(without, cluster.executor);
  const UndoInput undo = undo_of(plan, without, pump(cluster.executor, round));
  ASSERT_EQ(undo.left_out.size(), 1U);
  EXPECT_EQ(undo.left_out[0].why,
            "gpu1: interface[rail0]/address[10.0.0.1/31] is not put back to (none): it could not be read");
}

}  // namespace
}  // namespace lockstep
