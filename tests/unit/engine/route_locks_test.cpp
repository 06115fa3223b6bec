// Routes that are locked to the smaller MTU while the MTUs of hosts change.
#include <fmt/format.h>

#include "gate_lab.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/earlier_plan.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

constexpr const char* kPool = "10.64.0.0/16";
constexpr const char* kLock = "route-mtu[10.64.0.0/16]";
constexpr const char* kAdmin = "interface[rail0]/admin";
constexpr const char* kRoute = "route[main:10.64.0.0/16]";

// Three hosts under one leaf switch, with an actual and a desired MTU.
struct PoolHosts {
  PoolHosts(std::int64_t was, std::int64_t want, int count = 3) {
    cluster.add("leaf0", "leaf");
    for (int i = 0; i < count; ++i) {
      const std::string host = fmt::format("gpu{}", i);
      const std::string port = fmt::format("swp{}", i);
      cluster.add(host);
      const std::string address = fmt::format("interface[rail0]/address[10.64.0.{}/31]", 2 * i + 1);
      cluster.devices[host]->set(entry(address), there());
      cluster.want(host, address, there());
      for (const auto& [path, value] :
           {std::pair{kAdmin, yes()}, {kRoute, Value::set({"via 10.64.0.0 dev rail0"})}}) {
        cluster.devices[host]->set(entry(path), value);
        cluster.want(host, path, value);
      }
      cluster.devices[host]->set(entry(kMtu), number(was));
      cluster.want(host, kMtu, number(want));
      cluster.claim(host, row("route-mtu[*]"), {kPool});
      cluster.devices["leaf0"]->set(entry(fmt::format("interface[{}]/mtu", port)), number(was));
      cluster.want("leaf0", fmt::format("interface[{}]/mtu", port), number(want));
      cluster.cable("leaf0", port, host, "rail0");
    }
    cluster.wiring.index();
  }

  // The state after a run that was killed when gpu0 and gpu1 had 9000.
  void leave_two_grown() {
    for (const char* const host : {"gpu0", "gpu1"}) {
      cluster.devices[host]->set(entry(kMtu), number(9000));
      cluster.devices[host]->set(entry(kLock), Value::text("mtu lock 1500"));
    }
    for (const char* const port : {"swp0", "swp1", "swp2"})
      cluster.devices["leaf0"]->set(entry(fmt::format("interface[{}]/mtu", port)), number(9000));
  }

  // The MTU writes at hosts, in order: "gpu0 9000", "gpu0 lock 1500", "gpu0 unlock".
  std::vector<std::string> order(const Plan& plan) const {
    std::vector<std::string> out;
    for (const Step& step : plan.steps)
      for (const PlannedChange& change : step.changes) {
        const bool locks = change.path == entry(kLock);
        if (step.device == "leaf0" || (!locks && change.path != entry(kMtu))) continue;
        const std::string what = !locks         ? change.want.to_string()
                                 : !change.want ? "unlock"
                                                : std::string(change.want.as_text().substr(4));
        out.push_back(step.device + " " + what);
      }
    return out;
  }
  std::size_t place(const Plan& plan, const std::string& what) const {
    const auto all = order(plan);
    return static_cast<std::size_t>(std::ranges::find(all, what) - all.begin());
  }

  Cluster cluster;
};

TEST(RouteLocks, KeepTheOldMtuUntilAllHostsHaveTheLargerOne) {
  PoolHosts lab(1500, 9000);
  const Plan plan = lab.cluster.plan();
  for (const char* const host : {"gpu0", "gpu1", "gpu2"}) {
    const std::size_t raised = lab.place(plan, fmt::format("{} 9000", host));
    EXPECT_LT(lab.place(plan, fmt::format("{} lock 1500", host)), raised) << plan_lines(plan);
    for (const char* const other : {"gpu0", "gpu1", "gpu2"})
      EXPECT_LT(raised, lab.place(plan, fmt::format("{} unlock", other))) << plan_lines(plan);
  }
  EXPECT_EQ(lab.order(plan).size(), 9U) << plan_lines(plan);
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(lab.cluster.devices["gpu1"]->truth().value(entry(kLock)), Value{});
  EXPECT_TRUE(lab.cluster.plan().empty());
}

TEST(RouteLocks, SetTheSmallerMtuOnAllHostsBeforeTheFirstPort) {
  PoolHosts lab(9000, 1500);
  const Plan plan = lab.cluster.plan();
  for (const char* const host : {"gpu0", "gpu1", "gpu2"}) {
    const std::size_t lowered = lab.place(plan, fmt::format("{} 1500", host));
    EXPECT_LT(lowered, lab.place(plan, fmt::format("{} unlock", host))) << plan_lines(plan);
    for (const char* const other : {"gpu0", "gpu1", "gpu2"})
      EXPECT_LT(lab.place(plan, fmt::format("{} lock 1500", other)), lowered) << plan_lines(plan);
  }
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(lab.cluster.devices["gpu1"]->truth().value(entry(kLock)), Value{});
}

// A driver continues after a failed change of a step, and an unlock must not follow a port that kept its MTU.
TEST(RouteLocks, AreSeparateStepsFromTheirPorts) {
  PoolHosts lab(9000, 1500);
  for (const Step& step : lab.cluster.plan().steps) {
    std::set<bool> locks;
    for (const PlannedChange& change : step.changes) locks.insert(change.path == entry(kLock));
    EXPECT_EQ(locks.size(), 1U) << "step " << step.id;
  }
}

// A closed window is detected after the plan was made.
TEST(RouteLocks, WaitForTheWindowsOfTheirPorts) {
  PoolHosts lab(9000, 1500);
  lab.cluster.policy.emplace();
  lab.cluster.policy_of["leaf0"].windows = {{.days = 0, .from = 0, .to = 1, .timezone = ""}};
  (void)lab.cluster.apply_plan(lab.cluster.plan());
  for (const char* const host : {"gpu0", "gpu1", "gpu2"})
    EXPECT_EQ(lab.cluster.devices[host]->truth().value(entry(kLock)), Value{});
}

TEST(RouteLocks, AreNotUsedForASingleHost) {
  PoolHosts lab(9000, 9000);
  lab.cluster.devices["gpu1"]->set(entry(kMtu), number(1500));
  const Plan plan = lab.cluster.plan();
  EXPECT_EQ(lab.order(plan), (std::vector<std::string>{"gpu1 9000"})) << plan_lines(plan);
}

// Packets of a drifted host are already lost, and no order prevents that.
TEST(RouteLocks, AreNotUsedToRepairDrift) {
  for (const std::int64_t drifted : {1500, 9216}) {
    PoolHosts lab(9000, 9000, 5);
    for (const char* const host : {"gpu1", "gpu2"})
      lab.cluster.devices[host]->set(entry(kMtu), number(drifted));
    const Plan plan = lab.cluster.plan();
    EXPECT_EQ(lab.order(plan).size(), 2U) << plan_lines(plan);
  }
}

TEST(RouteLocks, LeftoversAreRemovedWhenNothingElseDiffers) {
  PoolHosts lab(9000, 9000);
  lab.cluster.devices["gpu1"]->set(entry(kLock), Value::text("mtu lock 1500 on 1 of 3 routes"));
  const Plan plan = lab.cluster.plan();
  EXPECT_EQ(lab.order(plan), (std::vector<std::string>{"gpu1 unlock"})) << plan_lines(plan);
}

// A run was killed when two hosts were done.
TEST(RouteLocks, OfAKilledRunAreRemovedOnceAllHostsAreDone) {
  PoolHosts lab(1500, 9000);
  lab.leave_two_grown();
  const Plan plan = lab.cluster.plan();
  EXPECT_EQ(lab.place(plan, "gpu2 9000"), 0U) << plan_lines(plan);
  EXPECT_EQ(lab.order(plan).size(), 3U) << plan_lines(plan);
}

// Machines in their initial state: there is nothing to lock, and the ports still come up.
TEST(RouteLocks, AreNotUsedBeforeThereAreRoutes) {
  PoolHosts lab(1500, 9000);
  for (const char* const host : {"gpu0", "gpu1", "gpu2"}) {
    lab.cluster.devices[host]->set(entry(kAdmin), no());
    lab.cluster.devices[host]->set(entry(kRoute), Value{});
  }
  const Plan plan = lab.cluster.plan();
  EXPECT_EQ(lab.order(plan), (std::vector<std::string>{"gpu0 9000", "gpu1 9000", "gpu2 9000"}))
      << plan_lines(plan);
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_TRUE(lab.cluster.plan().empty());
}

// The kernel adds no route over a port that is down (ENETDOWN).
TEST(RouteLocks, ExcludeAHostWithAPortDownWithANote) {
  PoolHosts lab(1500, 9000);
  lab.cluster.devices["gpu1"]->set(entry(kAdmin), no());
  lab.cluster.devices["gpu1"]->set(entry(kRoute),
                                   Value::set({"via 10.64.0.0 dev rail0"}));  // of another port
  const Plan plan = lab.cluster.plan();
  EXPECT_EQ(lab.order(plan).size(), 7U) << plan_lines(plan);
  EXPECT_NE(plan_lines(plan).find("routes are not locked meanwhile: rail0 is administratively down"),
            std::string::npos);
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
}

TEST(RouteLocks, StayWhileAHostIsUnreadable) {
  PoolHosts lab(1500, 9000);
  lab.cluster.devices["gpu2"]->unreachable = true;
  const Plan plan = lab.cluster.plan();
  EXPECT_NE(plan_lines(plan).find(
                "held: its lock of routes stays, as larger packets may be lost: gpu2 was not read: "),
            std::string::npos)
      << plan_lines(plan);
  // They also stay in the next run, in which no host's MTU changes.
  for (int again = 0; again < 2; ++again) {
    (void)lab.cluster.apply_plan(lab.cluster.plan());
    EXPECT_EQ(lab.cluster.devices["gpu0"]->truth().value(entry(kMtu)), number(9000));
    EXPECT_EQ(lab.cluster.devices["gpu0"]->truth().value(entry(kLock)), Value::text("mtu lock 1500"));
  }
}

// One manually set host does not decide for all.
TEST(RouteLocks, AreUsedDespiteOneOutlier) {
  for (const auto& [was, want] : {std::pair{1500, 9000}, {9000, 1500}}) {
    PoolHosts lab(was, want, 4);
    lab.cluster.devices["gpu3"]->set(entry(kMtu), number(want));
    const Plan plan = lab.cluster.plan();
    EXPECT_EQ(lab.order(plan).size(), 9U) << plan_lines(plan);
  }
}

TEST(RouteLocks, ReportThatAnExcludedHostStillSendsLargerPackets) {
  PoolHosts lab(9000, 1500);
  lab.cluster.options.choice.only = {"gpu0", "gpu1", "leaf0"};
  const std::string lines = plan_lines(lab.cluster.plan());
  EXPECT_NE(
      lines.find("larger packets may come still: interface[rail0]/mtu of gpu2 stays 9000: --only leaves gpu2 "
                 "out: name it there too"),
      std::string::npos)
      << lines;
}

// Held locks are not merged with steps that may proceed.
TEST(RouteLocks, AreHeldWithTheirPortsDespiteOtherChanges) {
  PoolHosts lab(9000, 1500);
  for (const char* const host : {"gpu0", "gpu1", "gpu2"})
    lab.cluster.want(host, "sysctl[net.ipv4.conf.all.arp_ignore]", Value::text("1"));
  lab.cluster.policy.emplace();
  lab.cluster.policy->needs_approval[Disruption::traffic] = true;
  const Plan plan = lab.cluster.plan();
  std::size_t locks = 0;
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes) {
      if (change.path != entry(kLock) || !change.want) continue;  // an unlock waits for its port
      ++locks;
      EXPECT_FALSE(step.holds.empty()) << plan_lines(plan);
    }
  EXPECT_EQ(locks, 3U) << plan_lines(plan);
}

// Hosts that wait for a held step of their leaf switch stay unchanged, so they lock nothing, even with
// approval for their own ports.
TEST(RouteLocks, AreHeldWhenTheirPortsWaitForAHeldStep) {
  PoolHosts lab(1500, 9000);
  lab.cluster.policy.emplace();
  lab.cluster.policy->needs_approval[Disruption::traffic] = true;
  lab.cluster.policy_of["leaf0"].drains_switches = true;
  lab.cluster.policy_of["leaf0"].on_timeout = Policy::Undrained::stop;
  const Plan plan = lab.cluster.plan();
  std::size_t locks = 0;
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes) {
      if (change.path != entry(kLock) || !change.want) continue;
      ++locks;
      std::set<Hold::Kind> kinds;
      for (const Hold& hold : step.holds) kinds.insert(hold.kind);
      EXPECT_EQ(kinds, (std::set{Hold::Kind::approval, Hold::Kind::drain})) << plan_lines(plan);
    }
  EXPECT_EQ(locks, 3U) << plan_lines(plan);
  // Approval for the ports also covers the locks.
  lab.cluster.options.approved = *parse_approved("approval:traffic,drain");
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_TRUE(lab.cluster.plan().empty());
}

// Half of the routes are locked: all are locked before the port changes.
TEST(RouteLocks, PartlyWrittenAreRewritten) {
  PoolHosts lab(1500, 9000);
  lab.cluster.devices["gpu1"]->set(entry(kLock), Value::text("mtu lock 1500 on 1 of 3 routes"));
  const Plan plan = lab.cluster.plan();
  EXPECT_LT(lab.place(plan, "gpu1 lock 1500"), lab.place(plan, "gpu1 9000")) << plan_lines(plan);
  EXPECT_EQ(lab.order(plan).size(), 9U) << plan_lines(plan);
}

TEST(RouteLocks, StayWhileAnExcludedHostKeepsTheSmallerMtu) {
  PoolHosts lab(1500, 9000);
  lab.cluster.options.choice.only = {"gpu0", "gpu1", "leaf0"};
  const Plan plan = lab.cluster.plan();
  ASSERT_EQ(lab.order(plan).size(), 6U) << plan_lines(plan);
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes)
      if (change.path == entry(kLock) && !change.want) {
        ASSERT_EQ(step.holds.size(), 1U) << plan_lines(plan);
        EXPECT_EQ(step.holds.front().kind, Hold::Kind::far_end);
        EXPECT_EQ(step.holds.front().reason,
                  "its lock of routes stays, as larger packets may be lost: interface[rail0]/mtu of gpu2 "
                  "stays 1500: "
                  "--only leaves gpu2 out: name it there too");
      }
  (void)lab.cluster.apply_plan(plan);
  (void)lab.cluster.apply_plan(lab.cluster.plan());  // a second run, in which no MTU changes
  EXPECT_EQ(lab.cluster.devices["gpu0"]->truth().value(entry(kMtu)), number(9000));
  EXPECT_EQ(lab.cluster.devices["gpu0"]->truth().value(entry(kLock)), Value::text("mtu lock 1500"));
  lab.cluster.options.choice.only.clear();
  EXPECT_EQ(lab.cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(lab.cluster.devices["gpu0"]->truth().value(entry(kLock)), Value{});
  EXPECT_TRUE(lab.cluster.plan().empty());
}

TEST(RouteLocks, AreHeldWithPortsThatNeedApproval) {
  PoolHosts lab(9000, 1500);
  lab.cluster.policy.emplace();
  lab.cluster.policy->needs_approval[Disruption::traffic] = true;
  const Plan plan = lab.cluster.plan();
  (void)lab.cluster.apply_plan(plan);
  for (const char* const host : {"gpu0", "gpu1", "gpu2"})
    EXPECT_EQ(lab.cluster.devices[host]->truth().value(entry(kLock)), Value{}) << plan_lines(plan);
}

// The kernel uses a route's MTU regardless of the port's: `ip_dst_mtu_maybe_forward`.
TEST(RouteLocks, AreNoLargerThanTheSmallestPortOfTheHost) {
  PoolHosts lab(9000, 4200);
  const std::string second = "interface[rail1]/";
  for (const auto& [path, value] : {std::pair{second + "address[10.64.9.1/31]", there()},
                                    {second + "mtu", number(1500)},
                                    {second + "admin", yes()}}) {
    lab.cluster.devices["gpu1"]->set(entry(path), value);
    lab.cluster.want("gpu1", path, value);
  }
  const Plan plan = lab.cluster.plan();
  EXPECT_LT(lab.place(plan, "gpu0 lock 4200"), lab.order(plan).size()) << plan_lines(plan);
  EXPECT_LT(lab.place(plan, "gpu1 lock 1500"), lab.order(plan).size()) << plan_lines(plan);
}

// A gate had everything rolled back, and the change is retried interactively.
TEST(RouteLocks, AreUsedWhenARolledBackChangeIsRetried) {
  for (const auto& [was, want] : {std::pair{1500, 9000}, {9000, 1500}}) {
    PoolHosts lab(was, want);
    for (const char* const host : {"gpu0", "gpu1", "gpu2"})
      ASSERT_TRUE(lab.cluster.ledger.refuse(
          {{.digest = write_digest(host, entry(kMtu), number(want)), .change = 1, .why = "guilty: slower"}}));
    const Plan plan = lab.cluster.plan();
    EXPECT_EQ(lab.order(plan).size(), 9U) << plan_lines(plan);
    (void)lab.cluster.apply_plan(plan);  // without approval nothing is written, including locks
    EXPECT_EQ(lab.cluster.devices["gpu1"]->truth().value(entry(kLock)), Value{});
    EXPECT_EQ(lab.cluster.devices["gpu1"]->truth().value(entry(kMtu)), number(was));
    lab.cluster.options.approved = *parse_approved("gate");
    EXPECT_EQ(lab.cluster.converge().verdict, ApplyVerdict::kept);
    EXPECT_EQ(lab.cluster.devices["gpu1"]->truth().value(entry(kMtu)), number(want));
    EXPECT_EQ(lab.cluster.devices["gpu1"]->truth().value(entry(kLock)), Value{});
  }
}

// A host policy that allows changes of the MTU and not of routes.
struct NoRoutes final : Permission {
  std::optional<std::string> why_not(const Change& change) const override {
    return change.path.row() == row("route-mtu[*]") ? std::optional<std::string>("routes are not named")
                                                    : std::nullopt;
  }
  std::optional<std::string> why_not_unasked() const override { return std::nullopt; }
  std::optional<std::string> why_not_confirm_deletion() const override { return std::nullopt; }
};

TEST(RouteLocks, RefusedByHostPolicyDoNotStopTheMtuChange) {
  PoolHosts lab(1500, 9000);
  NoRoutes owner;
  lab.cluster.attached(2).permission = &owner;
  const Plan plan = lab.cluster.plan();
  EXPECT_EQ(lab.order(plan).size(), 7U) << plan_lines(plan);
  EXPECT_NE(plan_lines(plan).find("routes are not locked meanwhile: routes are not named"),
            std::string::npos);
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
}

// A killed run left the lock. The specs now want a smaller MTU, and the route can't be rewritten while a port
// is down.
TEST(RouteLocks, LeftoversAboveTheNewMtuAreRemovedFirst) {
  PoolHosts lab(9000, 1500);
  lab.cluster.devices["gpu1"]->set(entry(kLock), Value::text("mtu lock 4200"));
  lab.cluster.want("gpu1", "interface[rail0]/admin", no());
  lab.cluster.devices["gpu1"]->set(entry(kAdmin), no());
  lab.cluster.devices["gpu1"]->set(entry(kRoute), Value::set({"via 10.64.0.0 dev rail0"}));
  const Plan plan = lab.cluster.plan();
  EXPECT_LT(lab.place(plan, "gpu1 unlock"), lab.place(plan, "gpu1 1500")) << plan_lines(plan);
}

// The same where the port is brought up, which comes after its MTU.
TEST(RouteLocks, LeftoversDoNotBlockBringingAPortUp) {
  PoolHosts lab(9000, 1500);
  lab.cluster.devices["gpu1"]->set(entry(kLock), Value::text("mtu lock 4200"));
  lab.cluster.devices["gpu1"]->set(entry(kAdmin), no());
  lab.cluster.devices["gpu1"]->set(entry(kRoute), Value::set({"via 10.64.0.0 dev rail0"}));
  const Plan plan = lab.cluster.plan();
  EXPECT_LT(lab.place(plan, "gpu1 1500"), lab.place(plan, "gpu1 unlock")) << plan_lines(plan);
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
}

// Removing a lock does not delete anybody's setting.
TEST(RouteLocks, LeftoversDoNotCountAsDeletions) {
  PoolHosts lab(9000, 9000);
  lab.cluster.policy.emplace();
  lab.cluster.policy->max_delete = 0;
  lab.cluster.devices["gpu1"]->set(entry(kLock), Value::text("mtu lock 1500"));
  const Plan plan = lab.cluster.plan();
  EXPECT_TRUE(plan.refusals.empty());
  EXPECT_EQ(lab.cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
}

TEST(RouteLocks, LeftoversCanBeRemovedAfterAGateRollback) {
  PoolHosts lab(1500, 9000);
  lab.leave_two_grown();
  ToldMeasurer measurer;
  measurer.answer = [&] { return measurer.asked.size() < 3 ? GateVerdict::fail : GateVerdict::pass; };
  lab.cluster.options.measurer = &measurer;
  EXPECT_EQ(lab.cluster.converge().verdict, ApplyVerdict::undone);
  EXPECT_EQ(lab.cluster.devices["gpu0"]->truth().value(entry(kLock)), Value::text("mtu lock 1500"));
  // The specs are reverted, and the leftover locks are removed.
  measurer.answer = [] { return GateVerdict::pass; };
  for (const char* const host : {"gpu0", "gpu1", "gpu2"}) lab.cluster.want(host, kMtu, number(1500));
  for (const char* const port : {"swp0", "swp1", "swp2"})
    lab.cluster.want("leaf0", fmt::format("interface[{}]/mtu", port), number(1500));
  EXPECT_EQ(lab.cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(lab.cluster.devices["gpu0"]->truth().value(entry(kLock)), Value{});
  EXPECT_TRUE(lab.cluster.plan().empty()) << plan_lines(lab.cluster.plan());
}

TEST(RouteLocks, AreNotWrittenWhenAPlanFileDoesNotApproveTheirPorts) {
  PoolHosts lab(9000, 1500);
  const Plan now = lab.cluster.plan();
  Plan earlier = now;
  for (Step& step : earlier.steps)
    if (step.changes.front().path.row() == row("interface[*]/mtu")) step.disruption = Disruption::none;
  const ApprovedPart part = approved_part(earlier, now, {});
  EXPECT_TRUE(part.plan.empty()) << plan_lines(part.plan);
  EXPECT_EQ(part.refused.size(), now.steps.size());
}

}  // namespace
}  // namespace lockstep
