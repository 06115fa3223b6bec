// Plan files whose author can compute digests. The writes that devices received show what was accepted.
#include "forged_plan.hpp"

#include <algorithm>

namespace lockstep {
namespace {

TEST_F(ForgedPlan, HonestFileIsAppliedCompletely) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  const Outcome outcome = apply_file();
  EXPECT_EQ(outcome.error + outcome.refused, "");
  EXPECT_EQ(outcome.unapproved, 0U);
  EXPECT_EQ(asked, planned);
  EXPECT_EQ(at("gpu1", kMtu), Value::integer(9000));
}

TEST_F(ForgedPlan, ForgedValueIsNotWritten) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) { change_of(plan, "gpu1", kMtu).want = Value::integer(1280); });
  expect_refused(apply_file(), planned, "gpu1", "interface[rail0]/mtu from");
}

TEST_F(ForgedPlan, ForgedFormerValueIsRefused) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) { change_of(plan, "gpu1", kProbing).was = Value::text("2"); });
  expect_refused(apply_file(), planned, "gpu1",
                 "it changes sysctl[net.ipv4.tcp_mtu_probing] from 1 to 0 now");
}

TEST_F(ForgedPlan, ExtraChangeIsNotWritten) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) {
    step_with(plan, "gpu1", kMtu)
        .changes.push_back(
            {*Path::parse("sysctl[kernel.core_pattern]"), {}, Value::text("|/tmp/x"), 0, false});
  });
  expect_refused(apply_file(), planned, "gpu1", "the specs don't ask for sysctl[kernel.core_pattern]");
}

TEST_F(ForgedPlan, ForgedTransientChangeIsNotWritten) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) {
    std::vector<PlannedChange>& changes = step_with(plan, "gpu1", kProbing).changes;
    const Path path = *Path::parse("sysctl[kernel.modprobe]");
    changes.insert(changes.begin(), {path, {}, Value::text("/tmp/x"), 0, true});
    changes.push_back({path, Value::text("/tmp/x"), {}, 0, true});
  });
  expect_refused(apply_file(), planned, "gpu1", "the specs don't ask for sysctl[kernel.modprobe]");
}

TEST_F(ForgedPlan, ExtraStepIsNotRun) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) {
    Step extra = plan.steps.front();
    extra.id = static_cast<std::uint32_t>(plan.steps.size() + 1);
    extra.after.clear();
    extra.together = 0;  // otherwise its group is refused with it
    extra.changes = {{*Path::parse("sysctl[kernel.core_pattern]"), {}, Value::text("|/tmp/x"), 0, false}};
    plan.steps.push_back(extra);
  });
  const Outcome outcome = apply_file();
  EXPECT_NE(outcome.refused.find("the specs don't ask for it now"), std::string::npos) << outcome.refused;
  EXPECT_EQ(asked, planned);
}

TEST_F(ForgedPlan, DuplicateStepIsRunOnce) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) {
    Step again = plan.steps.front();
    again.id = static_cast<std::uint32_t>(plan.steps.size() + 1);
    again.together = 0;  // otherwise its group is refused with it
    plan.steps.push_back(again);
  });
  EXPECT_NE(apply_file().refused.find("it is there twice"), std::string::npos);
  EXPECT_EQ(asked, planned);
}

TEST_F(ForgedPlan, StepMovedToAnotherDeviceIsNotRun) {
  plan_to_file({"gpu1"});
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) {
    for (Step& step : plan.steps) step.device = "gpu2";
    for (PlanDevice& device : plan.devices) device.name = "gpu2";
  });
  EXPECT_NE(apply_file({"gpu1"}).error, "");
  EXPECT_EQ(asked, std::set<std::string>{});
}

TEST_F(ForgedPlan, StepsOfUnselectedDevicesAreNotRun) {
  plan_to_file();
  const Outcome outcome = apply_file({"gpu1"});
  EXPECT_NE(outcome.refused.find("the specs don't ask for it now"), std::string::npos) << outcome.refused;
  for (const std::string& one : asked) EXPECT_TRUE(one.starts_with("gpu1 ")) << one;
}

TEST_F(ForgedPlan, WithoutADeviceListNothingIsRun) {
  plan_to_file();
  forge([](Plan& plan) { plan.devices.clear(); });
  const Outcome outcome = apply_file();
  EXPECT_NE(outcome.refused.find("does not say on which ground of gpu1 it stands"), std::string::npos);
  EXPECT_NE(outcome.error, "");
  EXPECT_EQ(asked, std::set<std::string>{});
}

TEST_F(ForgedPlan, LowerDisruptionIsRefused) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) { step_with(plan, "gpu1", kMtu).disruption = Disruption::none; });
  expect_refused(apply_file(), planned, "gpu1", "its disruption is");
}

TEST_F(ForgedPlan, RemovedHoldIsRefused) {
  folder.write("specs/policy.yaml", R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec: {selector: {matchLabels: {pool: lab}}, approval: {traffic: manual, reset: manual}}
)yaml");
  open();  // a port with an address carries traffic
  devices.at("gpu1")->set(*Path::parse("interface[rail0]/address[10.64.0.1/31]"), Value::present());
  plan_to_file();
  const std::set<std::string> planned = honest();
  bool was_held = false;
  forge([&](Plan& plan) {
    std::vector<Hold>& holds = step_with(plan, "gpu1", kMtu).holds;
    was_held = !holds.empty();
    holds.clear();
  });
  EXPECT_TRUE(was_held) << "nothing was hidden";
  expect_refused(apply_file(), planned, "gpu1", "it is held now: the policy requires approval");
}

TEST_F(ForgedPlan, HugeWaveNumberIsRefused) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) { step_with(plan, "gpu1", kMtu).wave = 4'000'000'000; });
  const Outcome outcome = apply_file();
  EXPECT_NE(outcome.error.find("a wave has no step"), std::string::npos) << outcome.error;
  expect_refused(outcome, planned, "gpu1", "");
}

TEST_F(ForgedPlan, ForgedAutomaticRollbackTimeIsRefused) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) { step_with(plan, "gpu1", kMtu).undo_after = std::chrono::milliseconds(1); });
  expect_refused(apply_file(), planned, "gpu1", "when the device undoes it by itself is another now");
}

TEST_F(ForgedPlan, ForgedOriginIsRefused) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  forge([](Plan& plan) {
    plan.origins.push_back({"/etc/passwd", 1, 1, "HostProfile/harmless", "said"});
    change_of(plan, "gpu1", kMtu).origin = static_cast<std::uint32_t>(plan.origins.size() - 1);
  });
  expect_refused(apply_file(), planned, "gpu1", "not from /etc/passwd:1:1");
}

TEST_F(ForgedPlan, ForgedOrderIsRefusedWithLaterSteps) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  std::uint32_t forged = 0;
  forge([&](Plan& plan) {
    for (Step& step : plan.steps) {
      if (step.after.empty()) continue;
      forged = step.id;
      step.after.clear();
      return;
    }
  });
  ASSERT_NE(forged, 0U) << "no step comes after another";
  const Outcome outcome = apply_file();
  EXPECT_NE(outcome.refused.find(std::to_string(forged) + ": it comes after another step now"),
            std::string::npos)
      << outcome.refused;
  EXPECT_LT(asked.size(), planned.size());
}

TEST_F(ForgedPlan, StepAfterARefusedStepIsRefused) {
  plan_to_file();
  std::uint32_t forged = 0;
  std::string after;
  forge([&](Plan& plan) {
    for (const Step& step : plan.steps) {
      if (step.after.empty()) continue;
      forged = step.after.front();
      after = std::to_string(step.id) + ": comes after step " + std::to_string(forged) + ": its disruption";
      plan.steps[forged - 1].disruption = Disruption::reboot;
      return;
    }
  });
  ASSERT_NE(forged, 0U) << "no step comes after another";
  const Outcome outcome = apply_file();
  EXPECT_NE(outcome.refused.find(after), std::string::npos) << outcome.refused;
}

TEST_F(ForgedPlan, StepsMissingFromTheFileAreCountedAndNotRun) {
  open();  // no changes to entries that must match at both ends of a cable
  for (const auto& [name, device] : devices)
    for (const Entry& one : intents.at(name).want.entries())
      if (one.path.text().ends_with("/mtu") || one.path.text().ends_with("/speed"))
        device->set(one.path, one.value);
  plan_to_file();
  const std::set<std::string> planned = honest();
  std::size_t lacking = 0;
  forge([&](Plan& plan) {
    std::vector<Step> first{plan.steps.front()};
    lacking = plan.steps.size() - 1;
    plan.steps = std::move(first);
  });
  const Outcome outcome = apply_file();
  EXPECT_EQ(outcome.error + outcome.refused, "");
  EXPECT_EQ(outcome.unapproved, lacking);
  EXPECT_GT(lacking, 0U);
  EXPECT_LT(asked.size(), planned.size());
  EXPECT_FALSE(asked.empty());
}

// The steps of other specs or of another cluster, with the device list of this one.
TEST_F(ForgedPlan, PlanOfOtherSpecsIsRefusedWhereTheyDiffer) {
  plan_to_file();
  const std::set<std::string> planned = honest();
  std::vector<PlanDevice> ground;
  forge([&](Plan& plan) { ground = plan.devices; });
  std::string others = kProfile;
  others.replace(others.find("tcp_mtu_probing: 0"), 18, "tcp_mtu_probing: 2");
  folder.write("specs/hosts.yaml", others);
  plan_to_file();
  folder.write("specs/hosts.yaml", kProfile);
  forge([&](Plan& plan) { plan.devices = ground; });
  const Outcome outcome = apply_file();
  EXPECT_NE(outcome.refused.find("it changes sysctl[net.ipv4.tcp_mtu_probing] from 1 to 0 now, not"),
            std::string::npos)
      << outcome.refused;
  for (const std::string& one : asked) EXPECT_TRUE(planned.contains(one)) << one << " was asked for";
}

TEST_F(ForgedPlan, WindowOpenedSinceThePlanIsNoDifference) {
  folder.write("specs/policy.yaml", R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: mondays}
spec: {selector: {matchLabels: {pool: lab}}, windows: [{days: Mon, from: "00:01", to: "23:59"}]}
)yaml");
  plan_to_file();  // on a Thursday: 1970-01-01
  const std::set<std::string> planned = honest();
  bool waited = false;
  forge([&](Plan& plan) {
    const std::vector<Hold>& holds = step_with(plan, "gpu1", kMtu).holds;
    waited = !holds.empty() && holds.front().kind == Hold::Kind::window;
  });
  EXPECT_TRUE(waited);
  executor.wall_epoch += std::chrono::hours(4 * 24 + 1);
  EXPECT_EQ(apply_file().refused, "");
  EXPECT_EQ(asked, planned);
}

TEST_F(ForgedPlan, InvalidDocumentIsRefusedOnReading) {
  using Json = nlohmann::json;
  const std::vector<std::pair<std::function<void(Json&)>, std::string>> forged{
      {[](Json& j) { j["steps"][1]["id"] = 1; }, "not numbered"},
      {[](Json& j) { j["steps"][0]["after"] = {1}; }, "comes after one that is not before it"},
      {[](Json& j) { j["steps"][0]["after"] = {2}; }, "comes after one that is not before it"},
      {[](Json& j) { j["steps"][0]["after"] = {-1}; }, "comes after one that is not before it"},
      {[](Json& j) { j["steps"][0].erase("after"); }, "'after' is missing"},
      {[](Json& j) { j["steps"][0]["id"] = 1e300; }, "'id' is of the wrong type"},
      {[](Json& j) { j["steps"][0]["wave"] = 1ULL << 40; }, "'wave' is of the wrong type"},
      {[](Json& j) { j["steps"][0]["undoAfterMs"] = 1ULL << 40; }, "'undoAfterMs' is of the wrong type"},
      {[](Json& j) { j["devices"] = 7; }, "'devices' is missing"},
      {[](Json& j) { j["aim"]["specs"] = Json::array(); }, "is not a plan"},
      {[](Json& j) { j["aim"].erase("only"); }, "is not a plan"},
      {[](Json& j) { j["aim"]["specs"][0] = "/tmp"; }, "was edited or cut"},
      {[](Json& j) { j["aim"]["only"] = "gpu1"; }, "was edited or cut"},
      {[](Json& j) { j["aim"]["renumber"] = true; }, "was edited or cut"},
      {[](Json& j) { j["aim"]["cluster"] = "other"; }, "was edited or cut"},
      {[](Json& j) { j["summary"]["changes"] = 0; }, "was edited or cut"},
      {[](Json& j) { j["steps"][0]["disruption"] = "none"; }, "was edited or cut"},
      {[](Json& j) { j["steps"][0]["notes"] = {"harmless"}; }, "was edited or cut"},
      {[](Json& j) { j["steps"][0]["changes"][0]["origin"]["line"] = 1; }, "was edited or cut"},
      {[](Json& j) { j["steps"][0]["changes"][0]["transient"] = true; }, "was edited or cut"},
      {[](Json& j) { j["refusals"] = {7}; }, "was edited or cut"},
      {[](Json& j) { j["more"] = 1; }, "was edited or cut"},
      {[](Json& j) { j["fileDigest"] = "sha256:0"; }, "was edited or cut"},
      {[](Json& j) { j.erase("fileDigest"); }, "was edited or cut"}};
  plan_to_file();
  const Json honest = Json::parse(std::ifstream(file()));
  for (std::size_t i = 0; i < forged.size(); ++i) {
    edit([&](Json& document) {
      document = honest;
      forged[i].first(document);
    });
    const Result<PlanFile> read = read_plan_file(file());
    ASSERT_FALSE(read) << i;
    EXPECT_NE(read.error().text().find(forged[i].second), std::string::npos) << i << read.error().text();
  }
}

// So deep that recursion would exceed any stack.
TEST_F(ForgedPlan, DeeplyNestedDocumentIsRefusedOnReading) {
  plan_to_file();
  std::ifstream in(file());
  const std::string honest{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string digest = read_plan_file(file())->plan.digest;
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string at : {"\"aim\": {", "\"summary\": {", "\"changes\": [\n        {"})
    for (const std::string name : {"more", "specs", "transient", "live", "was"}) {
      std::string text = honest;
      ASSERT_NE(text.find(at), std::string::npos) << at;
      text.insert(text.find(at) + at.size(), "\"" + name + "\": " + deep + ",");
      std::ofstream(file(), std::ios::trunc) << text;
      const Result<PlanFile> read = read_plan_file(file());
      EXPECT_EQ(read ? read->plan.digest : digest, digest)
          << "of two of one name, the honest one comes later";
    }
}

}  // namespace
}  // namespace lockstep
