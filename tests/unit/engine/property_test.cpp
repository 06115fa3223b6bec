#include <rapidcheck.h>

#include <algorithm>

#include "cluster.hpp"
#include "reconciler/engine/step_order.hpp"
#include "tests/plan_lines.hpp"
#include "tests/told_gate.hpp"

namespace lockstep {
namespace {

// Entries of many rows with references, commit units, rungs and recreation among them.
const std::vector<std::pair<std::string, std::vector<Value>>>& entries() {
  static const std::vector<std::pair<std::string, std::vector<Value>>> all{
      {"interface[p0]/mtu", {number(1500), number(9000)}},
      {"interface[p1]/mtu", {number(1500), number(9000)}},
      {"interface[p0]/address[10.0.0.1/31]", {there()}},
      {"interface[p0]/admin", {yes(), no()}},
      {"interface[p0]/pfc", {Value::set({"3"}), Value::set({"3", "4"})}},
      {"interface[p0]/class[1]", {there()}},
      {"interface[p0]/class[1]/share", {number(40), number(60)}},
      {"interface[p0]/class[1]/dscp", {Value::set({"26"})}},
      {"bgp", {there()}},
      {"bgp/asn", {number(65001), number(65002)}},
      {"bgp/router-id", {Value::text("1.1.1.1")}},
      {"bgp/neighbor[p0]", {there()}},
      {"bgp/neighbor[p0]/hold", {number(9), number(30)}},
      {"vrf[blue]", {there()}},
      {"interface[p1]/vrf", {Value::text("blue")}},
      {"rule[100]", {Value::text("from all lookup 100")}},
  };
  return all;
}

void claim_all(Cluster& cluster, const std::string& name) {
  for (std::size_t r = 0; r < kSchema.size(); ++r)
    if (kSchema[r].collection) cluster.claim(name, static_cast<RowId>(r));
}

// A random state: each entry absent or one of its values. Parts of an absent object are absent.
Tree random_tree() {
  Tree tree;
  for (const auto& [path, values] : entries()) {
    const auto choice = *rc::gen::inRange<std::size_t>(0, values.size() + 1);
    if (choice < values.size()) tree.set(entry(path), values[choice]);
  }
  const auto drop_parts = [&tree](const std::string& whole) {
    if (tree.value(entry(whole))) return;
    for (const auto& [path, values] : entries())
      if (path.size() > whole.size() && path.starts_with(whole + "/")) tree.erase(entry(path));
  };
  for (const char* whole : {"bgp", "bgp/neighbor[p0]", "interface[p0]/class[1]"}) drop_parts(whole);
  return tree;
}

void fill(SimulatedDevice& device, const Tree& tree) {
  for (const Entry& one : tree.entries()) device.set(one.path, one.value);
}

bool holds(const Tree& truth, const Tree& want) {
  return std::all_of(want.entries().begin(), want.entries().end(),
                     [&truth](const Entry& one) { return truth.value(one.path) == one.value; });
}

// Two devices on one cable, each with a random actual and a random desired state.
std::map<std::string, Tree> any_two(Cluster& cluster) {
  std::map<std::string, Tree> wants;
  for (const auto& [name, role] : {std::pair{"gpu1", "host"}, std::pair{"leaf0", "leaf"}}) {
    auto& device = cluster.add(name, role);
    fill(device, random_tree());
    wants[name] = random_tree();
    for (const Entry& one : wants[name].entries()) cluster.want(name, one.path.text(), one.value);
    claim_all(cluster, name);
  }
  cluster.cable("gpu1", "p0", "leaf0", "p0");
  return wants;
}

std::map<std::string, std::string> truths(const Cluster& cluster) {
  std::map<std::string, std::string> out;
  for (const auto& [name, device] : cluster.devices) out[name] = device->truth().to_string();
  return out;
}

TEST(Properties, ApplyReachesTheDesiredStateAndASecondPlanIsEmpty) {
  EXPECT_TRUE(rc::check([] {
    Cluster cluster(*rc::gen::inRange<std::uint64_t>(1, 1000));
    const std::map<std::string, Tree> wants = any_two(cluster);
    const Plan plan = cluster.plan();
    const ApplyReport report = cluster.apply_plan(plan);
    RC_LOG() << plan_lines(plan);
    for (const StepResult& one : report.steps)
      RC_LOG() << one.id << ' ' << to_string(one.state) << ' ' << one.why << '\n';
    RC_ASSERT(report.verdict == ApplyVerdict::kept || report.verdict == ApplyVerdict::nothing_to_do);
    for (const auto& [name, want] : wants) RC_ASSERT(holds(cluster.devices[name]->truth(), want));
    RC_ASSERT(cluster.plan().empty());
  }));
}

TEST(Properties, ApplyWritesExactlyThePlan) {
  EXPECT_TRUE(rc::check([] {
    Cluster cluster(*rc::gen::inRange<std::uint64_t>(1, 1000));
    any_two(cluster);
    const Plan plan = cluster.plan();
    std::map<std::string, ChangeSet> shown;
    for (const Step& step : plan.steps)
      for (const PlannedChange& change : step.changes)
        shown[step.device].push_back({change.path, change.was, change.want, 0});
    std::map<std::string, ChangeSet> written;
    for (auto& [name, device] : cluster.devices)
      device->seen = [&written](const SimulatedCall& call) {
        if (call.kind == SimulatedCall::Kind::apply)
          written[call.device].insert(written[call.device].end(), call.changes->begin(), call.changes->end());
      };
    cluster.apply_plan(plan);
    RC_LOG() << plan_lines(plan);
    RC_ASSERT(written == shown);
  }));
}

class Failing final : public ToldGate {
 public:
  Result<GateVerdict> tell(const GateQuestion&) override {
    return asked++ < fails_from ? GateVerdict::pass : GateVerdict::fail;
  }
  int fails_from = 0;
  int asked = 0;
};

// Whichever gate fails, and after whichever waves.
TEST(Properties, ChangeThatFailsItsGateIsFullyRolledBack) {
  EXPECT_TRUE(rc::check([] {
    Cluster cluster(*rc::gen::inRange<std::uint64_t>(1, 1000));
    any_two(cluster);
    Failing measurer;
    measurer.fails_from = *rc::gen::inRange(0, 2);
    cluster.options.measurer = &measurer;
    cluster.policy = Policy{};
    cluster.policy->waves = {{false, 1}, {true, 1.0}};
    const auto before = truths(cluster);
    const Plan plan = cluster.plan();
    const ApplyReport report = cluster.apply_plan(plan);
    RC_LOG() << plan_lines(plan) << "-- " << to_string(report.verdict) << '\n';
    for (const UndoneChange& one : report.undone) RC_LOG() << plan_lines(one.plan);
    const bool failed = measurer.asked > measurer.fails_from;
    RC_ASSERT(failed == !report.undone.empty());
    if (!failed) return;
    RC_ASSERT(report.verdict == ApplyVerdict::undone);
    RC_ASSERT(truths(cluster) == before);
    RC_ASSERT(cluster.ledger.owed().empty());
  }));
}

TEST(Properties, RollbackRestoresTheEarlierState) {
  EXPECT_TRUE(rc::check([] {
    Cluster cluster;
    auto& device = cluster.add("leaf0", "leaf");
    fill(device, random_tree());
    const Tree want = random_tree();
    for (const Entry& one : want.entries()) cluster.want("leaf0", one.path.text(), one.value);
    claim_all(cluster, "leaf0");
    const Tree before = device.truth();
    const Plan plan = cluster.plan();
    cluster.apply_plan(plan);
    const auto now = cluster.observe();
    const auto reverse = make_plan(undo_of(plan, cluster.fleet(), now).input);
    RC_ASSERT(static_cast<bool>(reverse));
    cluster.apply_plan(*reverse);
    RC_LOG() << before.to_string() << "--\n" << plan_lines(plan) << "--\n" << plan_lines(*reverse);
    RC_ASSERT(device.truth().to_string() == before.to_string());
  }));
}

TEST(Properties, EveryPlanIsOrderedAndDeterministic) {
  EXPECT_TRUE(rc::check([] {
    Cluster cluster;
    for (const auto& [name, role] :
         {std::pair{"gpu1", "host"}, std::pair{"leaf0", "leaf"}, std::pair{"spine0", "spine"}}) {
      fill(cluster.add(name, role), random_tree());
      const Tree want = random_tree();
      for (const Entry& one : want.entries()) cluster.want(name, one.path.text(), one.value);
      claim_all(cluster, name);
    }
    cluster.cable("gpu1", "p0", "leaf0", "p0");
    cluster.cable("leaf0", "p1", "spine0", "p1");
    cluster.policy = Policy{};
    cluster.policy->waves = {{false, 1}, {true, 1.0}};
    const Plan plan = cluster.plan();
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      RC_ASSERT(plan.steps[i].id == i + 1);
      for (const std::uint32_t before : steps_before(plan, plan.steps[i])) {
        RC_ASSERT(before < plan.steps[i].id);
        RC_ASSERT(plan.steps[before - 1].wave <= plan.steps[i].wave);
      }
    }
    RC_ASSERT(plan_lines(plan) == plan_lines(cluster.plan()));
  }));
}

// A simple reference check: an order is right if no addition comes before an addition that it refers to, and
// no removal after a removal that it refers to. Covers every subset of a small device, in both directions.
bool order_is_right(const std::vector<PlannedChange>& changes) {
  const auto refers = [](const PlannedChange& a, const PlannedChange& b) {
    return schema_row(a.path.row()).refers_to == schema_row(b.path.row()).pattern &&
           (a.path.key_count() == 0 || b.path.key_count() == 0 || a.path.key(0) == b.path.key(0));
  };
  for (std::size_t i = 0; i < changes.size(); ++i)
    for (std::size_t j = i + 1; j < changes.size(); ++j) {
      if (changes[i].want && changes[j].want && refers(changes[i], changes[j])) return false;
      if (!changes[i].want && !changes[j].want && refers(changes[j], changes[i])) return false;
    }
  return true;
}

TEST(Planner, EverySubsetOfASmallDeviceIsOrderedByReferences) {
  const std::vector<std::pair<std::string, Value>> few{
      {"interface[p0]/mtu", number(9000)},
      {"interface[p0]/address[10.0.0.1/31]", there()},
      {"interface[p0]/admin", yes()},
      {"bgp", there()},
      {"bgp/router-id", Value::text("1.1.1.1")},
      {"bgp/neighbor[p0]", there()},
      {"bgp/neighbor[p0]/hold", number(9)},
      {"route[main:10.0.0.0/8]", Value::set({"via 1.1.1.1 dev p0"})},
      {"rule[100]", Value::text("from all lookup")}};
  for (unsigned subset = 1; subset < (1U << few.size()); ++subset) {
    for (const bool removes : {false, true}) {
      DeviceInput device;
      device.name = "leaf0";
      device.role = "leaf";
      Intent intent;
      const Observation observation;
      device.intent = &intent;
      device.observation = &observation;
      for (std::size_t i = 0; i < few.size(); ++i)
        if ((subset >> i & 1U) != 0)
          device.changes.push_back(
              {entry(few[i].first), removes ? few[i].second : Value{}, removes ? Value{} : few[i].second, 0});
      std::sort(device.changes.begin(), device.changes.end(),
                [](const Change& a, const Change& b) { return a.path < b.path; });
      PlanInput input;
      input.devices.push_back(device);
      const auto plan = make_plan(input);
      ASSERT_TRUE(plan);
      ASSERT_EQ(plan->steps.size(), 1U);
      ASSERT_EQ(plan->steps[0].changes.size(), device.changes.size());
      ASSERT_TRUE(order_is_right(plan->steps[0].changes)) << plan_lines(*plan);
    }
  }
}

}  // namespace
}  // namespace lockstep
