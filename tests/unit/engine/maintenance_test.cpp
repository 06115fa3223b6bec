// A device in maintenance: reported separately, no alert, counted as out of service, and not healed
// automatically.
#include "cluster.hpp"
#include "reconciler/engine/watch.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

constexpr const char* kRailMtu = "interface[rail0]/mtu";
constexpr const char* kUntil = "until 2026-12-01: optics";

// Two hosts whose MTU differs; gpu2 is in maintenance.
struct Hosts {
  Hosts() {
    for (const char* const name : {"gpu1", "gpu2"}) {
      cluster.add(name);
      cluster.devices[name]->set(entry(kRailMtu), number(1500));
      cluster.want(name, kRailMtu, number(9000));
    }
    cluster.list()[1].maintenance = kUntil;
  }
  void heal(const std::string& name) { cluster.devices[name]->set(entry(kRailMtu), number(9000)); }
  Cluster cluster;
};

TEST(Maintenance, DifferenceIsReportedSeparatelyAndIsNoDrift) {
  Hosts hosts;
  hosts.heal("gpu1");
  const DriftReport report = hosts.cluster.report();
  ASSERT_EQ(report.items.size(), 1U);
  EXPECT_EQ(report.items[0].device, "gpu2");
  EXPECT_EQ(report.items[0].maintenance, kUntil);
  EXPECT_TRUE(report.items[0].differs());
  EXPECT_FALSE(report.items[0].is_difference());
  EXPECT_EQ(report.differences(), 0U);
  EXPECT_EQ(report.drifted, 0U);
  EXPECT_EQ(report.in_sync, 1U) << "it is not called in sync either";
  EXPECT_EQ(report.in_maintenance, 1U);
  EXPECT_EQ(report.exit_code(), 0);
}

TEST(Maintenance, DriftOfOtherDevicesIsDrift) {
  Hosts hosts;
  const DriftReport report = hosts.cluster.report();
  EXPECT_EQ(report.drifted, 1U);
  EXPECT_EQ(report.exit_code(), 2);
}

TEST(Maintenance, UnreachableDeviceIsExpected) {
  Hosts hosts;
  hosts.heal("gpu1");
  hosts.cluster.devices["gpu2"]->unreachable = true;
  const DriftReport report = hosts.cluster.report();
  EXPECT_EQ(report.observed, 1U);
  ASSERT_EQ(report.unobserved.size(), 1U) << "it is told";
  EXPECT_EQ(report.unobserved[0].maintenance, kUntil);
  EXPECT_EQ(report.exit_code(), 0);
  hosts.cluster.devices["gpu1"]->unreachable = true;
  EXPECT_EQ(hosts.cluster.report().exit_code(), 3);
}

TEST(Maintenance, InteractiveApplyIncludesItWithANote) {
  Hosts hosts;
  const Plan plan = hosts.cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U);
  for (const Step& step : plan.steps)
    EXPECT_EQ(step.notes, step.device == "gpu2"
                              ? std::vector<std::string>{"in maintenance until 2026-12-01: optics"}
                              : std::vector<std::string>{});
  EXPECT_EQ(hosts.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(hosts.cluster.devices["gpu2"]->truth().value(entry(kRailMtu)), number(9000));
}

TEST(Maintenance, IsNotHealedAutomatically) {
  Hosts hosts;
  PlanChoice unasked;
  unasked.person = false;
  EXPECT_TRUE(unasked.allows(hosts.cluster.fleet()[0]));
  EXPECT_FALSE(unasked.allows(hosts.cluster.fleet()[1]));
}

// leaf0 reaches a prefix over both spine switches. spine1 is in maintenance and down.
struct Neighbour {
  Neighbour() {
    for (const char* const name : {"leaf0", "spine0", "spine1"})
      cluster.add(name, std::string(name).starts_with("leaf") ? "leaf" : "spine");
    cluster.cable("leaf0", "up0", "spine0", "down0");
    cluster.cable("leaf0", "up1", "spine1", "down0");
    cluster.list()[2].maintenance = kUntil;
    for (const auto& [path, want, have] : std::vector<std::tuple<const char*, Value, Value>>{
             {"interface[up1]/carrier", yes(), no()},
             {"bgp/neighbor[up1]/session", Value::text("established"), Value::text("idle")},
             {"fib[10.0.0.0/8]", Value::set({"up0", "up1"}), Value::set({"up0"})},
             {"fib[10.0.0.0/8]/paths", number(2), number(1)}}) {
      cluster.want("leaf0", path, want);
      cluster.devices["leaf0"]->set(entry(path), have);
    }
    cluster.devices["spine1"]->unreachable = true;
  }
  Cluster cluster;
};

TEST(Maintenance, ExplainsMissingEffectsOfNeighbours) {
  Neighbour pod;
  const DriftReport report = pod.cluster.report();
  EXPECT_EQ(report.items.size(), 4U);
  for (const DriftEntry& item : report.items)
    EXPECT_EQ(item.maintenance, std::string("of spine1, ") + kUntil) << item.path.text();
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(report.in_sync, 1U) << "spine0";
  pod.cluster.devices["leaf0"]->set(entry("fib[10.0.0.0/8]"), Value{});
  const DriftReport lost = pod.cluster.report();
  EXPECT_EQ(lost.differences(), 2U) << "the route over spine0 is gone, too";
  EXPECT_EQ(lost.exit_code(), 2);
}

class Cures final : public Remedy {
 public:
  std::optional<Offer> offer(const Change& effect) const override {
    return Offer{"reinstall", effect.path.text(), Disruption::none, 1, std::chrono::seconds(60)};
  }
  Result<Done> cure(const ChangeSet&, const Call&) override { return Done{}; }
};

TEST(Maintenance, NoRemedyForEffectsThatItExplains) {
  Neighbour pod;
  Cures cures;
  pod.cluster.attached(0).remedy = &cures;
  EXPECT_TRUE(pod.cluster.plan().empty());
  pod.cluster.devices["leaf0"]->set(entry("fib[10.0.0.0/8]"), Value{});
  EXPECT_FALSE(pod.cluster.plan().empty()) << "it lacks the way over spine0, too";
}

TEST(Maintenance, ApplyToOthersDoesNotWaitForItsEffects) {
  Neighbour pod;
  pod.cluster.want("leaf0", "sysctl[vm.swappiness]", Value::text("1"));
  EXPECT_EQ(pod.cluster.converge().verdict, ApplyVerdict::kept);
}

// The events of a watch, by device, once it has reported events of `devices` devices.
std::map<std::string, WatchEvent> told_by_watch(Hosts& hosts, std::size_t devices) {
  std::map<std::string, WatchEvent> told;
  Watch watch(hosts.cluster.fleet(), hosts.cluster.executor, hosts.cluster.origins, hosts.cluster.sources, {},
              [&told](const WatchEvent& event) { told.insert_or_assign(event.item.device, event); });
  bool ended = false;
  watch.start([&ended](const Result<Done>&) { ended = true; });
  while (told.size() < devices && hosts.cluster.executor.step()) {
  }
  watch.stop();
  while (!ended && hosts.cluster.executor.step()) {
  }
  return told;
}

TEST(Maintenance, WatchMarksItsEvents) {
  Hosts hosts;
  const std::map<std::string, WatchEvent> told = told_by_watch(hosts, 2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told.at("gpu1").item.maintenance, "");
  EXPECT_EQ(told.at("gpu2").item.maintenance, kUntil);
}

TEST(Maintenance, WatchMarksItAsUnreadableInMaintenance) {
  Hosts hosts;
  hosts.heal("gpu1");
  hosts.cluster.devices["gpu2"]->unreachable = true;
  const std::map<std::string, WatchEvent> told = told_by_watch(hosts, 1);
  ASSERT_TRUE(told.contains("gpu2"));
  EXPECT_EQ(told.at("gpu2").kind, WatchEvent::Kind::unreadable);
  EXPECT_EQ(told.at("gpu2").item.maintenance, kUntil);
}

}  // namespace
}  // namespace lockstep
