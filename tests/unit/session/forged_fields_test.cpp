// Plan files from which one field of a step was removed, with matching digests: the current plan decides what
// runs.
#include <gtest/gtest.h>

#include "forged_plan.hpp"
#include "reconciler/engine/earlier_plan.hpp"
#include "reconciler/report/apply_report.hpp"

namespace lockstep {
namespace {

constexpr const char* kCareful = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec:
  selector: {}
  waves: ["1", "100%"]
  approval: {none: manual, traffic: manual, reset: manual}
)yaml";

// The plan is made on a cluster in service, so that steps are live, in waves, held, and at both ends of
// links.
class ForgedField : public ForgedPlan {
 protected:
  void plan_in_service() {
    folder.write("specs/policy.yaml", kCareful);
    open();
    for (const auto& [name, device] : devices)
      for (const Entry& one : intents.at(name).want.entries())
        if (schema_row(one.path.row()).facet == Facet::config && !device->truth().value(one.path))
          device->set(one.path, one.value);
    for (const auto& [name, port] : ports) device(name).set(mtu(port), Value::integer(1500));
    plan_to_file();
    planned = honest();
  }
  SimulatedDevice& device(const std::string& name) { return *devices.at(name); }
  static Path mtu(const std::string& port) { return *Path::parse("interface[" + port + "]/mtu"); }

  // Like `lockstep apply plan.json` without approvals: steps held by the current plan stay held.
  Outcome apply_unapproved() {
    const PlanFile read = *read_plan_file(file());
    open();
    for (const auto& [name, one] : devices)
      one->seen = [this, name = name](const SimulatedCall& call) {
        if (call.kind != SimulatedCall::Kind::apply) return;
        for (const Change& change : *call.changes)
          asked.insert(name + " " + change.path.text() + " " + change.want.to_string());
      };
    const ApplyRequest request{.command = "test", .author = "ann"};
    if (!session->prepare_apply(request)) throw std::runtime_error("locked");
    CheckedPlan checked = session->still_valid(read.plan, session->observe());
    Outcome out{checked.plan ? "" : checked.plan.error().text(), "", checked.unapproved.size()};
    for (const auto& [id, why] : checked.refused) out.refused += std::to_string(id) + ": " + why + "\n";
    if (checked.plan) ran = session->apply(*checked.plan, {}, request, {}).report;
    if (checked.plan) run = *std::move(checked.plan);
    return out;
  }
  Step& forged(Plan& plan) const { return step_with(plan, "gpu1", kMtu); }

  const std::vector<std::pair<std::string, std::string>> ports{
      {"gpu1", "rail0"}, {"gpu2", "rail0"}, {"leaf0", "swp1"}, {"leaf0", "swp2"}};
  std::set<std::string> planned;
  ApplyReport ran;
  Plan run;
};

struct Field {
  const char* name;
  bool (*take)(Step&);  // returns false when there was nothing to remove
};
const std::vector<Field>& fields() {
  static const std::vector<Field> all{
      {"holds", [](Step& step) { return !std::exchange(step.holds, {}).empty(); }},
      {"live", [](Step& step) { return std::exchange(step.live, false); }},
      {"disruption",
       [](Step& step) { return std::exchange(step.disruption, Disruption::none) != Disruption::none; }},
      {"together", [](Step& step) { return std::exchange(step.together, 0) != 0; }},
      {"after", [](Step& step) { return !std::exchange(step.after, {}).empty(); }},
      {"wave", [](Step& step) { return std::exchange(step.wave, 1) != 1; }},
      {"undo after", [](Step& step) { return std::exchange(step.undo_after, std::nullopt).has_value(); }},
      {"notes", [](Step& step) { return !std::exchange(step.notes, {}).empty(); }}};
  return all;
}

// Removing a field from one step, or all fields from all steps, does not make a step run that needs approval.
TEST_F(ForgedField, HeldStepsDoNotRunWhateverTheFileOmits) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i <= fields().size(); ++i) {
    plan_in_service();
    forge([&](Plan& plan) {
      for (Step& step : plan.steps)
        for (std::size_t f = 0; f < fields().size(); ++f)
          if ((i == fields().size() || i == f) && fields()[f].take(step)) taken.insert(fields()[f].name);
    });
    asked.clear();
    const Outcome outcome = apply_unapproved();
    EXPECT_EQ(asked, std::set<std::string>{}) << i << outcome.refused << outcome.error;
    for (const auto& [name, port] : ports)
      EXPECT_EQ(device(name).truth().value(mtu(port)), Value::integer(1500)) << i << " " << name;
    for (const Step& step : run.steps) EXPECT_FALSE(step.holds.empty()) << "runs with the holds of now";
  }
  for (const char* const name : {"holds", "live", "disruption", "together", "after"})
    EXPECT_TRUE(taken.contains(name)) << name << ": no step had it, so that nothing was tried";
}

// With approval: a weaker field of the file is refused or not used.
TEST_F(ForgedField, WeakerFieldOfTheFileIsNeverUsed) {
  for (const Field& field : fields()) {
    plan_in_service();
    bool had = false;
    Step honest_step;
    forge([&](Plan& plan) {
      honest_step = forged(plan);
      had = field.take(forged(plan));
    });
    if (!had) continue;
    asked.clear();
    const Outcome outcome = apply_file();
    const bool ran_it = std::any_of(asked.begin(), asked.end(),
                                    [](const std::string& one) { return one.starts_with("gpu1 interface"); });
    const std::string name = field.name;
    if (name == "together" || name == "notes")
      EXPECT_TRUE(ran_it) << name << outcome.refused << outcome.error;
    else
      EXPECT_FALSE(ran_it) << name << " was believed";
    for (const std::string& one : asked) EXPECT_TRUE(planned.contains(one)) << name << ": " << one;
  }
}

// The current plan is binding: the group succeeds or fails as one, whatever the file contains.
TEST_F(ForgedField, GroupFailsAsOneEvenIfTheFileOmitsIt) {
  plan_in_service();
  std::size_t ends = 0;
  forge([&](Plan& plan) {
    for (Step& step : plan.steps) {
      ends += step.together != 0 ? 1 : 0;
      step.together = 0;
    }
    forged(plan).disruption = Disruption::none;
  });
  EXPECT_GT(ends, 1U);
  const Outcome outcome = apply_file();
  EXPECT_NE(outcome.refused.find("(gpu1), the other end of a cable: its disruption is"), std::string::npos)
      << outcome.refused;
  for (const auto& [name, port] : ports)
    EXPECT_EQ(device(name).truth().value(mtu(port)), Value::integer(1500)) << name;
}

// The file lacks the step at one end of a link: the step at the other end is refused with that reason.
TEST_F(ForgedField, MissingStepRefusesTheOtherEnd) {
  plan_in_service();
  forge([&](Plan& plan) {
    std::map<std::uint32_t, std::string> gone{{forged(plan).id, ""}};
    plan = without(plan, gone);
    for (Step& step : plan.steps) step.together = 0;
  });
  const Outcome outcome = apply_file();
  EXPECT_GT(outcome.unapproved, 0U);
  EXPECT_NE(outcome.refused.find("a step of gpu1, the other end of a cable"), std::string::npos)
      << outcome.refused;
  EXPECT_EQ(device("leaf0").truth().value(mtu("swp1")), Value::integer(1500));
}

// The remaining steps must not leave cable ends at different MTUs with exit code 0.
TEST_F(ForgedField, UnreachableOrChangedDeviceRefusesItsFarEnds) {
  for (const bool moved : {true, false}) {
    plan_in_service();
    if (moved)
      device("gpu1").set(mtu("rail0"), Value::integer(1400));
    else
      device("gpu1").unreachable = true;
    asked.clear();
    const Outcome outcome = apply_file();
    device("gpu1").unreachable = false;
    EXPECT_NE(outcome.refused.find(moved ? "gpu1 has changed" : "gpu1 can't be observed"), std::string::npos)
        << outcome.refused;
    EXPECT_EQ(device("leaf0").truth().value(mtu("swp1")), Value::integer(1500)) << outcome.refused;
    EXPECT_EQ(device("gpu2").truth().value(mtu("rail0")), device("leaf0").truth().value(mtu("swp2")));
  }
}

TEST_F(ForgedField, RefusedStepIsReportedWithDeviceReasonAndFarEnd) {
  plan_in_service();
  device("gpu1").set(mtu("rail0"), Value::integer(1400));
  const PlanFile read = *read_plan_file(file());
  open();
  const CheckedPlan checked = session->still_valid(read.plan, session->observe());
  ASSERT_FALSE(checked.refused.empty());
  const nlohmann::json told = left_out_json(checked, read.plan);
  bool other_end = false;
  for (const nlohmann::json& one : told) {
    if (one["state"] == "notInPlanFile") continue;
    EXPECT_EQ(one["state"], "refused");
    const Step& step = read.plan.steps.at(one["step"].get<std::size_t>() - 1);
    EXPECT_EQ(one["device"], step.device);
    EXPECT_NE(one["reason"].get<std::string>().find("gpu1 has changed"), std::string::npos) << one;
    other_end = other_end || (step.device == "leaf0" && one.value("otherEnd", "") == "gpu1");
  }
  EXPECT_TRUE(other_end) << told;
  const std::string text = left_out_text(checked, read.plan, Terminal{});
  for (const auto& [id, why] : checked.refused)
    EXPECT_NE(text.find(read.plan.steps[id - 1].device + " step " + std::to_string(id) +
                        " of the plan file is refused: " + why),
              std::string::npos)
        << text;
  EXPECT_FALSE(checked.only_unobserved());
}

}  // namespace
}  // namespace lockstep
