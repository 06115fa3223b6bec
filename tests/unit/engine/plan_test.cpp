#include "reconciler/engine/plan.hpp"

#include <nlohmann/json.hpp>

#include "cluster.hpp"
#include "reconciler/engine/earlier_plan.hpp"
#include "reconciler/engine/step_order.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

std::size_t place(const Plan& plan, std::string_view device, std::string_view path) {
  std::size_t at = 0;
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes) {
      ++at;
      if (step.device == device && change.path.text() == path) return at;
    }
  return 0;
}

Cluster bare_host() {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.want("gpu1", "interface[rail0]/admin", yes());
  cluster.want("gpu1", "interface[rail0]/address[10.0.0.1/31]", there());
  cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
  cluster.want("gpu1", "route[main:10.0.0.0/8]", Value::set({"via 10.0.0.0 dev rail0"}));
  cluster.want("gpu1", "rule[100]", Value::text("from 10.0.0.1 lookup 100"));
  return cluster;
}

TEST(Plan, FollowsReferencesAndReversesThemForRemoval) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.want("gpu1", "interface[rail0]/admin", yes());
  cluster.want("gpu1", "interface[rail0]/address[10.0.0.1/31]", there());
  cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
  cluster.want("gpu1", "rule[100]", Value::text("from 10.0.0.1 lookup 100"));
  cluster.want("gpu1", "route[main:10.0.0.0/8]", Value::set({"via 10.0.0.0 dev rail0"}));
  EXPECT_EQ(plan_lines(cluster.plan()),
            "step 1 gpu1 by sim wave 1 traffic\n"
            "  interface[rail0]/mtu: (none) -> 9000\n"
            "  interface[rail0]/address[10.0.0.1/31]: (none) -> present\n"
            "  interface[rail0]/admin: (none) -> true\n"
            "  route[main:10.0.0.0/8]: (none) -> via 10.0.0.0 dev rail0\n"
            "  rule[100]: (none) -> from 10.0.0.1 lookup 100\n");
}

TEST(Plan, RemovesInReverse) {
  Cluster cluster;
  cluster.add("leaf0", "leaf");
  cluster.claim("leaf0", row("bgp/neighbor[*]"));
  cluster.claim("leaf0", row("rule[*]"));
  cluster.claim("leaf0", row("route[*]"));
  auto& device = *cluster.devices["leaf0"];
  device.set(entry("route[main:10.0.0.0/8]"), Value::set({"via 10.0.0.0 dev swp1"}));
  device.set(entry("rule[100]"), Value::text("from all lookup 100"));
  EXPECT_EQ(plan_lines(cluster.plan()),
            "step 1 leaf0 by sim wave 1 traffic live\n"
            "  rule[100]: from all lookup 100 -> (none)\n"
            "  route[main:10.0.0.0/8]: via 10.0.0.0 dev swp1 -> (none)\n");
}

TEST(Plan, ForeignAddressMarksAPortAsLive) {
  for (const bool there : {true, false}) {
    Cluster cluster;
    cluster.add("gpu1");
    auto& device = *cluster.devices["gpu1"];
    device.set(entry("interface[eth0]/mtu"), number(1500));
    if (there) device.set(entry("interface[eth0]/address[192.0.2.2/24]"), Value::present());
    cluster.want("gpu1", "interface[eth0]/mtu", number(576));
    const Plan plan = cluster.plan();
    ASSERT_EQ(plan.steps.size(), 1U);
    EXPECT_EQ(plan.steps[0].live, there);
  }
}

TEST(Plan, GrowsMtuOnSwitchesFirstAndShrinksItOnHostsFirst) {
  for (const bool grows : {true, false}) {
    Cluster cluster;
    cluster.add("gpu1");
    cluster.add("leaf0", "leaf");
    cluster.cable("gpu1", "rail0", "leaf0", "swp1");
    cluster.devices["gpu1"]->set(entry("interface[rail0]/mtu"), number(grows ? 1500 : 9000));
    cluster.devices["leaf0"]->set(entry("interface[swp1]/mtu"), number(grows ? 1500 : 9000));
    cluster.want("gpu1", "interface[rail0]/mtu", number(4000));
    cluster.want("leaf0", "interface[swp1]/mtu", number(4000));
    const Plan plan = cluster.plan();
    ASSERT_EQ(plan.steps.size(), 2U);
    EXPECT_EQ(plan.steps[0].device, grows ? "leaf0" : "gpu1");
    EXPECT_EQ(plan.steps[1].after, std::vector<std::uint32_t>{1});
    EXPECT_EQ(plan.steps[0].together, plan.steps[1].together);
    EXPECT_NE(plan.steps[0].together, 0U);
  }
}

TEST(Plan, AcceptsAClassEverywhereBeforeAHostSendsIt) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.add("leaf0", "leaf");
  cluster.add("spine0", "spine");
  for (const auto* device : {"gpu1", "leaf0", "spine0"})
    cluster.want(device, "interface[p0]/pfc", Value::set({"3"}));
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 3U);
  EXPECT_EQ(plan.steps[2].device, "gpu1");
  EXPECT_EQ(plan.steps[2].after, (std::vector<std::uint32_t>{1, 2}));
}

TEST(Plan, NeverSplitsACommitUnit) {
  Cluster cluster;
  cluster.add("leaf0", "leaf");
  for (const char* port : {"swp1", "swp2"})
    for (const char* number_text : {"0", "3"}) {
      const std::string unit = std::string("interface[") + port + "]/class[" + number_text + "]";
      cluster.want("leaf0", unit, there());
      cluster.want("leaf0", unit + "/share", number(50));
      cluster.want("leaf0", unit + "/dscp", Value::set({number_text}));
    }
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 1U);
  std::vector<std::string> ports;
  for (const PlannedChange& change : plan.steps[0].changes) ports.emplace_back(change.path.key(0));
  EXPECT_TRUE(std::is_sorted(ports.begin(), ports.end()));
  EXPECT_EQ(ports.size(), 12U);
}

const Row& guarded_row(RowId id) {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all(kSchema.begin(), kSchema.end());
    Row& fec = all[row("interface[*]/fec")];
    fec.takes = Takes::under_guard;
    fec.guard = "interface[*]/admin=false";
    return all;
  }();
  return rows[id];
}

TEST(Plan, BracketsAGuardedChange) {
  Cluster cluster;
  cluster.add("leaf0", "leaf");
  cluster.devices["leaf0"]->set(entry("interface[swp1]/admin"), yes());
  cluster.want("leaf0", "interface[swp1]/fec", Value::text("rs"));
  const auto states = cluster.observe();
  PlanInput input = input_of(cluster.fleet(), states, cluster.origins, cluster.sources, {});
  input.row = guarded_row;
  const auto plan = make_plan(input);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan_lines(*plan),
            "step 1 leaf0 by sim wave 1 traffic\n"
            "  interface[swp1]/admin: true -> false (transient)\n"
            "  interface[swp1]/fec: (none) -> rs\n"
            "  interface[swp1]/admin: false -> true (transient)\n");
}

TEST(Plan, RecreatesWithAllThatDependsOnIt) {
  Cluster cluster;
  cluster.add("leaf0", "leaf");
  auto& device = *cluster.devices["leaf0"];
  for (const auto& [path, value] :
       std::vector<std::pair<const char*, Value>>{{"bgp", there()},
                                                  {"bgp/asn", number(65001)},
                                                  {"bgp/router-id", Value::text("1.1.1.1")},
                                                  {"bgp/neighbor[up0]", there()}}) {
    device.set(entry(path), value);
    cluster.want("leaf0", path, value);
  }
  cluster.want("leaf0", "bgp/asn", number(65002));
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_LT(place(plan, "leaf0", "bgp/neighbor[up0]"), place(plan, "leaf0", "bgp"));
  EXPECT_EQ(plan.changes(), 1U);  // all but the AS number is transient
  const auto report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_TRUE(cluster.plan().empty());
  EXPECT_TRUE(device.truth().value(entry("bgp/neighbor[up0]")));
}

Cluster live_spines() {
  Cluster cluster;
  add_live_spines(cluster, 4);
  for (const auto& [name, device] : cluster.devices) cluster.wiring.redundancy_group[name] = "spine0";
  cluster.policy = Policy{};
  cluster.policy->by_group = true;
  return cluster;
}

TEST(Plan, ChangesOneMemberOfAGroupAtATime) {
  Cluster cluster = live_spines();
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 4U);
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(plan.steps[i].after, std::vector<std::uint32_t>{i});
}

Hold only_hold(const Step& step) { return step.holds.empty() ? Hold{} : step.holds.front(); }

TEST(Plan, ReportsAnUnsupportedDrainAndItsConsequence) {
  Cluster cluster = live_spines();
  cluster.policy->by_group = false;
  cluster.policy->drains_switches = true;
  cluster.policy->on_timeout = Policy::Undrained::skip;
  for (const Step& step : cluster.plan().steps) {
    ASSERT_EQ(step.holds.size(), 1U);
    EXPECT_EQ(
        only_hold(step),
        (Hold{Hold::Kind::drain,
              "no driver supports a drain by bgp-graceful-shutdown yet: traffic is not moved away first; "
              "onTimeout: "
              "skip needs approval"}));
  }
  cluster.policy->on_timeout = Policy::Undrained::proceed;
  const Step goes_on = cluster.plan().steps.front();
  EXPECT_TRUE(goes_on.holds.empty());
  ASSERT_EQ(goes_on.notes.size(), 1U);
  EXPECT_NE(goes_on.notes[0].find("onTimeout: proceed goes on all the same"), std::string::npos);
  cluster.policy->drains_switches = false;
  cluster.policy->drains_hosts = true;
  cluster.policy->on_timeout = Policy::Undrained::skip;
  EXPECT_TRUE(cluster.plan().steps.front().holds.empty()) << "a spine is no host";
}

TEST(Plan, ADrainThatStopsTheRolloutHoldsAllLaterWaves) {
  Cluster cluster = live_spines();
  cluster.add("gpu9");
  cluster.devices["gpu9"]->set(entry("interface[rail0]/address[10.0.0.9/31]"), there());
  cluster.want("gpu9", "interface[rail0]/address[10.0.0.9/31]", there());
  cluster.want("gpu9", "interface[rail0]/mtu", number(9000));
  cluster.policy->waves = {{false, 1}, {true, 1.0}};
  cluster.policy->drains_switches = true;
  cluster.policy->on_timeout = Policy::Undrained::stop;
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.back().wave, 2U);
  for (const Step& step : plan.steps) {
    if (step.wave != 2) continue;
    EXPECT_EQ(step.holds.back().reason, "a drain of wave 1 stops the rollout");
  }
}

// The hosts wait for all switches, where an MTU grows first, even those that would come first by name.
TEST(Plan, TierThatWaitsForAnotherGetsItsOwnWaves) {
  Cluster cluster;
  for (const char* const host : {"gpu1", "gpu2", "gpu3", "gpu4"}) {
    cluster.add(host);
    cluster.devices[host]->set(entry("interface[rail0]/address[10.0.0.1/31]"), there());
    cluster.want(host, "interface[rail0]/address[10.0.0.1/31]", there());
    cluster.devices[host]->set(entry("interface[rail0]/mtu"), number(1500));
    cluster.want(host, "interface[rail0]/mtu", number(9000));
  }
  for (const char* const spine : {"spine0", "spine1"}) {
    cluster.add(spine, "spine");
    cluster.devices[spine]->set(entry("bgp/neighbor[down0]"), there());
    cluster.want(spine, "bgp/neighbor[down0]", there());
    cluster.devices[spine]->set(entry("interface[down0]/mtu"), number(1500));
    cluster.want(spine, "interface[down0]/mtu", number(9216));
    cluster.wiring.redundancy_group[spine] = "spine0";
  }
  cluster.policy = Policy{};
  cluster.policy->by_group = true;
  cluster.policy->waves = {{false, 1}, {true, 0.5}, {true, 1.0}};
  std::map<std::string, std::uint32_t> waves;
  for (const Step& step : cluster.plan().steps) waves[step.device] = step.wave;
  EXPECT_EQ(waves, (std::map<std::string, std::uint32_t>{
                       {"spine0", 1}, {"spine1", 2}, {"gpu1", 2}, {"gpu2", 3}, {"gpu3", 4}, {"gpu4", 4}}));
}

// A pair of leaf switches, each with an unconfigured port to one host: nothing in the trees of the leaf
// switches shows that the ports carry traffic.
Cluster leaves_of_a_host() {
  Cluster cluster;
  cluster.add("gpu1");
  for (const std::string n : {"0", "1"}) {
    const std::string name = "leaf" + n;
    cluster.add(name, "leaf");
    cluster.devices[name]->set(entry("bgp/neighbor[up0]"), there());
    cluster.want(name, "bgp/neighbor[up0]", there());
    cluster.want(name, "interface[swp1]/mtu", number(9216));
    cluster.cable("gpu1", "rail" + n, name, "swp1");
    cluster.wiring.redundancy_group[name] = "leaf0";
    cluster.want("gpu1", "interface[rail" + n + "]/address[10.0." + n + ".1/31]", there());
  }
  cluster.wiring.index();
  cluster.policy = Policy{};
  cluster.policy->by_group = true;
  return cluster;
}

TEST(Plan, TreatsAPortAsLiveWhenTheHostUsesIt) {
  Cluster cluster = leaves_of_a_host();
  cluster.devices["gpu1"]->set(entry("interface[rail0]/address[10.0.0.1/31]"), there());
  cluster.devices["gpu1"]->set(entry("interface[rail1]/address[10.0.1.1/31]"), there());
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_TRUE(plan.steps[0].live);
  EXPECT_TRUE(plan.steps[1].live);
  EXPECT_EQ(plan.steps[1].after, std::vector<std::uint32_t>{1});
}

TEST(Plan, TreatsAPortAsLiveWhenTheHostIsUnreadable) {
  Cluster cluster = leaves_of_a_host();
  cluster.devices["gpu1"]->unreachable = true;
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[1].after, std::vector<std::uint32_t>{1});
}

// As when healing, or with --only.
TEST(Plan, TreatsAPortAsLiveWhenTheHostWasNotObserved) {
  Cluster cluster = leaves_of_a_host();
  ObserveRound round(cluster.fleet(), cluster.executor, {.only = {1, 2}});
  const std::vector<DeviceState> states = pump(cluster.executor, round);
  const auto plan =
      make_plan(input_of(cluster.fleet(), states, cluster.origins, cluster.sources, cluster.policies()));
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->steps.size(), 2U);
  EXPECT_EQ(plan->steps[1].after, std::vector<std::uint32_t>{1});
}

TEST(Plan, ChangesUnusedPortsAtOnce) {
  const Plan plan = leaves_of_a_host().plan();
  std::size_t leaves = 0;
  for (const Step& step : plan.steps) {
    leaves += step.device != "gpu1";
    EXPECT_FALSE(step.live);
    EXPECT_TRUE(step.device == "gpu1" || step.after.empty());
  }
  EXPECT_EQ(leaves, 2U);
}

TEST(Plan, AppliesTheBudgetToASwitchWhosePortsHostsUse) {
  Cluster cluster;
  cluster.add("gpu1");
  for (const std::string n : {"0", "1"}) {
    const std::string rail = "interface[rail" + n + "]/address[10.0." + n + ".1/31]";
    cluster.add("leaf" + n, "leaf");
    cluster.want("leaf" + n, "bgp/max-paths", number(64));
    cluster.cable("gpu1", "rail" + n, "leaf" + n, "swp1");
    cluster.wiring.redundancy_group["leaf" + n] = "leaf0";
    cluster.want("gpu1", rail, there());
    cluster.devices["gpu1"]->set(entry(rail), there());
  }
  cluster.wiring.index();
  cluster.policy = Policy{};
  cluster.policy->by_group = true;
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[1].after, std::vector<std::uint32_t>{1});
}

TEST(Plan, BeginsWithOneDeviceThenAShareThenAll) {
  Cluster cluster = live_spines();
  cluster.policy->by_group = false;
  cluster.policy->waves = {{false, 1}, {true, 0.5}, {true, 1.0}};
  std::vector<std::uint32_t> waves;
  for (const Step& step : cluster.plan().steps) waves.push_back(step.wave);
  EXPECT_EQ(waves, (std::vector<std::uint32_t>{1, 2, 3, 3}));
}

TEST(Plan, BringsUpIdleDevicesInOneWave) {
  Cluster cluster = bare_host();
  cluster.policy = Policy{};
  cluster.policy->waves = {{false, 1}, {true, 1.0}};
  cluster.policy->min_capacity["host"] = 1.0;
  const Plan plan = cluster.plan();
  EXPECT_EQ(plan.waves(), 1U);
  EXPECT_FALSE(plan.steps[0].live);
}

// The classes at both ends change together, and what leaf0 waits for through gpu1 could push them to later
// waves forever.
TEST(Plan, NoStepIsInAnEarlierWaveThanItsPredecessors) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.add("leaf0", "leaf");
  cluster.cable("gpu1", "p0", "leaf0", "p0");
  for (const char* name : {"gpu1", "leaf0"}) {
    cluster.want(name, "interface[p0]/address[10.0.0.1/31]", there());
    cluster.want(name, "interface[p0]/admin", yes());
    cluster.want(name, "interface[p0]/class[1]", there());
    cluster.want(name, "interface[p0]/class[1]/dscp", Value::set({"26"}));
    cluster.want(name, "interface[p0]/class[1]/share", number(40));
  }
  cluster.devices["gpu1"]->set(entry("interface[p0]/address[10.0.0.1/31]"), there());
  cluster.devices["gpu1"]->set(entry("interface[p0]/admin"), Value::boolean(false));
  cluster.devices["gpu1"]->set(entry("interface[p0]/mtu"), number(1500));
  cluster.claim("gpu1", row("interface[*]/mtu"));
  cluster.devices["leaf0"]->set(entry("interface[p0]/admin"), yes());
  cluster.devices["leaf0"]->set(entry("interface[p0]/mtu"), number(9000));
  cluster.want("leaf0", "interface[p0]/mtu", number(1500));
  cluster.devices["leaf0"]->set(entry("bgp/neighbor[p0]"), there());
  cluster.claim("leaf0", row("bgp/neighbor[*]"));
  cluster.devices["leaf0"]->set(entry("interface[p0]/address[10.0.0.3/31]"), there());
  cluster.want("leaf0", "interface[p0]/address[10.0.0.3/31]", there());
  cluster.policy = Policy{};
  cluster.policy->waves = {{false, 1}, {true, 1.0}};
  const Plan plan = cluster.plan();
  for (const Step& step : plan.steps)
    for (const std::uint32_t before : steps_before(plan, step))
      EXPECT_LE(plan.steps[before - 1].wave, step.wave) << plan_lines(plan);
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept) << plan_lines(plan);
}

TEST(Plan, KeepsMinCapacityAndHoldsNonRedundantDevices) {
  Cluster cluster = live_spines();
  cluster.policy->by_group = false;
  cluster.policy->min_capacity["spine"] = 0.5;
  cluster.wiring.capacity_left = [](const Outage& outage) {
    return 1.0 - static_cast<double>(outage.devices.size()) / 4.0;
  };
  const Plan plan = cluster.plan();
  EXPECT_TRUE(plan.steps[0].after.empty());
  EXPECT_TRUE(plan.steps[1].after.empty());
  EXPECT_EQ(plan.steps[2].after, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(plan.steps[3].after, (std::vector<std::uint32_t>{1, 2}));

  Cluster single = live_spines();
  single.policy->min_capacity["spine"] = 0.5;
  single.wiring.capacity_left = [](const Outage& outage) { return outage.devices.empty() ? 1.0 : 0.0; };
  const Plan held = single.plan();
  ASSERT_EQ(held.steps[0].holds.size(), 1U);
  EXPECT_EQ(held.steps[0].holds[0].kind, Hold::Kind::budget);
}

TEST(Plan, HoldsACutOfTheLastPathWithoutAutomaticRollback) {
  for (const bool undoes : {false, true}) {
    Cluster cluster = bare_host();
    cluster.devices["gpu1"]->undoes_itself = undoes;
    cluster.wiring.management_ports["gpu1"] = {"rail0"};
    const Plan plan = cluster.plan();
    ASSERT_FALSE(plan.empty());
    if (undoes) {
      EXPECT_TRUE(plan.steps[0].holds.empty());
      EXPECT_TRUE(plan.steps[0].undo_after);
    } else {
      ASSERT_EQ(plan.steps[0].holds.size(), 1U);
      EXPECT_EQ(plan.steps[0].holds[0].kind, Hold::Kind::management);
    }
  }
}

TEST(Plan, RefusesToDeleteMoreThanMaxDelete) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.claim("gpu1", row("vlan[*]"));
  cluster.policy = Policy{};
  cluster.policy->max_delete = 0.2;
  for (int v = 1; v <= 3; ++v)
    cluster.devices["gpu1"]->set(Path(row("vlan[*]"), {std::to_string(v)}), there());
  cluster.want("gpu1", "vlan[1]", there());
  const Plan plan = cluster.plan();
  EXPECT_EQ(plan.refusals.size(), 1U);
  EXPECT_EQ(cluster.apply_plan(plan).count(StepState::held), plan.steps.size());
  EXPECT_TRUE(cluster.devices["gpu1"]->truth().value(entry("vlan[2]")));
}

TEST(Plan, SkipsDevicesInObserveMode) {
  Cluster cluster = bare_host();
  cluster.intents["gpu1"]->apply_allowed = false;
  EXPECT_TRUE(cluster.plan().empty());
}

TEST(Plan, SurvivesJsonAndRefusesAnEditedFile) {
  Cluster cluster = bare_host();
  cluster.want("gpu1", "interface[rail0]/pfc", Value::set({"3", "4"}));
  cluster.origins.add({{0, 9, 8}, "Fabric/backend", "mtu"});
  const Plan plan = cluster.plan();
  nlohmann::json json = to_json(plan);
  EXPECT_EQ(json["kind"], "Plan");
  EXPECT_EQ(json["summary"]["byDisruption"]["traffic"], 5);
  const auto back = plan_from_json(nlohmann::json::parse(json.dump()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->steps, plan.steps);
  EXPECT_EQ(back->devices, plan.devices);
  json["steps"][0]["changes"][0]["want"] = 1;
  EXPECT_FALSE(plan_from_json(json));
  json["steps"] = 7;
  EXPECT_FALSE(plan_from_json(json));
}

TEST(Plan, RefusesStaleSteps) {
  Cluster cluster = bare_host();
  const Plan plan = cluster.plan();
  EXPECT_TRUE(moved_ground(plan, cluster.fleet(), cluster.observe()).empty());
  cluster.devices["gpu1"]->set(entry("interface[rail0]/mtu"), number(1400));
  const auto moved = moved_ground(plan, cluster.fleet(), cluster.observe());
  EXPECT_EQ(moved.size(), plan.steps.size());
  EXPECT_TRUE(without(plan, moved).empty());
}

}  // namespace
}  // namespace lockstep
