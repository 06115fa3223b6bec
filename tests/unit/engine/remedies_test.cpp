// Remedies of a plan: which ones it lists, for what, and when they run.

#include <nlohmann/json.hpp>

#include "gate_lab.hpp"
#include "reconciler/engine/earlier_plan.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

const Value kSessionUp = Value::text("established");
const Path kGroup = entry("fib[10.0.0.0/8]");
const Path kOtherGroup = entry("fib[10.1.0.0/16]");
const Path kUplink = entry("bgp/neighbor[up0]/session");

// Like FRR: groups that lost a member are reinstalled, all by one call.
class GroupRemedy final : public Remedy {
 public:
  explicit GroupRemedy(SimulatedDevice& device) : device_(device) {}
  std::optional<Offer> offer(const Change& effect) const override {
    if (effect.path == kUplink && clears) return Offer{"clear-session", "", Disruption::traffic, 3, kWithin};
    if (!is_group(effect) || device_.truth().value(kUplink) != kSessionUp) return std::nullopt;
    return kReinstall;
  }
  std::optional<Offer> stands_by(const Change& effect) const override {
    return is_group(effect) ? std::optional(kReinstall) : std::nullopt;
  }
  Result<Done> cure(const ChangeSet& effects, const Call&) override {
    calls.push_back(effects.size());
    if (refuses && refusals-- > 0) {
      if (comes_back) device_.set(kGroup, Value::set({"up0", "up1"}));
      return Error{ErrorKind::refused, "FRR itself has no BGP route"};
    }
    for (const Change& effect : effects)
      if (helps) device_.set(effect.path, effect.want);
    return Done{};
  }

  std::vector<std::size_t> calls;  // the number of effects of each call
  bool clears = false;
  bool helps = true;
  bool refuses = false;
  bool comes_back = false;
  int refusals = 100;

 private:
  static constexpr std::chrono::seconds kWithin{300};
  const Offer kReinstall{"reinstall-multipath", "about 1 s on one path", Disruption::traffic, 3, kWithin};
  static bool is_group(const Change& effect) {
    return effect.want.kind() == Value::Kind::list && effect.want.as_list().size() > 1;
  }
  SimulatedDevice& device_;
};

// gpu1 - leaf0 = spine0, spine1. A link that comes up again leaves its groups with one path.
class PlannedRemedies : public ::testing::Test {
 protected:
  PlannedRemedies()
      : gpu1(cluster.add("gpu1")),
        leaf0(cluster.add("leaf0", "leaf")),
        spine0(cluster.add("spine0", "spine")),
        spine1(cluster.add("spine1", "spine")),
        leaf(leaf0),
        spine(spine0),
        other(spine1) {
    cluster.cable("gpu1", "rail0", "leaf0", "swp1");
    cluster.cable("leaf0", "up0", "spine0", "down0");
    cluster.cable("leaf0", "up1", "spine1", "down0");
    cluster.wiring.index();
    session("leaf0", "up0");
    session("leaf0", "up1");
    session("spine0", "down0");
    session("spine1", "down0");
    for (const char* const name : {"leaf0", "spine0", "spine1"})
      for (const Path path : {kGroup, kOtherGroup}) has(name, path.text(), Value::set({"up0", "up1"}));
    has("leaf0", "interface[up0]/admin", yes());
    has("gpu1", "interface[rail0]/mtu", number(9000));
    cluster.attached(1).remedy = &leaf;
    cluster.attached(2).remedy = &spine;
    cluster.attached(3).remedy = &other;
    cluster.options.settle_time = std::chrono::seconds(2);
    cluster.observe();
  }
  void has(const std::string& name, const std::string& path, Value value) {
    cluster.want(name, path, value);
    cluster.devices[name]->set(entry(path), value);
  }
  void session(const std::string& name, const std::string& port) {
    has(name, "bgp/neighbor[" + port + "]", there());
    has(name, "bgp/neighbor[" + port + "]/session", kSessionUp);
  }
  // Takes down leaf0's uplink. `then` runs when it is up again.
  void take_down(std::function<void(Tree&)> then) {
    leaf0.set(entry("interface[up0]/admin"), no());
    leaf0.set(kUplink, Value::text("idle"));
    leaf0.set(kGroup, Value::set({"up1"}));
    leaf0.set(kOtherGroup, Value::set({"up1"}));
    leaf0.effects = [then = std::move(then), done = false](Tree& tree) mutable {
      if (tree.value(entry("interface[up0]/admin")) != yes() || std::exchange(done, true)) return;
      tree.set(kUplink, kSessionUp);
      then(tree);
    };
  }
  static std::string remedies_of(const Plan& plan) {
    std::string out;
    for (const Step& step : plan.steps)
      if (!step.remedy.empty())
        out += step.device + " " + step.remedy + " wave " + std::to_string(step.wave) + "\n";
    return out;
  }
  StepState state_of(const ApplyReport& report, const Plan& plan, const std::string& device) {
    for (const Step& step : plan.steps)
      if (!step.remedy.empty() && step.device == device) return report.steps[step.id - 1].state;
    return StepState::waiting;
  }

  Cluster cluster;
  SimulatedDevice& gpu1;
  SimulatedDevice& leaf0;
  SimulatedDevice& spine0;
  SimulatedDevice& spine1;
  GroupRemedy leaf, spine, other;
};

TEST_F(PlannedRemedies, AreListedAtBothEndsOfARestoredLink) {
  take_down([](Tree&) {});
  const Plan plan = cluster.plan();
  EXPECT_EQ(remedies_of(plan), "leaf0 reinstall-multipath wave 1\nspine0 reinstall-multipath wave 1\n")
      << plan_lines(plan);
  EXPECT_EQ(plan.remedies(), 2U);
  EXPECT_EQ(plan.steps[1].if_open, std::vector<RowId>{row("fib[*]")});
  EXPECT_EQ(plan.changes(), 1U);
}

TEST_F(PlannedRemedies, AreNotListedForAPortWithoutARoutingSession) {
  cluster.want("gpu1", "interface[rail0]/mtu", number(4000));
  const Plan plan = cluster.plan();
  EXPECT_EQ(plan.steps.size(), 1U) << plan_lines(plan);
}

TEST_F(PlannedRemedies, AreListedForASessionOverTheChangedLink) {
  session("leaf0", "swp1");
  cluster.want("gpu1", "interface[rail0]/mtu", number(4000));
  EXPECT_EQ(remedies_of(cluster.plan()), "leaf0 reinstall-multipath wave 1\n");
}

TEST_F(PlannedRemedies, RunOnceForAllOpenEffectsOfADevice) {
  take_down([](Tree&) {});
  const Plan plan = cluster.plan();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(leaf.calls, std::vector<std::size_t>{2}) << "one call for both prefixes";
  EXPECT_TRUE(spine.calls.empty());
  EXPECT_EQ(state_of(report, plan, "spine0"), StepState::not_needed);
  EXPECT_EQ(leaf0.truth().value(kGroup), Value::set({"up0", "up1"}));
  EXPECT_TRUE(cluster.plan().empty());
}

TEST_F(PlannedRemedies, AreNotNeededWhenTheEffectRecovers) {
  take_down([](Tree& tree) {
    tree.set(kGroup, Value::set({"up0", "up1"}));
    tree.set(kOtherGroup, Value::set({"up0", "up1"}));
  });
  const Plan plan = cluster.plan();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_TRUE(leaf.calls.empty());
  EXPECT_EQ(report.count(StepState::not_needed), 2U);
  EXPECT_EQ(report.exit_code(), 0);
}

TEST_F(PlannedRemedies, FollowTheStepThatBrokeTheEffect) {
  has("leaf0", "bgp/max-paths", number(64));
  cluster.want("leaf0", "bgp/max-paths", number(32));
  leaf0.effects = [done = false](Tree& tree) mutable {
    if (tree.value(entry("bgp/max-paths")) == number(32) && !std::exchange(done, true))
      tree.set(kGroup, Value::set({"up0"}));
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << report.steps[0].why;
  EXPECT_EQ(leaf.calls, std::vector<std::size_t>{1});
}

// leaf0's remedy is not in the plan, as no routing session runs over the changed port. A new plan has it.
TEST_F(PlannedRemedies, MissingFromThePlanAreNotRun) {
  cluster.want("gpu1", "interface[rail0]/mtu", number(4000));
  gpu1.effects = [this, done = false](Tree& tree) mutable {
    if (tree.value(entry("interface[rail0]/mtu")) == number(4000) && !std::exchange(done, true))
      leaf0.set(kGroup, Value::set({"up0"}));
  };
  const ApplyReport report = cluster.converge();
  EXPECT_TRUE(leaf.calls.empty());
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
  EXPECT_EQ(report.exit_code(), 2);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_EQ(
      report.notes.back(),
      "leaf0: sim remedy reinstall-multipath may help, and is not in this plan: run \"lockstep plan\" again");
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(leaf.calls, std::vector<std::size_t>{1});
}

TEST_F(PlannedRemedies, AreNotListedForExcludedDevices) {
  take_down([](Tree&) {});
  spine0.set(kGroup, Value::set({"up0"}));
  cluster.options.choice.only = {"leaf0"};
  const Plan plan = cluster.plan();
  EXPECT_EQ(remedies_of(plan), "leaf0 reinstall-multipath wave 1\n");
  (void)cluster.apply_plan(plan);
  EXPECT_TRUE(spine.calls.empty());
}

TEST_F(PlannedRemedies, RunOnlyAsApproved) {
  take_down([](Tree&) {});
  const Plan now = cluster.plan();
  Plan earlier = without(now, {{2, ""}});  // leaf0's
  ASSERT_EQ(remedies_of(earlier), "spine0 reinstall-multipath wave 1\n");
  const ApprovedPart part = approved_part(earlier, now, {});
  EXPECT_EQ(part.unapproved.size(), 1U);
  const ApplyReport report = cluster.apply_plan(part.plan);
  EXPECT_TRUE(leaf.calls.empty());
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
}

TEST_F(PlannedRemedies, AreApprovedForASubsetOfTheirEffects) {
  leaf0.set(kGroup, Value::set({"up0"}));
  leaf0.set(kOtherGroup, Value::set({"up0"}));
  const Plan earlier = cluster.plan();
  leaf0.set(kGroup, Value::set({"up0", "up1"}));
  leaf0.set(kOtherGroup, Value::set({"up1"}));
  const Plan now = cluster.plan();
  EXPECT_TRUE(approved_part(earlier, now, {}).refused.empty());
  EXPECT_FALSE(approved_part(now, earlier, {}).refused.empty()) << "it is for one more";
}

TEST_F(PlannedRemedies, AreNotRepeatedWhenTheyDidNotHelp) {
  leaf0.set(kGroup, Value::set({"up0"}));
  leaf.helps = false;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(leaf.calls.size(), 1U);
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
  ASSERT_EQ(report.count(StepState::failed), 1U);
  EXPECT_EQ(report.steps[0].why, "it did not help: fib[10.0.0.0/8] is up0");
}

TEST_F(PlannedRemedies, RefusedWhileTheEffectRecoversIsNoFailure) {
  leaf0.set(kGroup, Value::set({"up0"}));
  leaf.refuses = leaf.comes_back = true;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.count(StepState::failed), 0U);
  EXPECT_EQ(report.count(StepState::not_needed), 1U);
  EXPECT_EQ(report.exit_code(), 0) << to_string(report.verdict);
  EXPECT_EQ(leaf.calls.size(), 1U);
}

TEST_F(PlannedRemedies, RefusedWithTheEffectOpenFailsWithTheReason) {
  leaf0.set(kGroup, Value::set({"up0"}));
  leaf.refuses = true;
  const ApplyReport report = cluster.converge();
  ASSERT_EQ(report.count(StepState::failed), 1U);
  EXPECT_EQ(report.steps[0].why, "FRR itself has no BGP route");
  EXPECT_EQ(report.steps[0].disturbed.count(), 0) << "nothing was touched";
  EXPECT_EQ(report.exit_code(), 2);
}

TEST_F(PlannedRemedies, HeldButNotNeededDoNotHoldTheRun) {
  cluster.policy = Policy{};
  cluster.policy_of["spine0"].needs_approval[Disruption::traffic] = true;
  take_down([](Tree&) {});
  const Plan plan = cluster.plan();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(state_of(report, plan, "spine0"), StepState::not_needed);
}

TEST_F(PlannedRemedies, HeldAndNeededRequireApproval) {
  cluster.policy_of["spine0"].needs_approval[Disruption::traffic] = true;
  spine0.set(kUplink, kSessionUp);
  take_down([this](Tree&) { spine0.set(kGroup, Value::set({"up0"})); });
  const Plan plan = cluster.plan();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::asks);
  EXPECT_TRUE(spine.calls.empty());
}

// A remedy belongs to the first wave near its device, and still runs after any later wave that needs it.
TEST_F(PlannedRemedies, DoNotMoveOtherStepsToAnotherWave) {
  cluster.policy = Policy{};
  cluster.policy->waves = {{false, 1}, {true, 1.0}};
  for (const char* const name : {"leaf0", "spine0", "spine1"}) {
    has(name, "bgp/max-paths", number(64));
    cluster.want(name, "bgp/max-paths", number(32));
  }
  const Plan plan = cluster.plan();
  EXPECT_EQ(plan.waves(), 2U);
  EXPECT_EQ(remedies_of(plan),
            "leaf0 reinstall-multipath wave 1\nspine0 reinstall-multipath wave 1\n"
            "spine1 reinstall-multipath wave 1\n")
      << plan_lines(plan);
  spine1.effects = [done = false](Tree& tree) mutable {
    if (tree.value(entry("bgp/max-paths")) == number(32) && !std::exchange(done, true))
      tree.set(kGroup, Value::set({"up0"}));
  };
  spine1.set(kUplink, kSessionUp);
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(other.calls.size(), 1U);
  EXPECT_TRUE(leaf.calls.empty());
}

TEST_F(PlannedRemedies, ReportHowLongTheyDisturbedTraffic) {
  leaf0.set(kGroup, Value::set({"up0"}));
  const ApplyReport report = cluster.converge();
  ASSERT_EQ(report.count(StepState::done), 1U);
  EXPECT_EQ(report.steps[0].writes, 1U);
  EXPECT_GT(report.steps[0].disturbed.count(), 0);
}

TEST_F(PlannedRemedies, ArePartOfTheBlastRadius) {
  leaf0.set(kGroup, Value::set({"up0"}));
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.blast.devices, std::vector<std::string>{"leaf0"});
  EXPECT_EQ(report.blast.cables.size(), 3U) << "all of its cables";
}

// A session that is reset restores its routes a moment later. Only then is it known what the kernel lacks.
TEST_F(PlannedRemedies, RunAfterTheRemedyThatTheyDependOn) {
  leaf.clears = true;
  leaf0.set(kUplink, Value::text("idle"));
  leaf0.set(kGroup, Value::set({"up1"}));
  const Plan plan = cluster.plan();
  ASSERT_EQ(remedies_of(plan).find("leaf0 clear-session"), 0U) << plan_lines(plan);
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(leaf.calls, (std::vector<std::size_t>{1, 1}));
}

TEST_F(PlannedRemedies, MayRepeatAfterARefusalThatTouchedNothing) {
  leaf0.set(kGroup, Value::set({"up0"}));
  leaf.refuses = true;
  leaf.refusals = 1;
  EXPECT_EQ(cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(leaf.calls.size(), 2U);
}

// Like the kernel: a route is refused while its gateway is not on link.
TEST_F(PlannedRemedies, RunBeforeTheWritesThatNeedThem) {
  class OnLink final : public Remedy {
   public:
    explicit OnLink(SimulatedDevice& device) : device_(device) {}
    std::optional<Offer> offer(const Change& effect) const override {
      if (effect.path != entry("fib[10.9.0.0/31]")) return std::nullopt;
      return Offer{"restore-connected-route", "", Disruption::none, 3, std::chrono::seconds(300), true};
    }
    Result<Done> cure(const ChangeSet& effects, const Call&) override {
      writes_before = device_.writes();
      device_.set(effects.front().path, effects.front().want);
      return Done{};
    }
    std::optional<std::uint64_t> writes_before;

   private:
    SimulatedDevice& device_;
  };
  OnLink remedy(gpu1);
  cluster.attached(0).remedy = &remedy;
  cluster.want("gpu1", "fib[10.9.0.0/31]", Value::set({"rail0"}));
  cluster.want("gpu1", "route[main:10.0.0.0/16]", Value::set({"via 10.9.0.0 dev rail0"}));
  const std::uint64_t writes = gpu1.writes();
  const Plan plan = cluster.plan();
  EXPECT_EQ(plan.remedies(), 1U) << plan_lines(plan);
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(remedy.writes_before, writes);
  EXPECT_GT(gpu1.writes(), writes);
}

TEST_F(PlannedRemedies, SurviveJson) {
  take_down([](Tree&) {});
  const Plan plan = cluster.plan();
  const auto back = plan_from_json(to_json(plan));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->steps, plan.steps);
}

// A remedy that only stands by does not count as a step ahead of the next wave.
TEST_F(PlannedRemedies, OnStandbyDoNotCountAsACanary) {
  take_down([](Tree&) {});
  cluster.want("spine1", "interface[down0]/admin", yes());
  Plan plan = cluster.plan();
  const auto step_of = [&plan](const std::string& device) -> Step& {
    return *std::ranges::find_if(plan.steps,
                                 [&](const Step& one) { return one.device == device && one.remedy.empty(); });
  };
  step_of("spine1").wave = 2;
  step_of("leaf0").holds.push_back({Hold::Kind::approval, "the policy wants approval"});
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps[step_of("spine1").id - 1].state, StepState::skipped) << plan_lines(plan);
  EXPECT_FALSE(spine1.truth().value(entry("interface[down0]/admin")) == yes());
}

// A remedy that helped in one wave runs again when a later wave breaks the effect.
TEST_F(PlannedRemedies, RunAgainInALaterWave) {
  const Path autoneg = entry("interface[up0]/autoneg");
  const Path beyond = entry("interface[down0]/autoneg");
  leaf0.effects = [done = false, autoneg](Tree& tree) mutable {
    if (tree.value(autoneg) == yes() && !std::exchange(done, true)) tree.set(kGroup, Value::set({"up1"}));
  };
  spine1.effects = [this, done = false, beyond](Tree& tree) mutable {
    if (tree.value(beyond) == yes() && !std::exchange(done, true)) leaf0.set(kGroup, Value::set({"up0"}));
  };
  cluster.want("leaf0", autoneg.text(), yes());
  cluster.want("spine1", beyond.text(), yes());
  Plan plan = cluster.plan();
  for (Step& step : plan.steps)
    if (step.device == "spine1" && step.remedy.empty()) step.wave = 2;
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(leaf.calls.size(), 2U) << plan_lines(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(leaf0.truth().value(kGroup), Value::set({"up0", "up1"}));
}

TEST_F(PlannedRemedies, NotNeededStaysNotNeededWhenTheGateFails) {
  ToldMeasurer measurer;
  measurer.answer = [] { return GateVerdict::fail; };
  cluster.options.measurer = &measurer;
  take_down([](Tree& tree) {
    tree.set(kGroup, Value::set({"up0", "up1"}));
    tree.set(kOtherGroup, Value::set({"up0", "up1"}));
  });
  const Plan plan = cluster.plan();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.gate->verdict, GateVerdict::fail);
  EXPECT_EQ(report.count(StepState::not_needed), 2U);
}

// The plan has the remedies of leaf0 and spine0, but not that of spine1.
TEST_F(PlannedRemedies, ApplyToTheirOwnDeviceOnly) {
  spine1.set(kUplink, kSessionUp);
  take_down([this](Tree&) { spine1.set(kGroup, Value::set({"up0"})); });
  const ApplyReport report = cluster.converge();
  EXPECT_TRUE(other.calls.empty());
  EXPECT_EQ(leaf.calls.size(), 1U);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_EQ(report.notes.back(),
            "spine1: sim remedy reinstall-multipath may help, and is not in this plan: "
            "run \"lockstep plan\" again");
}

// Neither a change at another port of the device nor a remedy for its routes restores a carrier.
TEST_F(PlannedRemedies, UnrelatedOpenEffectIsReportedAsOpenBefore) {
  take_down([](Tree&) {});
  for (const auto& [name, path] :
       {std::pair{"leaf0", "interface[up1]/carrier"}, {"spine1", "interface[down0]/carrier"}}) {
    cluster.want(name, path, yes());
    cluster.devices[name]->set(entry(path), no());
  }
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(leaf.calls.size(), 1U);
  std::vector<std::string> before;
  for (const OpenEffect& one : report.open_before)
    before.push_back(one.device + " " + one.change.path.text());
  EXPECT_EQ(before,
            (std::vector<std::string>{"leaf0 interface[up1]/carrier", "spine1 interface[down0]/carrier"}));
  EXPECT_TRUE(report.effects.empty());
}

}  // namespace
}  // namespace lockstep
