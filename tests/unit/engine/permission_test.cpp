// Changes that a device's own policy refuses: shown in the plan, and never made, whoever approves, not even
// by a rollback or a remedy.
#include <nlohmann/json.hpp>

#include "cluster.hpp"
#include "tests/plan_lines.hpp"
#include "tests/told_gate.hpp"

namespace lockstep {
namespace {

class OnlyMtu : public Permission {
 public:
  std::optional<std::string> why_not(const Change& change) const override {
    if (!refuses) return std::nullopt;
    const bool refused = change.path.text().find(refused_text) != std::string::npos;
    return refused ? std::optional<std::string>("host.yaml:7 says no") : std::nullopt;
  }
  std::optional<std::string> why_not_unasked() const override { return unasked; }
  std::optional<std::string> why_not_confirm_deletion() const override { return std::nullopt; }
  bool refuses = true;
  std::string refused_text = "core_pattern";
  std::optional<std::string> unasked;
};

class Allowed : public testing::Test {
 protected:
  void SetUp() override {
    cluster_.add("gpu1");
    cluster_.attached(0).permission = &permission_;
    cluster_.want("gpu1", "sysctl[kernel.core_pattern]", Value::text("|/tmp/x"));
    cluster_.want("gpu1", "sysctl[vm.swappiness]", Value::text("1"));
    // Everything that can be approved is approved.
    cluster_.options.approved = {Hold::Kind::approval,  Hold::Kind::budget,      Hold::Kind::drain,
                                 Hold::Kind::in_person, Hold::Kind::host_policy, Hold::Kind::management};
    cluster_.options.refusals_approved = true;
  }
  Value is(const char* path) const { return cluster_.devices.at("gpu1")->truth().value(entry(path)); }
  OnlyMtu permission_;
  Cluster cluster_;
};

TEST_F(Allowed, RefusedSettingIsASeparateStepThatNoApprovalLifts) {
  const Plan plan = cluster_.plan();
  ASSERT_EQ(plan.steps.size(), 2U) << plan_lines(plan);
  EXPECT_TRUE(plan.refused_by_host());
  const Step& refused = plan.steps[0].holds.empty() ? plan.steps[1] : plan.steps[0];
  ASSERT_EQ(refused.holds.size(), 1U);
  EXPECT_EQ(refused.holds[0].kind, Hold::Kind::host_policy);
  EXPECT_EQ(refused.holds[0].reason, "sysctl[kernel.core_pattern]: host.yaml:7 says no");
  EXPECT_NE(to_json(plan).dump().find(R"("kind":"hostPolicy")"), std::string::npos);
  const ApplyReport report = cluster_.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_FALSE(is("sysctl[kernel.core_pattern]"));
  EXPECT_EQ(is("sysctl[vm.swappiness]"), Value::text("1"));
}

TEST_F(Allowed, DriftReportsTheHostPolicyReason) {
  const DriftReport report = cluster_.report();
  ASSERT_EQ(report.items.size(), 2U);
  for (const DriftEntry& item : report.items) {
    EXPECT_EQ(item.state, DriftState::drifted);
    EXPECT_EQ(item.reason, item.path.text() == "sysctl[kernel.core_pattern]" ? "host.yaml:7 says no" : "");
  }
  EXPECT_EQ(report.exit_code(), 2);
}

// The route depends on a refused setting, so it is not tried.
TEST_F(Allowed, DependentOfARefusedSettingIsSkipped) {
  permission_.refused_text = "admin";
  cluster_.want("gpu1", "interface[rail0]/admin", yes());
  cluster_.want("gpu1", "route[main:10.0.0.0/8]", Value::set({"via 10.0.0.0 dev rail0"}));
  EXPECT_EQ(cluster_.converge().verdict, ApplyVerdict::partly);
  EXPECT_FALSE(is("interface[rail0]/admin"));
  EXPECT_FALSE(is("route[main:10.0.0.0/8]"));
  EXPECT_EQ(is("sysctl[vm.swappiness]"), Value::text("1"));
}

class FailingGate : public ToldGate {
 public:
  explicit FailingGate(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  Result<GateVerdict> tell(const GateQuestion&) override {
    meanwhile_();
    return GateVerdict::fail;
  }

 private:
  std::function<void()> meanwhile_;
};

// The policy was edited while the change was measured.
TEST_F(Allowed, RollbackObeysThePolicyToo) {
  cluster_.intents.at("gpu1")->want.erase(entry("sysctl[kernel.core_pattern]"));
  FailingGate gate([this] { permission_.refused_text = "swappiness"; });
  cluster_.options.measurer = &gate;
  const ApplyReport report = cluster_.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undo_failed);
  EXPECT_EQ(is("sysctl[vm.swappiness]"), Value::text("1"));
  ASSERT_EQ(report.undone.size(), 1U);
  const std::vector<StepResult>& steps = report.undone[0].steps;
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_NE(steps[0].why.find("host.yaml:7"), std::string::npos) << steps[0].why;
}

class CountedRemedy : public Remedy {
 public:
  std::optional<Offer> offer(const Change&) const override {
    return Offer{"heal", "heals", Disruption::traffic, 3, std::chrono::seconds(60)};
  }
  Result<Done> cure(const ChangeSet&, const Call&) override {
    ++cures;
    return Done{};
  }
  int cures = 0;
};

class AllowedRemedy : public Allowed {
 protected:
  void SetUp() override {
    Allowed::SetUp();
    cluster_.intents.at("gpu1")->want.erase(entry("sysctl[kernel.core_pattern]"));
    cluster_.want("gpu1", "interface[rail0]/health", Value::text("healthy"));
    cluster_.attached(0).remedy = &remedy_;
    permission_.refused_text = "health";
    cluster_.options.settle_time = std::chrono::milliseconds(500);
  }
  CountedRemedy remedy_;
};

TEST_F(AllowedRemedy, PlannedRemedyIsRefusedLikeAnyStep) {
  cluster_.intents.at("gpu1")->want.erase(entry("sysctl[vm.swappiness]"));
  const Plan plan = cluster_.plan();
  ASSERT_EQ(plan.steps.size(), 1U) << plan_lines(plan);
  EXPECT_EQ(plan.steps[0].remedy, "heal");
  EXPECT_TRUE(plan.refused_by_host());
  (void)cluster_.apply_plan(plan);
  EXPECT_EQ(remedy_.cures, 0);
}

TEST_F(AllowedRemedy, RemedyAfterAChangeIsRefusedToo) {
  const ApplyReport report = cluster_.converge();
  EXPECT_EQ(remedy_.cures, 0);
  ASSERT_EQ(report.steps.size(), 2U);
  EXPECT_EQ(report.steps[1].state, StepState::held);
  EXPECT_EQ(report.steps[1].why, "interface[rail0]/health: host.yaml:7 says no");
  permission_.refuses = false;
  (void)cluster_.converge();
  EXPECT_GT(remedy_.cures, 0) << "the refusal was what kept it back";
}

TEST_F(AllowedRemedy, DisruptiveRemedyNeedsInteractiveApproval) {
  permission_.refuses = false;
  permission_.unasked = "the policy wants an answer";
  cluster_.options.approved = {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::drain};
  (void)cluster_.converge();
  EXPECT_EQ(remedy_.cures, 0);
}

TEST_F(Allowed, InteractiveApprovalCannotBeGivenInAdvance) {
  permission_.refuses = false;
  permission_.unasked = "the policy wants an answer";
  cluster_.want("gpu1", "interface[rail0]/mtu", number(9000));
  cluster_.options.approved = {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::drain};  // as with --yes
  EXPECT_EQ(cluster_.converge().verdict, ApplyVerdict::partly);
  EXPECT_FALSE(is("interface[rail0]/mtu"));
  cluster_.options.approved.add(Hold::Kind::in_person);
  EXPECT_EQ(cluster_.converge().verdict, ApplyVerdict::kept);
  EXPECT_EQ(is("interface[rail0]/mtu"), number(9000));
}

}  // namespace
}  // namespace lockstep
