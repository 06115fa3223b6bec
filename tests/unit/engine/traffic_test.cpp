// Ports that carry traffic while they are written to.
#include "reconciler/engine/traffic.hpp"

#include "cluster.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// A host on a pair of leaf switches that gets new addresses. It still has the former ones, which are to be
// removed.
Cluster renumbered_host() {
  Cluster cluster;
  cluster.add("gpu1");
  for (const std::string n : {"0", "1"}) {
    const std::string name = "leaf" + n;
    cluster.add(name, "leaf");
    cluster.want(name, "interface[swp1]/pause", Value::boolean(false));
    cluster.cable("gpu1", "rail" + n, name, "swp1");
    cluster.wiring.redundancy_group[name] = "leaf0";
    const std::string former = "10.0." + n + ".1/31";
    cluster.devices["gpu1"]->set(entry("interface[rail" + n + "]/address[" + former + "]"), there());
    cluster.claim("gpu1", row("interface[*]/address[*]"), {"rail" + n, former});
    cluster.want("gpu1", "interface[rail" + n + "]/address[10.1." + n + ".1/31]", there());
  }
  cluster.wiring.index();
  cluster.policy = Policy{};
  cluster.policy->by_group = true;
  return cluster;
}

// A rollback removes only what its change added. The former addresses stay for a later plan and are in use.
TEST(Traffic, RollbackDisturbsOneLeafOfAHostAtATime) {
  Cluster cluster = renumbered_host();
  const Plan plan = cluster.plan();
  for (const std::string leaf : {"leaf0", "leaf1"})
    cluster.devices[leaf]->set(entry("interface[swp1]/pause"), Value::boolean(false));
  const std::vector<DeviceState> now = cluster.observe();
  const UndoInput undo = undo_of(plan, cluster.fleet(), now, cluster.policies());
  const auto reverse = make_plan(undo.input);
  ASSERT_TRUE(reverse) << reverse.error().text();
  ASSERT_EQ(reverse->steps.size(), 2U);
  EXPECT_TRUE(reverse->steps[0].live);
  EXPECT_TRUE(reverse->steps[1].live);
  EXPECT_EQ(reverse->steps[1].after, std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace lockstep
