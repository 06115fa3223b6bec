// A plan reports its deletions in the words with which an apply would refuse them.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lab.hpp"
#include "reconciler/report/plan_report.hpp"
#include "reconciler/session/plan_file.hpp"

namespace lockstep {
namespace {

class TakenAway : public Lab {
 protected:
  // Accepts the specs, then removes two objects, which an apply would delete.
  void take_away() {
    ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
    for (const char* const gone : {"hosts.yaml", "slo.yaml"})
      std::filesystem::remove(folder.path() + "/specs/" + gone);
    open();
    plan = *session->plan(session->observe());
    ASSERT_FALSE(plan.empty());
  }
  PlanReport report() {
    PlanReport out;
    out.title = "lab";
    out.plan = plan;
    out.deletion = *session->deletion_by(plan);
    out.deletion_refused = session->why_refused(out.deletion, false);
    return out;
  }
  Plan plan;
};

TEST_F(TakenAway, IsInPlanTextAndJsonWithTheConfirmationFlag) {
  take_away();
  const std::string why =
      "2 of 6 objects are gone from the specs (HostProfile/training, ValidationSuite/slo), more than the 10% "
      "that one change may delete; --confirm-deletion applies it all the same";
  const std::string text = plan_report_text(report(), Terminal{});
  EXPECT_NE(text.find("an apply would be refused: " + why + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  - HostProfile/training\n  - ValidationSuite/slo\n"), std::string::npos) << text;
  const nlohmann::json told = plan_report_json(report()).at("deletionRefused");
  EXPECT_EQ(told, nlohmann::json({{"why", why},
                                  {"devices", nlohmann::json::array()},
                                  {"objects", {"HostProfile/training", "ValidationSuite/slo"}}}));
}

TEST_F(TakenAway, ListsDevices) {
  apply(open());
  std::string fewer = kDevices;
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"gpu[1-2]\n", "gpu1\n"},
        {"gpu[1-2]:rail0\", to: \"leaf0:swp[1-2]", "gpu1:rail0\", to: \"leaf0:swp1"}})
    fewer.replace(fewer.find(from), from.size(), to);
  folder.write("specs/devices.yaml", fewer);
  folder.write("specs/hosts.yaml",
               std::string(kProfile).replace(std::string(kProfile).find("probing: 0"), 10, "probing: 2"));
  open();
  plan = *session->plan(session->observe());
  EXPECT_EQ(session->deletion_by(plan)->devices, std::vector<std::string>{"gpu2"});
}

TEST_F(TakenAway, PlanFileIsRefusedWithoutTheFlag) {
  take_away();
  const std::string file = folder.path() + "/plan.json";
  const PlanAim aim{.source = {}, .only = "", .cluster = session->cluster().state_name()};
  ASSERT_TRUE(write_plan_file(file, aim, plan));
  const PlanFile read = *read_plan_file(file);
  open();
  const CheckedPlan checked = session->still_valid(read.plan, session->observe());
  ASSERT_TRUE(checked.plan && checked.whole());
  const Deletion deletion = *session->deletion_by(*checked.plan);
  EXPECT_EQ(session->why_refused(deletion, false), report().deletion_refused) << "the plan's own words";
  EXPECT_NE(session->why_refused(deletion, false), "");
  EXPECT_EQ(session->why_refused(deletion, true), "");
}

TEST_F(TakenAway, IsNotReportedWhenNoConfirmationIsNeeded) {
  ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
  open();
  plan = *session->plan(session->observe());
  EXPECT_EQ(plan_report_text(report(), Terminal{}).find("refused"), std::string::npos);
  EXPECT_FALSE(plan_report_json(report()).contains("deletionRefused"));
}

}  // namespace
}  // namespace lockstep
