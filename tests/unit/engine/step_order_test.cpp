// Barriers: a plan with barriers has the same order as the same plan without them, for all readers of the
// order, and its size is linear in its steps.
#include "reconciler/engine/step_order.hpp"

#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "cluster.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/earlier_plan.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

Plan flattened(Plan plan) {
  for (Step& step : plan.steps) {
    step.after = steps_before(plan, step);
    step.after_barriers.clear();
  }
  plan.barriers.clear();
  plan.digest = plan_digest(plan);
  return plan;
}

// Hosts whose ports get a new MTU. The hosts in `refuse` refuse it; with `arm`, the hosts have automatic
// rollback.
struct MtuHosts {
  explicit MtuHosts(int count, const std::set<int>& refuse, bool arm) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "gpu" + std::to_string(100 + i);
      SimulatedDevice& device = cluster.add(name);
      device.undoes_itself = arm;
      device.set(entry("interface[rail0]/mtu"), number(1500));
      if (refuse.contains(i)) device.refuses = {row("interface[*]/mtu")};
      cluster.want(name, "interface[rail0]/mtu", number(9000));
    }
  }
  Cluster cluster;
};

// A random order of the steps, by single steps and by barriers.
void order_at_random(Plan& plan) {
  const auto count = static_cast<std::uint32_t>(plan.steps.size());
  for (int b = *rc::gen::inRange(0, 4); b > 0; --b) {
    std::set<std::uint32_t> before;
    for (int n = *rc::gen::inRange(1, 4); n > 0; --n) before.insert(*rc::gen::inRange(1U, count));
    plan.barriers.push_back({{before.begin(), before.end()}});
  }
  for (Step& step : plan.steps) {
    for (std::uint32_t number = 1; number <= plan.barriers.size(); ++number)
      if (plan.barriers[number - 1].after.back() < step.id && *rc::gen::arbitrary<bool>())
        step.after_barriers.push_back(number);
    if (step.id > 1 && *rc::gen::inRange(0, 3) == 0) step.after.push_back(*rc::gen::inRange(1U, step.id));
  }
  plan.digest = plan_digest(plan);
}

// What started and ended, in order, and the final state of every step. Steps skipped because of a failure are
// reported in no particular order.
std::string walked(Cluster& cluster, const Plan& plan) {
  std::string out;
  Progress progress;
  progress.step = [&out](const Step& step, const StepResult& result) {
    if (result.state != StepState::skipped) out += fmt::format("{} {}\n", step.id, to_string(result.state));
  };
  const ApplyReport report = cluster.apply_plan(plan, progress);
  out += to_string(report.verdict);
  for (const StepResult& one : report.steps) out += fmt::format("\n{} {}", one.id, to_string(one.state));
  return out;
}

TEST(StepOrder, IsAppliedTheSameWithAndWithoutBarriers) {
  std::size_t with_barriers = 0;
  EXPECT_TRUE(rc::check([&] {
    const int count = *rc::gen::inRange(2, 9);
    const bool arm = *rc::gen::arbitrary<bool>();
    std::set<int> refuse;
    if (*rc::gen::arbitrary<bool>()) refuse.insert(*rc::gen::inRange(0, count));
    MtuHosts one(count, refuse, arm);
    MtuHosts other(count, refuse, arm);
    Plan plan = one.cluster.plan();
    (void)other.cluster.plan();
    RC_ASSERT(plan.steps.size() == static_cast<std::size_t>(count));
    order_at_random(plan);
    // An armed step waits for its group, and so other steps of the group may pass a barrier early.
    if (arm) {
      for (Step& step : plan.steps) {
        step.undo_after = std::chrono::minutes(10);
        step.together = static_cast<std::uint32_t>(*rc::gen::inRange(0, 3));
      }
    }
    RC_LOG() << plan_lines(plan);
    with_barriers += plan.barriers.empty() ? 0 : 1;
    RC_ASSERT(walked(one.cluster, plan) == walked(other.cluster, flattened(plan)));
  }));
  EXPECT_GT(with_barriers, 20U);
}

// An earlier plan is compared with a current one regardless of how either expresses its order.
TEST(StepOrder, EarlierPlanComparesTheSameWithAndWithoutBarriers) {
  EXPECT_TRUE(rc::check([] {
    const int count = *rc::gen::inRange(2, 9);
    MtuHosts hosts(count, {}, false);
    Plan earlier = hosts.cluster.plan();
    order_at_random(earlier);
    Plan now = earlier;
    if (*rc::gen::arbitrary<bool>()) {
      for (Step& step : now.steps) {
        step.after.clear();
        step.after_barriers.clear();
      }
      now.barriers.clear();
      order_at_random(now);
    }
    std::map<std::uint32_t, std::string> moved;
    if (*rc::gen::arbitrary<bool>())
      moved.emplace(*rc::gen::inRange(1U, static_cast<std::uint32_t>(count) + 1), "the ground has moved");
    RC_LOG() << plan_lines(earlier) << "now\n" << plan_lines(now);
    const ApprovedPart plain = approved_part(flattened(earlier), flattened(now), moved);
    for (const Plan& was : {earlier, flattened(earlier)})
      for (const Plan& is : {now, flattened(now)}) {
        const ApprovedPart part = approved_part(was, is, moved);
        std::set<std::uint32_t> refused;
        std::set<std::uint32_t> by_plain;
        for (const auto& [id, why] : part.refused) refused.insert(id);
        for (const auto& [id, why] : plain.refused) by_plain.insert(id);
        RC_ASSERT(refused == by_plain);
        RC_ASSERT(plan_lines(flattened(part.plan)) == plan_lines(flattened(plain.plan)));
      }
  }));
}

TEST(StepOrder, SurvivesJson) {
  EXPECT_TRUE(rc::check([] {
    MtuHosts hosts(*rc::gen::inRange(2, 9), {}, false);
    Plan plan = hosts.cluster.plan();
    order_at_random(plan);
    const Result<Plan> back = plan_from_json(to_json(plan));
    RC_ASSERT(back);
    RC_ASSERT(back->barriers == plan.barriers);
    RC_ASSERT(back->steps == plan.steps);
  }));
}

TEST(StepOrder, InvalidBarriersAreRefused) {
  MtuHosts hosts(4, {}, false);
  const Plan honest = hosts.cluster.plan();
  const auto refused = [&honest](std::vector<std::uint32_t> of, std::uint32_t step, std::uint32_t number) {
    Plan plan = honest;
    plan.barriers.push_back({std::move(of)});
    plan.steps[step - 1].after_barriers.push_back(number);
    plan.digest = plan_digest(plan);
    const Result<Plan> read = plan_from_json(to_json(plan));
    return read ? "" : read.error().text();
  };
  EXPECT_EQ(refused({1, 2}, 3, 1), "");
  const std::string not_before =
      "the plan file is broken: a step comes after a barrier that is not before it";
  EXPECT_EQ(refused({1, 3}, 3, 1), not_before);
  EXPECT_EQ(refused({1, 4}, 3, 1), not_before);
  EXPECT_EQ(refused({1, 2}, 3, 0), not_before);
  EXPECT_EQ(refused({1, 2}, 3, 2), not_before);
  const std::string not_steps =
      "the plan file is broken: a barrier is not of the plan's steps, each once and in order";
  EXPECT_EQ(refused({}, 3, 1), not_steps);
  EXPECT_EQ(refused({0, 1}, 3, 1), not_steps);
  EXPECT_EQ(refused({1, 5}, 3, 1), not_steps);
  EXPECT_EQ(refused({2, 1}, 3, 1), not_steps);
  EXPECT_EQ(refused({1, 1}, 3, 1), not_steps);
}

// Hosts with eight ports below leaf switches below spine switches: all get a larger MTU, fabric first.
Plan mtu_everywhere(int hosts) {
  constexpr int kPorts = 8;
  Cluster cluster;
  const auto port = [&cluster](const std::string& device, const std::string& name) {
    cluster.devices[device]->set(entry("interface[" + name + "]/mtu"), number(1500));
    cluster.want(device, "interface[" + name + "]/mtu", number(9000));
  };
  const auto link = [&](const std::string& a, const std::string& b) {
    cluster.cable(a, "to-" + b, b, "to-" + a);
    port(a, "to-" + b);
    port(b, "to-" + a);
  };
  for (int s = 0; s < 2; ++s) cluster.add("spine" + std::to_string(s), "spine");
  for (int l = 0; l < hosts / 2; ++l) {
    cluster.add("leaf" + std::to_string(l), "leaf");
    for (int s = 0; s < 2; ++s) link("leaf" + std::to_string(l), "spine" + std::to_string(s));
  }
  for (int h = 0; h < hosts; ++h) {
    cluster.add("gpu" + std::to_string(h));
    for (int p = 0; p < kPorts; ++p)
      link("gpu" + std::to_string(h), "leaf" + std::to_string((h + p) % (hosts / 2)));
  }
  cluster.wiring.index();
  return cluster.plan();
}

std::size_t words_of(const Plan& plan) {
  std::size_t out = 0;
  for (const Step& step : plan.steps) out += step.after.size() + step.after_barriers.size();
  for (const Barrier& barrier : plan.barriers) out += barrier.after.size();
  return out;
}

TEST(StepOrder, GrowsLinearlyWithTheSteps) {
  const Plan small = mtu_everywhere(32);
  const Plan large = mtu_everywhere(64);
  const auto times = [](std::size_t more, std::size_t fewer) {
    return static_cast<double>(more) / static_cast<double>(fewer);
  };
  EXPECT_LE(times(words_of(large), words_of(small)), 2.1);
  EXPECT_GE(times(words_of(flattened(large)), words_of(flattened(small))), 3.5) << "it would grow by pairs";
  // Hosts come after the whole fabric.
  std::vector<std::set<std::uint32_t>> before(large.steps.size() + 1);
  std::set<std::uint32_t> switches;
  for (const Step& step : large.steps) {
    for (const std::uint32_t one : steps_before(large, step)) {
      before[step.id].insert(one);
      before[step.id].insert(before[one].begin(), before[one].end());
    }
    if (!step.device.starts_with("gpu"))
      switches.insert(step.id);
    else
      EXPECT_TRUE(std::ranges::includes(before[step.id], switches)) << step.device;
  }
  EXPECT_EQ(switches.size(), large.steps.size() - 64);
}

// Armed steps in groups, as at both ends of a link: a step that is ready to be kept waits for the rest of its
// group.
Plan of_groups(MtuHosts& hosts, const std::vector<std::uint32_t>& together) {
  Plan plan = hosts.cluster.plan();
  EXPECT_EQ(plan.steps.size(), together.size());
  for (Step& step : plan.steps) {
    step.undo_after = std::chrono::minutes(10);
    step.together = together[step.id - 1];
  }
  return plan;
}

TEST(StepOrder, GroupPassesABarrierThatOnlyItKeepsClosed) {
  MtuHosts one(4, {}, true);
  MtuHosts other(4, {}, true);
  Plan plan = of_groups(one, {1, 1, 0, 0});
  (void)other.cluster.plan();
  plan.barriers.push_back({{1}});
  plan.steps[1].after_barriers.push_back(1);
  plan.steps[3].after_barriers.push_back(1);
  plan.digest = plan_digest(plan);
  const std::string with = walked(one.cluster, plan);
  EXPECT_EQ(with, walked(other.cluster, flattened(plan)));
  EXPECT_LT(with.find("2 running"), with.find("1 done")) << with;
  EXPECT_GT(with.find("4 running"), with.find("1 done")) << with;
}

// A group is not settled while a step that one of its steps waits for is running.
TEST(StepOrder, GroupThatWaitsForAnotherStepIsRolledBackAsAWhole) {
  MtuHosts hosts(3, {2}, true);
  Plan plan = of_groups(hosts, {1, 0, 1});
  plan.steps[2].after.push_back(2);
  plan.digest = plan_digest(plan);
  bool slow = true;  // the first step is ready long before the second is done
  SimulatedDevice& second = *hosts.cluster.devices["gpu101"];
  second.faults.transient = 1;
  hosts.cluster.executor.at(hosts.cluster.executor.now() + std::chrono::seconds(2), [&] {
    second.faults.transient = 0;
    slow = false;
  });
  const ApplyReport report = hosts.cluster.apply_plan(plan);
  EXPECT_FALSE(slow);
  EXPECT_EQ(report.steps[1].state, StepState::done) << report.steps[1].why;
  EXPECT_NE(report.steps[2].state, StepState::done);
  EXPECT_EQ(report.steps[0].state, StepState::undone);
  EXPECT_EQ(hosts.cluster.devices["gpu100"]->truth().value(entry("interface[rail0]/mtu")), number(1500));
}

}  // namespace
}  // namespace lockstep
