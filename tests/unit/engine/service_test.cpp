// minCapacity accounts for what is already out of service, and is checked again before each batch.
#include "reconciler/engine/service.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "cluster.hpp"
#include "reconciler/engine/step_order.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;

// Leaf and spine switches in a full mesh, in service. Their new maxPaths disturbs a whole spine switch.
struct Fabric {
  explicit Fabric(int of_spines, int leaves = 2, std::uint64_t seed = 1) : cluster(seed), spines(of_spines) {
    for (int l = 0; l < leaves; ++l) cluster.add(leaf(l), "leaf");
    for (int s = 0; s < spines; ++s) {
      cluster.add(spine(s), "spine");
      cluster.devices[spine(s)]->set(entry("bgp/neighbor[down0]"), there());
      cluster.devices[spine(s)]->set(entry("bgp/max-paths"), number(8));
      cluster.want(spine(s), "bgp/neighbor[down0]", there());
      for (int l = 0; l < leaves; ++l) {
        cluster.cable(leaf(l), up(s), spine(s), down(l));
        for (const auto& [device, port] : {std::pair{leaf(l), up(s)}, std::pair{spine(s), down(l)}}) {
          const std::string carrier = "interface[" + port + "]/carrier";
          cluster.devices[device]->set(entry(carrier), yes());
          cluster.want(device, carrier, yes());
        }
      }
    }
    cluster.wiring.index();
    cluster.wiring.capacity_left = [this](const Outage& outage) { return left(outage); };
    cluster.policy = Policy{};
    cluster.policy->min_capacity["spine"] = 0.5;
    cluster.options.settle_time = seconds(5);
  }
  static std::string leaf(int l) { return "leaf" + std::to_string(l); }
  static std::string spine(int s) { return "spine" + std::to_string(s); }
  static std::string up(int s) { return "up" + std::to_string(s); }
  static std::string down(int l) { return "down" + std::to_string(l); }
  void change(int s) { cluster.want(spine(s), "bgp/max-paths", number(64)); }
  void change_all() {
    for (int s = 0; s < spines; ++s) change(s);
  }
  bool is_changed(int s) {
    return cluster.devices[spine(s)]->truth().value(entry("bgp/max-paths")) == number(64);
  }
  int changed() {
    int count = 0;
    for (int s = 0; s < spines; ++s) count += is_changed(s) ? 1 : 0;
    return count;
  }
  FleetDevice& device(const std::string& name) {
    return *std::ranges::find(cluster.list(), name, &FleetDevice::name);
  }
  static bool is_gone(const Outage& outage, const std::string& leaf) {
    return std::ranges::binary_search(outage.devices, leaf) &&
           !std::ranges::binary_search(outage.returning, leaf);
  }
  // As a formula over sets: the share of the spine switches that are neither out nor have lost a cable to a
  // leaf switch of the worst pair.
  double left(const Outage& outage) const {
    std::map<std::string, std::set<std::string>> gone;  // spine switches, by leaf switch
    for (const std::string& one : outage.devices)
      for (const Cable& cable : cluster.wiring.cables)
        if (cable.b.device == one) gone[cable.a.device].insert(one);
    for (const std::uint32_t cable : outage.cables) {
      const Cable& one = cluster.wiring.cables[cable];
      gone[one.a.device].insert(one.b.device);
    }
    std::size_t worst = 0;
    for (const auto& [a, of_a] : gone)
      for (const auto& [b, of_b] : gone) {
        if (is_gone(outage, a) || is_gone(outage, b)) continue;
        std::set<std::string> both = of_a;
        both.insert(of_b.begin(), of_b.end());
        worst = std::max(worst, both.size());
      }
    return 1.0 - static_cast<double>(worst) / spines;
  }
  Cluster cluster;
  int spines;
};

std::string told(const Plan& plan) {
  std::string out;
  for (const Step& step : plan.steps)
    for (const Hold& hold : step.holds) out += step.device + " " + hold.reason + "\n";
  return out;
}
std::string told(const ApplyReport& report) {
  std::string out;
  for (const StepResult& one : report.steps) out += std::string(to_string(one.state)) + " " + one.why + "\n";
  return out;
}
std::size_t held(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.steps, [](const Step& step) {
    return std::ranges::any_of(step.holds, [](const Hold& one) { return one.kind == Hold::Kind::budget; });
  }));
}

TEST(Budget, CountsAnUnreachableDevice) {
  Fabric four(4);
  four.change_all();
  EXPECT_TRUE(four.cluster.plan().steps[1].after.empty()) << "two at once, where all are up";
  four.cluster.devices["spine3"]->unreachable = true;
  const Plan one_down = four.cluster.plan();
  ASSERT_EQ(one_down.steps.size(), 3U) << plan_lines(one_down);
  EXPECT_EQ(one_down.steps[1].after, std::vector<std::uint32_t>{1}) << "one at a time beside it";
  EXPECT_EQ(held(one_down), 0U);
  four.cluster.devices["spine2"]->unreachable = true;
  const Plan two_down = four.cluster.plan();
  EXPECT_EQ(held(two_down), 2U) << plan_lines(two_down);
  EXPECT_NE(told(two_down).find("spine0: 25% would be left to the worst pair, the policy wants 50%; out of "
                                "service already: spine2 (it did not answer: spine2"),
            std::string::npos)
      << told(two_down);
}

// The unreachable device may still forward, so disturbing one of its cables reduces capacity.
TEST(Budget, CountsCablesOfAnUnreachableDeviceAsWorking) {
  for (const bool is_last : {false, true}) {
    Fabric two(2);
    two.cluster.devices["leaf0"]->set(entry("interface[up1]/mtu"), number(1500));
    two.cluster.want("leaf0", "interface[up1]/mtu", number(9000));
    two.cluster.devices["leaf0"]->set(entry("bgp/neighbor[up1]"), there());
    two.cluster.want("leaf0", "bgp/neighbor[up1]", there());
    two.cluster.policy->min_capacity["leaf"] = 0.5;
    two.cluster.devices["spine1"]->unreachable = true;
    if (is_last) two.cluster.devices["leaf1"]->set(entry("interface[up0]/carrier"), no());
    const Plan plan = two.cluster.plan();
    EXPECT_EQ(told(plan).find("leaf0: 0% would be left") != std::string::npos, is_last) << plan_lines(plan);
  }
}

TEST(Budget, CountsAndReportsACableDownAtEitherEnd) {
  Fabric two(2);
  two.change(1);
  two.cluster.devices["leaf1"]->set(entry("interface[up0]/carrier"), no());
  const Plan plan = two.cluster.plan();
  EXPECT_EQ(held(plan), 1U);
  EXPECT_NE(told(plan).find("out of service already: leaf1:up0 (interface[up0]/carrier of leaf1 is false)"),
            std::string::npos)
      << told(plan);
  two.cluster.devices["leaf1"]->set(entry("interface[up0]/carrier"), yes());
  EXPECT_EQ(held(two.cluster.plan()), 0U);
}

// A leaf switch without its own budget is changing all its uplinks when the spine switch is checked, and is
// soon done.
TEST(Budget, WaitsForStepsUnderWay) {
  Fabric two(2);
  two.change(1);
  for (const char* const port : {"up0", "up1"}) {
    const std::string of_port = std::string("interface[") + port + "]/mtu";
    two.cluster.devices["leaf0"]->set(entry(std::string("bgp/neighbor[") + port + "]"), there());
    two.cluster.want("leaf0", std::string("bgp/neighbor[") + port + "]", there());
    two.cluster.devices["leaf0"]->set(entry(of_port), number(1500));
    two.cluster.want("leaf0", of_port, number(9000));
  }
  const Plan plan = two.cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U) << plan_lines(plan);
  for (const Step& step : plan.steps) {
    EXPECT_TRUE(step.live && step.after.empty()) << plan_lines(plan);
  }
  const ApplyReport report = two.cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << told(report);
  EXPECT_TRUE(two.is_changed(1));
}

TEST(Budget, CountsDevicesInMaintenance) {
  Fabric two(2);
  two.change(1);
  two.device("spine0").maintenance = "until 2026-12-01: optics";
  const Plan plan = two.cluster.plan();
  EXPECT_NE(told(plan).find("spine0 (maintenance until 2026-12-01: optics)"), std::string::npos)
      << told(plan);
  EXPECT_EQ(held(plan), 1U);
}

TEST(Budget, CountsOnlyDisruptiveOpenChanges) {
  Fabric two(2);
  two.change(1);
  const std::vector<DeviceState> states = two.cluster.observe();
  const auto plan_with = [&](const char* path) {
    const OwedChange open{7, "", "", {{"t", 1, "spine0", "sim", {{entry(path), {}, number(1), 0}}}}};
    auto plan = make_plan(input_of(two.cluster.fleet(), states, two.cluster.origins, two.cluster.sources,
                                   two.cluster.policies(), {}, {open}));
    return *std::move(plan);
  };
  EXPECT_EQ(held(plan_with("bgp/max-paths")), 1U);
  EXPECT_NE(told(plan_with("bgp/max-paths")).find("spine0 (change 7 is not judged yet)"), std::string::npos);
  EXPECT_EQ(held(plan_with("sysctl[vm.swappiness]")), 0U) << "nobody notices it";
}

// spine0 is down because of its own ports: the step that brings them up is not held because of that.
TEST(Budget, StepThatRestoresALinkOrDeviceIsExempt) {
  Fabric two(2);
  two.cluster.policy->min_capacity["spine"] = 0.6;  // less is already left
  two.change(1);
  for (const int l : {0, 1}) {
    const std::string admin = "interface[" + Fabric::down(l) + "]/admin";
    two.cluster.devices["spine0"]->set(entry(admin), no());
    two.cluster.want("spine0", admin, yes());
    two.cluster.devices["spine0"]->set(entry("bgp/neighbor[" + Fabric::down(l) + "]"), there());
    two.cluster.want("spine0", "bgp/neighbor[" + Fabric::down(l) + "]", there());
  }
  const Plan plan = two.cluster.plan();
  for (const Step& step : plan.steps) {
    const bool is_down = step.device == "spine0";
    EXPECT_TRUE(step.live) << plan_lines(plan);
    EXPECT_EQ(step.holds.empty(), is_down) << plan_lines(plan);
  }
}

TEST(Budget, IgnoresDevicesUnreachableFromThisMachine) {
  Fabric two(2);
  two.change(1);
  two.device("spine0").drivers.clear();
  std::vector<DeviceState> states = two.cluster.observe();
  states[2] = DeviceState{};
  states[2].device = "spine0";
  states[2].errors.push_back(Error{ErrorKind::refused, "it is unreachable from this machine"});
  const auto plan = make_plan(input_of(two.cluster.fleet(), states, two.cluster.origins, two.cluster.sources,
                                       two.cluster.policies()));
  ASSERT_TRUE(plan);
  EXPECT_EQ(held(*plan), 0U) << told(*plan);
}

// Calls `act` when the first spine switch is done.
Progress after_first(const std::function<void(const std::string& device)>& act) {
  Progress progress;
  progress.step = [act, acted = false](const Step& step, const StepResult& result) mutable {
    if (result.state == StepState::done && !std::exchange(acted, true)) act(step.device);
  };
  return progress;
}

TEST(Budget, OutageDuringTheApplyHoldsTheNextBatch) {
  Fabric three(3);
  three.change_all();
  three.cluster.policy->min_capacity["spine"] = 0.6;  // one of three at a time
  const Plan plan = three.cluster.plan();
  ASSERT_EQ(held(plan), 0U) << told(plan);
  const ApplyReport report =
      three.cluster.apply_plan(plan, after_first([&](const std::string&) {
                                 three.cluster.devices["leaf0"]->set(entry("interface[up0]/carrier"), no());
                               }));
  EXPECT_EQ(three.changed(), 1) << told(report);
  EXPECT_EQ(report.verdict, ApplyVerdict::asks) << told(report);
  EXPECT_NE(told(report).find("33% would be left to the worst pair, the policy wants 60%; out of service "
                              "already: leaf0:up0 (interface[up0]/carrier of leaf0 is false)"),
            std::string::npos)
      << told(report);
  EXPECT_EQ(report.steps[1].words, std::set<std::string>{"budget"});
}

TEST(Budget, ShortOutageHoldsNothing) {
  Fabric three(3);
  three.change_all();
  three.cluster.policy->min_capacity["spine"] = 0.6;
  auto& leaf0 = *three.cluster.devices["leaf0"];
  const ApplyReport report = three.cluster.apply_plan(
      three.cluster.plan(), after_first([&](const std::string&) {
        leaf0.set(entry("interface[up0]/carrier"), no());
        three.cluster.executor.at(three.cluster.executor.now() + seconds(3),
                                  [&] { leaf0.set(entry("interface[up0]/carrier"), yes()); });
      }));
  EXPECT_EQ(three.changed(), 3) << told(report);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << told(report);
}

TEST(Budget, ApprovalLiftsTheBudget) {
  Fabric three(3);
  three.change_all();
  three.cluster.policy->min_capacity["spine"] = 0.6;
  three.cluster.options.approved = {Hold::Kind::budget};
  three.cluster.devices["spine2"]->unreachable = true;
  three.cluster.converge();
  EXPECT_EQ(three.changed(), 2);
}

TEST(Budget, OpenChangeCountsUntilItsGate) {
  Fabric two(2);
  two.change(1);
  two.cluster.options.open = {
      {7, "", "", {{"t", 1, "spine0", "sim", {{entry("bgp/max-paths"), {}, number(1), 0}}}}}};
  const ApplyReport report = two.cluster.converge();
  EXPECT_EQ(two.changed(), 0);
  EXPECT_NE(told(report).find("change 7 is not judged yet"), std::string::npos) << told(report);
}

TEST(Budget, StopDuringTheCapacityCheckStartsNothing) {
  Fabric three(3);
  three.change_all();
  three.cluster.policy->min_capacity["spine"] = 0.6;
  std::stop_source stop;
  const ApplyReport report = three.cluster.apply_plan(
      three.cluster.plan(), after_first([&](const std::string&) { stop.request_stop(); }), stop.get_token());
  EXPECT_EQ(three.changed(), 1) << told(report);
  EXPECT_EQ(report.verdict, ApplyVerdict::stopped);
}

// A leaf switch under change returns soon, so its pairs still need the spine switches.
TEST(Budget, LeafUnderChangeStillCountsInItsPairs) {
  Fabric two(2);
  for (const char* const leaf : {"leaf0", "leaf1"}) {
    two.cluster.devices[leaf]->set(entry("bgp/neighbor[up0]"), there());
    two.cluster.devices[leaf]->set(entry("bgp/max-paths"), number(8));
    two.cluster.want(leaf, "bgp/neighbor[up0]", there());
    two.cluster.want(leaf, "bgp/max-paths", number(64));
  }
  two.change_all();
  const Plan plan = two.cluster.plan();
  ASSERT_EQ(plan.steps.size(), 4U);
  const auto spine = [&](const std::string& name) {
    return *std::ranges::find(plan.steps, name, &Step::device);
  };
  const std::vector<std::uint32_t> after = steps_before(plan, spine("spine1"));
  EXPECT_NE(std::ranges::find(after, spine("spine0").id), after.end()) << "one spine at a time";
  two.cluster.devices["spine1"]->unreachable = true;
  const Plan beside = two.cluster.plan();
  EXPECT_FALSE(std::ranges::find(beside.steps, "spine0", &Step::device)->holds.empty());
}

// While the check waits for an outage that may end by itself.
TEST(Budget, StopEndsAWaitingCapacityCheckAtOnce) {
  Fabric three(3);
  three.change_all();
  three.cluster.policy->min_capacity["spine"] = 0.6;
  three.cluster.options.poll_min = three.cluster.options.poll_max = seconds(2);
  std::stop_source stop;
  Time stopped{};
  const ApplyReport report =
      three.cluster.apply_plan(three.cluster.plan(), after_first([&](const std::string&) {
                                 three.cluster.devices["leaf0"]->set(entry("interface[up0]/carrier"), no());
                                 three.cluster.executor.at(three.cluster.executor.now() + seconds(1), [&] {
                                   stopped = three.cluster.executor.now();
                                   stop.request_stop();
                                 });
                               }),
                               stop.get_token());
  EXPECT_EQ(three.changed(), 1) << told(report);
  EXPECT_EQ(report.verdict, ApplyVerdict::stopped);
  EXPECT_LT(three.cluster.executor.now() - stopped, seconds(1));
}

// A hold during the apply: the end at the leaf switch was written while the one at the spine switch was still
// being checked.
TEST(Budget, HoldDuringTheApplyLeavesCableEndsEqual) {
  Fabric three(3);
  three.cluster.policy->min_capacity["spine"] = 0.6;
  for (int s = 0; s < three.spines; ++s)
    for (int l = 0; l < 2; ++l)
      for (const auto& [device, port] :
           {std::pair{Fabric::leaf(l), Fabric::up(s)}, std::pair{Fabric::spine(s), Fabric::down(l)}}) {
        const std::string fec = "interface[" + port + "]/fec";
        three.cluster.devices[device]->set(entry(fec), Value::text("rs"));
        three.cluster.want(device, fec, Value::text(s == 0 ? "off" : "rs"));
      }
  const Plan plan = three.cluster.plan();
  ASSERT_EQ(held(plan), 0U) << told(plan);
  ASSERT_FALSE(plan.empty());
  auto& leaf0 = *three.cluster.devices["leaf0"];
  bool comes_back = true;
  Progress progress;
  progress.wave = [&](std::uint32_t, std::uint32_t) {
    leaf0.set(entry("interface[up1]/carrier"), no());
    if (comes_back)  // after the check, which lasts settle_time, is over
      three.cluster.executor.at(three.cluster.executor.now() + seconds(7),
                                [&] { leaf0.set(entry("interface[up1]/carrier"), yes()); });
  };
  ApplyReport report = three.cluster.apply_plan(plan, progress);
  EXPECT_GT(report.count(StepState::held), 0U) << told(report);
  for (int l = 0; l < 2; ++l) {
    const auto fec = [&](const std::string& device, const std::string& port) {
      return three.cluster.devices[device]->truth().value(entry("interface[" + port + "]/fec"));
    };
    EXPECT_EQ(fec(Fabric::leaf(l), Fabric::up(0)), fec(Fabric::spine(0), Fabric::down(l))) << told(report);
  }

  comes_back = false;
  report = three.cluster.apply_plan(three.cluster.plan(), progress);
  EXPECT_NE(report.exit_code(), 0);
  EXPECT_EQ(
      std::ranges::count_if(report.notes,
                            [](const std::string& one) { return one.find("ends that differ") != one.npos; }),
      1)
      << "where something else stays down it is told";
}

// Brute force: every pair of leaf switches that are up, by spine switch and by cable, from the actual state.
double brute_force(const Fabric& fabric, const std::set<std::string>& devices_out,
                   const std::set<std::pair<std::string, std::string>>& cables_out) {
  const auto carries = [&](int l, int s) {
    return !devices_out.contains(Fabric::spine(s)) &&
           !cables_out.contains({Fabric::leaf(l), Fabric::spine(s)});
  };
  double worst = 1;
  for (int a = 0; fabric.cluster.devices.contains(Fabric::leaf(a)); ++a)
    for (int b = 0; b < a; ++b) {
      if (devices_out.contains(Fabric::leaf(a)) || devices_out.contains(Fabric::leaf(b))) continue;
      int ways = 0;
      for (int s = 0; s < fabric.spines; ++s) ways += carries(a, s) && carries(b, s) ? 1 : 0;
      worst = std::min(worst, static_cast<double>(ways) / fabric.spines);
    }
  return worst;
}

// By id: all direct and indirect predecessors.
std::vector<std::set<std::uint32_t>> all_before(const Plan& plan) {
  std::vector<std::set<std::uint32_t>> before(plan.steps.size() + 1);
  for (const Step& step : plan.steps)
    for (const std::uint32_t one : steps_before(plan, step)) {
      before[step.id].insert(one);
      before[step.id].insert(before[one].begin(), before[one].end());
    }
  return before;
}

// Whatever is down, in maintenance or not judged yet: no set of concurrent steps leaves a pair less than the
// policy wants, and no step is held that would fit on its own.
TEST(Budget, ConcurrentStepsNeverBreakIt) {
  EXPECT_TRUE(rc::check([] {
    Fabric fabric(*rc::gen::inRange(2, 6), *rc::gen::inRange(2, 4),
                  *rc::gen::inRange<std::uint64_t>(1, 1000));
    const double least = *rc::gen::element(0.3, 0.5, 0.7);
    fabric.cluster.policy->min_capacity["spine"] = least;
    std::set<std::string> devices_out;
    std::set<std::string> devices_down;  // a subset; the others carry traffic and are not judged yet
    std::set<std::pair<std::string, std::string>> cables_out;
    std::vector<OwedChange> open;
    for (int s = 0; s < fabric.spines; ++s) {
      const std::string name = Fabric::spine(s);
      fabric.change(s);
      const int fate = *rc::gen::inRange(0, 8);
      if (fate == 0) fabric.cluster.devices[name]->unreachable = true;
      if (fate == 1) fabric.device(name).maintenance = "until 2026-12-01: optics";
      if (fate == 2)
        open.push_back({9, "", "", {{"t", 1, name, "sim", {{entry("bgp/asn"), {}, number(1), 0}}}}});
      if (fate < 3) devices_out.insert(name);
      if (fate < 2) devices_down.insert(name);
    }
    for (const Cable& cable : fabric.cluster.wiring.cables) {
      if (*rc::gen::inRange(0, 10) != 0) continue;
      const PortName& end = *rc::gen::arbitrary<bool>() ? cable.a : cable.b;
      if (fabric.cluster.devices[end.device]->unreachable) continue;  // it would not be observed
      fabric.cluster.devices[end.device]->set(Path(row("interface[*]/carrier"), {end.port}), no());
      cables_out.emplace(cable.a.device, cable.b.device);
    }
    const std::vector<DeviceState> states = fabric.cluster.observe();
    const auto plan = make_plan(input_of(fabric.cluster.fleet(), states, fabric.cluster.origins,
                                         fabric.cluster.sources, fabric.cluster.policies(), {}, open));
    RC_ASSERT(static_cast<bool>(plan));
    RC_LOG() << plan_lines(*plan);
    std::vector<const Step*> free;
    for (const Step& step : plan->steps) {
      std::set<std::string> alone = devices_out.contains(step.device) ? devices_down : devices_out;
      alone.insert(step.device);
      const bool fits = brute_force(fabric, alone, cables_out) >= least;
      RC_ASSERT(step.holds.empty() == (fits || devices_down.contains(step.device)));
      if (step.holds.empty()) free.push_back(&step);
    }
    const auto before = all_before(*plan);
    for (unsigned subset = 1; subset < (1U << free.size()); ++subset) {
      std::vector<const Step*> those;
      for (std::size_t i = 0; i < free.size(); ++i)
        if ((subset >> i & 1U) != 0) those.push_back(free[i]);
      const bool at_once = std::ranges::none_of(those, [&](const Step* one) {
        return std::ranges::any_of(those, [&](const Step* two) { return before[one->id].contains(two->id); });
      });
      std::set<std::string> out = devices_out;
      bool takes = false;
      for (const Step* const one : those) takes = out.insert(one->device).second || takes;
      if (at_once && takes) RC_ASSERT(brute_force(fabric, out, cables_out) >= least);
    }
  }));
}

}  // namespace
}  // namespace lockstep
