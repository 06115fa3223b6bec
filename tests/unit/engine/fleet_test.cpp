#include "reconciler/engine/fleet.hpp"

#include "cluster.hpp"
#include "tests/passing_driver.hpp"

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

// Counts the calls of traits() and refuses the first `refusals` of them.
class Counted final : public PassingDriver {
 public:
  Counted(std::unique_ptr<Driver> driver, int refusals)
      : PassingDriver(std::move(driver)), refusals_(refusals) {}
  Result<Traits> traits(const Call& call) override {
    if (++asked > refusals_) return PassingDriver::traits(call);
    return Error{ErrorKind::transient, "gpu1: no route to the device"};
  }
  int asked = 0;

 private:
  const int refusals_;
};

// Records the scope of each observation.
class Listening final : public PassingDriver {
 public:
  using PassingDriver::PassingDriver;
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    scopes.push_back(scope);
    return PassingDriver::observe(scope, if_not, call);
  }
  std::vector<Scope> scopes;
};

Counted& count_traits(Cluster& cluster, int refusals = 0) {
  auto counted = std::make_unique<Counted>(std::move(cluster.attached(0).driver), refusals);
  Counted& out = *counted;
  cluster.attached(0).driver = std::move(counted);
  return out;
}

// A second driver of gpu1, which supports these rows.
struct Second {
  Second(Cluster& cluster, std::vector<RowId> rows) {
    auto simulated = std::make_unique<SimulatedDevice>("gpu1", 7);
    device = simulated.get();
    device->driver_name = "sonic";
    device->rows = std::move(rows);
    attached.driver = std::move(simulated);
    cluster.list()[0].drivers.push_back(&attached);
  }
  SimulatedDevice* device;
  Attached attached;
};

TEST(Fleet, ReadsDriverTraitsOnceAtTheFirstObservation) {
  Cluster cluster = host();
  const Counted& driver = count_traits(cluster);
  cluster.fleet();
  EXPECT_EQ(driver.asked, 0);
  EXPECT_TRUE(cluster.observe()[0].complete());
  EXPECT_TRUE(cluster.observe()[0].complete());
  EXPECT_EQ(driver.asked, 1);
}

TEST(Fleet, DeviceWithUnknownTraitsIsUnreadAndObservedAgain) {
  Cluster cluster = host();
  cluster.devices["gpu1"]->rows = {row("interface[*]/mtu")};
  const Counted& driver = count_traits(cluster, 2);  // as many times as one observation tries
  const DeviceState unknown = cluster.observe()[0];
  EXPECT_EQ(driver.asked, 2);
  EXPECT_FALSE(unknown.reachable);
  ASSERT_EQ(unknown.errors.size(), 1U);
  EXPECT_EQ(unknown.errors[0].what, "gpu1: no route to the device");
  EXPECT_TRUE(unknown.difference.changes.empty());
  EXPECT_TRUE(unknown.not_applied.empty()) << "whether a driver carries it is not known";
  EXPECT_EQ(unknown.difference.unobserved.size(), 3U);
  const DeviceState known = cluster.observe()[0];
  EXPECT_EQ(driver.asked, 3);
  EXPECT_TRUE(known.complete());
  EXPECT_EQ(known.not_applied.size(), 2U);
}

TEST(Fleet, ComparesTheRowsOfTheDriversThatAreKnown) {
  Cluster cluster = host();
  cluster.devices["gpu1"]->rows = {row("interface[*]/mtu")};
  const Second second(cluster, {row("rule[*]")});
  second.device->unreachable = true;
  const DeviceState state = cluster.observe()[0];
  EXPECT_TRUE(state.reachable);
  EXPECT_FALSE(state.complete());
  ASSERT_EQ(state.difference.changes.size(), 1U);
  EXPECT_EQ(state.difference.changes[0].path, entry("interface[rail0]/mtu"));
  EXPECT_EQ(state.difference.unobserved.size(), 2U);
  EXPECT_TRUE(state.not_applied.empty());
}

TEST(Fleet, TwoDriversForOneRowAreAnErrorOfTheDevice) {
  Cluster cluster = host();
  cluster.devices["gpu1"]->rows = {row("interface[*]/mtu"), row("rule[*]")};
  cluster.devices["gpu1"]->driver_name = "linux";
  const Second second(cluster, {row("rule[*]"), row("interface[*]/admin")});
  second.device->set(entry("rule[100]"), Value::text("of another"));
  const DeviceState state = cluster.observe()[0];
  ASSERT_EQ(state.errors.size(), 1U);
  EXPECT_EQ(state.errors[0].what, "gpu1: drivers 'linux' and 'sonic' both claim 'rule[*]'");
  EXPECT_FALSE(state.complete());
  EXPECT_EQ(state.observation.have.value(entry("rule[100]")), Value{}) << "the first in the list reads it";
  ASSERT_EQ(state.difference.unobserved.size(), 1U);
  EXPECT_EQ(state.difference.unobserved[0].path, entry("interface[rail0]/admin"));
}

// As in a process that applies a plan made by another process.
TEST(Fleet, StepReadsTheTraitsOfAnUnknownDriver) {
  Cluster planned = host();
  const Plan plan = planned.plan();
  Cluster cluster = host();
  const Counted& driver = count_traits(cluster, 2);
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(driver.asked, 3);
  EXPECT_EQ(cluster.devices["gpu1"]->truth().value(entry("interface[rail0]/mtu")), number(9000));
}

TEST(Fleet, StepOfAMissingDriverFails) {
  Cluster planned = host();
  planned.devices["gpu1"]->driver_name = "sonic";
  const Plan plan = planned.plan();
  Cluster cluster = host();
  const ApplyReport report = cluster.apply_plan(plan);
  ASSERT_FALSE(report.steps.empty());
  EXPECT_EQ(report.steps[0].state, StepState::failed);
  EXPECT_EQ(report.steps[0].why, "no driver 'sonic' is attached to gpu1");
}

TEST(Fleet, UnsupportedEntryIsNotAppliedAndIsNoDrift) {
  Cluster cluster = host();
  cluster.devices["gpu1"]->rows = {row("interface[*]/mtu"), row("interface[*]/pfc")};
  cluster.devices["gpu1"]->incapable = {{row("interface[*]/pfc"), {"rail0"}, "veth has no DCB"}};
  cluster.want("gpu1", "interface[rail0]/pfc", Value::set({"3"}));
  const auto states = cluster.observe();
  ASSERT_EQ(states[0].difference.changes.size(), 1U);
  EXPECT_EQ(states[0].not_applied.size(), 3U);
  const auto found =
      std::find_if(states[0].not_applied.begin(), states[0].not_applied.end(),
                   [](const NotApplied& one) { return one.path == entry("interface[rail0]/pfc"); });
  ASSERT_NE(found, states[0].not_applied.end());
  EXPECT_EQ(found->reason, "veth has no DCB");
  EXPECT_FALSE(found->by_hand);
}

TEST(Fleet, ObservationScopeNamesTheObjectsOfTheIntent) {
  Cluster cluster = host();
  auto listening = std::make_unique<Listening>(std::move(cluster.attached(0).driver));
  const Listening& driver = *listening;
  cluster.attached(0).driver = std::move(listening);
  const Path port = entry("interface[rail0]");
  cluster.observe();
  EXPECT_EQ(driver.scopes.back().named, std::vector<Path>{port});
  cluster.want("gpu1", "service[lldpd]", Value::text("running"));
  const Plan plan = cluster.plan();
  const std::vector<Path> both{entry("service[lldpd]"), port};
  EXPECT_EQ(driver.scopes.back().named, both);
  EXPECT_TRUE(driver.scopes.back().rows.empty());
  cluster.intents["gpu1"]->want.erase(entry("service[lldpd]"));
  cluster.apply_plan(plan);
  const auto step = std::ranges::find_if(driver.scopes, [](const Scope& one) { return !one.rows.empty(); });
  ASSERT_NE(step, driver.scopes.end());
  EXPECT_EQ(step->named, (std::vector<Path>{port, entry("service[lldpd]")}))
      << "a step looks for what it writes";
}

TEST(Fleet, EntriesOfAMissingPortRequireManualAction) {
  Cluster cluster = host();
  cluster.want("gpu1", "route[main:10.0.0.0/8]", Value::set({"via 10.64.0.0 dev rail7"}));
  cluster.want("gpu1", "sysctl[net.ipv4.conf.rail7.rp_filter]", Value::text("2"));
  cluster.want("gpu1", "route[main:10.1.0.0/16]", Value::set({"via 10.64.0.0 dev rail0"}));
  cluster.devices["gpu1"]->incapable = {
      {row("interface[*]"), {"rail7"}, "no interface is called rail7", true},
      {row("sysctl[*]"), {"net.ipv4.conf.rail7.rp_filter"}, "has no such parameter"}};
  const DeviceState state = cluster.observe()[0];
  ASSERT_EQ(state.not_applied.size(), 2U);
  for (const NotApplied& one : state.not_applied) {
    EXPECT_EQ(one.reason, "no interface is called rail7") << one.path.text();
    EXPECT_TRUE(one.by_hand);
  }
  EXPECT_EQ(state.difference.changes.size(), 4U);
}

TEST(Fleet, ManualActionIsDriftWithoutAStep) {
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
  EXPECT_EQ(found->path, entry("interface[rail7]/mtu"));
  EXPECT_EQ(found->state, DriftState::not_applied);
  EXPECT_TRUE(found->by_hand);
}

// Findings and allowed exceptions are reported, and neither is a difference. An exception that has ended
// allows nothing.
TEST(Fleet, FindingsAndExceptionsAreReportedAndAreNoDrift) {
  Cluster cluster = host();
  ASSERT_EQ(cluster.converge().exit_code(), 0);
  const Path filters = entry("diverted[10.64.0.0/16]/filters");
  const Path sent = entry("diverted[10.64.0.0/16]/sent");
  cluster.want("gpu1", filters.text(), Value::set({"a"}));
  cluster.want("gpu1", sent.text(), Value::set({"r"}));
  cluster.intents["gpu1"]->allowed = std::make_shared<const std::vector<Allowed>>(
      std::vector<Allowed>{{filters, "a", "until 2026-12-01: an audit", 0, false},
                           {sent, "r", "until 2026-12-01: a capture", 0, false},
                           {sent, "gone", "until 2026-12-01: nothing", 0, false},
                           {sent, "old", "until 2026-01-01: a trial", 0, true}});
  cluster.devices["gpu1"]->set(filters, Value::set({"a", "b"}));
  cluster.devices["gpu1"]->set(sent, Value::set({"r"}));
  const DriftReport report = cluster.report();
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(report.in_sync, 1U);
  EXPECT_EQ(report.differences(), 0U);
  EXPECT_TRUE(cluster.plan().empty());
  ASSERT_EQ(report.count(DriftState::finding), 1U);
  const auto finding = std::ranges::find(report.items, DriftState::finding, &DriftEntry::state);
  EXPECT_EQ(finding->have, Value::set({"b"}));
  ASSERT_EQ(report.count(DriftState::allowed), 2U);
  const auto allowed = std::ranges::find(report.items, DriftState::allowed, &DriftEntry::state);
  EXPECT_EQ(allowed->have, Value::set({"a"}));
  EXPECT_EQ(allowed->reason, "until 2026-12-01: an audit");

  cluster.devices["gpu1"]->set(sent, Value::set({"old", "r"}));
  const DriftReport later = cluster.report();
  EXPECT_EQ(later.exit_code(), 2);
  EXPECT_EQ(later.count(DriftState::effect), 1U);
  ASSERT_EQ(later.count(DriftState::allowed), 3U);
  EXPECT_NE(later.items.back().reason.find("has ended"), std::string::npos) << later.items.back().reason;
}

// The only difference may be an entry that could not be read.
TEST(Fleet, IncompleteReadIsNotInSync) {
  Cluster cluster = host();
  ASSERT_EQ(cluster.converge().exit_code(), 0);
  std::vector<DeviceState> states = cluster.observe();
  const auto in_sync = [&] {
    return drift_report(cluster.fleet(), states, cluster.origins, cluster.sources).in_sync;
  };
  ASSERT_EQ(in_sync(), 1U);
  states[0].claims_unread = true;
  EXPECT_EQ(in_sync(), 0U);
  states[0].claims_unread = false;
  states[0].difference.unobserved.push_back({entry("interface[rail0]/mtu"), 0, number(9000)});
  EXPECT_EQ(in_sync(), 0U);
}

TEST(DriftReports, DoNotListClaimedEntriesAsUnmanaged) {
  Cluster cluster;
  SimulatedDevice& leaf0 = cluster.add("leaf0", "leaf");
  cluster.claim("leaf0", row("bgp/neighbor[*]"));
  for (const char* const path : {"bgp/neighbor[up0]", "bgp/neighbor[up1]"}) leaf0.set(entry(path), there());
  leaf0.set(entry("bgp/max-paths"), number(64));
  const DriftReport report = drift_report(cluster.fleet(), cluster.observe(), cluster.origins,
                                          cluster.sources, ReportChoice{.unmanaged = true});
  EXPECT_EQ(report.items.size(), 3U);
  EXPECT_EQ(report.count(DriftState::unmanaged), 1U);
}

}  // namespace
}  // namespace lockstep
