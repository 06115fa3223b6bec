// The limits of a plan: what is just allowed, what belongs together, and what waits for what.
#include "cluster.hpp"
#include "reconciler/engine/atoms.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

// Three of ten settings would be deleted.
TEST(PlanBounds, DeletionShareCountsDesiredAndDeletedEntries) {
  for (const auto& [allowed, refusals] : {std::pair{0.29, 1U}, {0.3, 0U}}) {
    Cluster cluster;
    cluster.add("gpu1");
    cluster.claim("gpu1", row("vlan[*]"));
    for (int v = 1; v <= 10; ++v) {
      const Path vlan(row("vlan[*]"), {std::to_string(v)});
      cluster.devices["gpu1"]->set(vlan, there());
      if (v > 3) cluster.want("gpu1", vlan.text(), there());
    }
    cluster.policy = Policy{};
    cluster.policy->max_delete = allowed;
    const Plan plan = cluster.plan();
    EXPECT_EQ(plan.refusals.size(), refusals) << allowed << "\n" << plan_lines(plan);
  }
}

// Earlier it would be added to an object that is about to be deleted. What is refused is refused as a whole.
TEST(PlanBounds, ChildOfARecreatedEntryIsAddedAfterIt) {
  Cluster cluster;
  cluster.add("leaf0", "leaf");
  for (const auto& [path, value] : std::vector<std::pair<const char*, Value>>{
           {"bgp", there()}, {"bgp/asn", number(65001)}, {"bgp/router-id", Value::text("1.1.1.1")}}) {
    cluster.devices["leaf0"]->set(entry(path), value);
    cluster.want("leaf0", path, value);
  }
  cluster.want("leaf0", "bgp/asn", number(65002));
  cluster.want("leaf0", "bgp/neighbor[up0]", there());
  const Plan plan = cluster.plan();
  std::vector<std::pair<Path, Value>> writes;
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes) writes.emplace_back(change.path, change.want);
  const auto added = std::ranges::find(writes, std::pair{entry("bgp/neighbor[up0]"), there()});
  const auto again = std::ranges::find(writes, std::pair{entry("bgp"), there()});
  ASSERT_NE(added, writes.end());
  EXPECT_LT(again, added) << plan_lines(plan);
  const auto states = cluster.observe();
  const PlanInput input = input_of(cluster.fleet(), states, cluster.origins, cluster.sources, {});
  EXPECT_EQ(make_atoms(input.devices.at(0), schema_columns()).atoms.size(), 1U) << plan_lines(plan);
}

// A leaf switch with two uplinks in service, whose class changes at both.
TEST(PlanBounds, PortsWithinMinCapacityChangeInOneStep) {
  for (const auto& [least, steps] : {std::pair{0.5, 1U}, {0.51, 2U}}) {
    Cluster cluster;
    cluster.add("leaf0", "leaf");
    for (const std::string n : {"0", "1"}) {
      cluster.add("spine" + n, "spine");
      cluster.cable("leaf0", "up" + n, "spine" + n, "down0");
      const std::string address = "interface[up" + n + "]/address[10.0.0." + n + "/31]";
      cluster.devices["leaf0"]->set(entry(address), there());
      cluster.want("leaf0", address, there());
      cluster.want("leaf0", "interface[up" + n + "]/pause", no());
    }
    cluster.wiring.index();
    cluster.wiring.capacity_left = [](const Outage& outage) {
      return outage.cables.size() < 2 && outage.devices.empty() ? 0.75 : 0.5;
    };
    cluster.policy = Policy{};
    cluster.policy->min_capacity["leaf"] = least;
    const Plan plan = cluster.plan();
    EXPECT_EQ(plan.steps.size(), steps) << plan_lines(plan);
  }
}

// The gate between the waves already separates them.
TEST(PlanBounds, BatchesWaitOnlyForBatchesOfTheSameWave) {
  Cluster cluster;
  add_live_spines(cluster, 5);
  cluster.policy = Policy{};
  cluster.policy->waves = {{false, 1}, {true, 1.0}};
  cluster.policy->min_capacity["spine"] = 0.5;
  cluster.wiring.capacity_left = [](const Outage& outage) {
    return 1.0 - static_cast<double>(outage.devices.size()) / 5.0;
  };
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 5U);
  ASSERT_EQ(plan.waves(), 2U);
  for (const std::size_t first : {0U, 1U, 2U})
    EXPECT_TRUE(plan.steps[first].after.empty()) << plan_lines(plan);
  for (const std::size_t last : {3U, 4U})
    EXPECT_EQ(plan.steps[last].after, (std::vector<std::uint32_t>{2, 3})) << plan_lines(plan);
}

}  // namespace
}  // namespace lockstep
