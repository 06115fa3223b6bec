#include "reconciler/engine/fleet.hpp"

#include <nlohmann/json.hpp>

#include "cluster.hpp"

namespace lockstep {
namespace {

Cluster host() {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.want("gpu1", "interface[rail0]/admin", yes());
  cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
  cluster.want("gpu1", "rule[100]", Value::text("from 10.0.0.1 lookup 100"));
  return cluster;
}

TEST(Fleet, TwoDriversThatClaimOneRowFailAtStart) {
  Traits a{.driver = "linux", .reads = {row("interface[*]/mtu")}, .writes = {}, .incapable = {}};
  Traits b{.driver = "sonic", .reads = {row("interface[*]/mtu")}, .writes = {}, .incapable = {}};
  const auto carriers = Carriers::of("leaf0", {a, b});
  ASSERT_FALSE(carriers);
  EXPECT_NE(carriers.error().what.find("linux"), std::string::npos);
  EXPECT_NE(carriers.error().what.find("sonic"), std::string::npos);
}

TEST(Fleet, WhatNoDriverCarriesIsNotAppliedAndNotDrift) {
  Cluster cluster = host();
  cluster.devices["gpu1"]->rows = {row("interface[*]/mtu"), row("interface[*]/pfc")};
  cluster.devices["gpu1"]->incapable = {{row("interface[*]/pfc"), {"rail0"}, "veth has no DCB"}};
  cluster.want("gpu1", "interface[rail0]/pfc", Value::set({"3"}));
  const auto states = cluster.look();
  ASSERT_EQ(states[0].difference.changes.size(), 1U);
  EXPECT_EQ(states[0].not_applied.size(), 3U);
  const auto found =
      std::find_if(states[0].not_applied.begin(), states[0].not_applied.end(),
                   [](const NotApplied& one) { return one.path == leaf("interface[rail0]/pfc"); });
  ASSERT_NE(found, states[0].not_applied.end());
  EXPECT_EQ(found->reason, "veth has no DCB");
  EXPECT_FALSE(found->by_hand);
}

TEST(Fleet, WhatAPersonHasToSeeToIsNoStepAndDiffersAllTheSame) {
  Cluster cluster = host();
  cluster.devices["gpu1"]->incapable = {
      {row("interface[*]/mtu"), {"rail7"}, "no interface is called rail7", true},
      {row("interface[*]/pfc"), {"rail0"}, "veth has no DCB"}};
  ASSERT_EQ(cluster.converge().exit_code(), 0);
  EXPECT_EQ(cluster.report().exit_code(), 0);
  cluster.want("gpu1", "interface[rail0]/pfc", Value::set({"3"}));
  EXPECT_EQ(cluster.report().exit_code(), 0) << "what the device lacks is no difference";
  cluster.want("gpu1", "interface[rail7]/mtu", number(9000));
  EXPECT_TRUE(cluster.plan().empty());
  const DriftReport report = cluster.report();
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_EQ(report.drifted, 1U);
  EXPECT_EQ(report.in_sync, 0U);
  EXPECT_EQ(report.differences(), 1U);
  const auto found = std::ranges::find_if(report.items, &DriftEntry::is_difference);
  ASSERT_NE(found, report.items.end());
  EXPECT_EQ(found->path, leaf("interface[rail7]/mtu"));
  EXPECT_EQ(found->state, DriftState::not_applied);
  EXPECT_NE(to_json(report)["items"].dump().find("\"byHand\":true"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
