// Which specs a device belongs to after an apply: the applied ones, the earlier ones, or none.
#include "reconciler/session/applied_specs.hpp"

#include "lab.hpp"

namespace lockstep {
namespace {

class Belongs : public Lab {
 protected:
  Belongs() {
    apply(open());  // gpu1, gpu2 and leaf0 match these specs
    folder.write("specs/hosts.yaml",
                 std::string(kProfile).replace(std::string(kProfile).find("probing: 0"), 10, "probing: 2"));
    open();
    auto opened = session->read_store();
    if (!opened) throw std::runtime_error(opened.error().text());
    store = *std::move(opened);
    EXPECT_TRUE(store->leadership().take("test"));
    plan.steps = {step(1, "gpu1"), step(2, "gpu1"), step(3, "gpu2")};
    report.change_id = 7;
    for (const Step& one : plan.steps) report.steps.push_back(result(one.id, StepState::done));
  }
  static Step step(std::uint32_t id, const std::string& device) {
    Step out;
    out.id = id;
    out.device = device;
    return out;
  }
  static StepResult result(std::uint32_t id, StepState state) {
    StepResult out;
    out.id = id;
    out.state = state;
    out.writes = state == StepState::done ? 1 : 0;
    return out;
  }
  // Those of gpu1 and gpu2 that belong to other specs or to none.
  std::vector<std::string> others(const std::set<std::string>& left_out = {}) {
    AppliedSpecs specs(plan);
    EXPECT_TRUE(specs.begin(*session, store->blobs()));
    EXPECT_TRUE(specs.end(*session, plan, report, left_out, store->blobs()));
    return others_by_record(false);
  }
  std::vector<std::string> others_by_record(bool only_applied) {
    const Fleet& fleet = session->fleet();
    const auto all = applied_otherwise(fleet, session->origins(), {*fleet.find("gpu1"), *fleet.find("gpu2")},
                                       only_applied, store->blobs());
    std::vector<std::string> out;
    if (all)
      for (const std::size_t device : *all) out.push_back(fleet[device].name);
    return out;
  }
  using Names = std::vector<std::string>;
  std::unique_ptr<Store> store;
  Plan plan;
  ApplyReport report;
};

TEST_F(Belongs, ToTheAppliedSpecs) { EXPECT_EQ(others(), Names{}); }

TEST_F(Belongs, WithoutARecordToAllSpecsButThoseThatAskForOne) {
  ASSERT_TRUE(store->blobs().keep("applied", nlohmann::json::object()));
  EXPECT_EQ(others_by_record(false), Names{});
  EXPECT_EQ(others_by_record(true), (Names{"gpu1", "gpu2"}));
  others();
  EXPECT_EQ(others_by_record(true), Names{});
}

TEST_F(Belongs, ToTheAppliedSpecsWhateverTheRemedyDid) {
  plan.steps[1].remedy = "reinstall-multipath";
  for (const StepState state : {StepState::not_needed, StepState::failed, StepState::held}) {
    report.steps[1].state = state;
    EXPECT_EQ(others(), Names{}) << to_string(state);
  }
}

TEST_F(Belongs, ToNeitherSpecsWhenOneOfTwoStepsWasDone) {
  report.steps[1] = result(2, StepState::held);
  EXPECT_EQ(others(), Names{"gpu1"});
}

TEST_F(Belongs, NotToTheSpecsWhenAPlanFileExcludedSteps) { EXPECT_EQ(others({"gpu1"}), Names{"gpu1"}); }

// It has no step, but differs.
TEST_F(Belongs, NotToTheSpecsWhenItWasNotRead) {
  plan.steps.pop_back();
  report.steps.pop_back();
  EXPECT_EQ(others({"gpu2"}), Names{"gpu2"});
}

TEST_F(Belongs, ToTheEarlierSpecsAfterAFullRollback) {
  report.verdict = ApplyVerdict::undone;
  UndoneChange& undone = report.undone.emplace_back();
  undone.change = 7;
  undone.whole = true;
  undone.plan.steps = {step(1, "gpu1"), step(2, "gpu2")};
  EXPECT_EQ(others(), (Names{"gpu1", "gpu2"}));
}

// An older change was rolled back on gpu2, and what this run wrote to gpu1 stays.
TEST_F(Belongs, ToTheAppliedSpecsWhenAnotherChangeWasRolledBack) {
  report.verdict = ApplyVerdict::undone;
  UndoneChange& undone = report.undone.emplace_back();
  undone.change = 6;
  undone.whole = true;
  undone.plan.steps = {step(1, "gpu2")};
  EXPECT_EQ(others(), Names{"gpu2"});
}

TEST_F(Belongs, ToTheAppliedSpecsExceptRolledBackNewHosts) {
  report.verdict = ApplyVerdict::undone_in_part;
  report.steps[2].state = StepState::undone;
  UndoneChange& undone = report.undone.emplace_back();
  undone.change = 7;
  undone.whole = true;
  undone.hosts = {"gpu2"};
  undone.plan.steps = {step(1, "gpu2"), step(2, "leaf0")};
  EXPECT_EQ(others(), Names{"gpu2"});
}

}  // namespace
}  // namespace lockstep
