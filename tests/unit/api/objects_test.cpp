// Each object against its golden case in tests/cases/api (LOCKSTEP_UPDATE=1 writes them; read the diff as
// prose), and what must hold of objects whatever their authors wrote.
#include "reconciler/api/objects.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reconciler/api/api_object.hpp"
#include "sample_objects.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

TEST(ApiObjects, AreAsTheirGoldenCasesSay) {
  for (const auto& [name, object] : sample_objects()) {
    const std::string file = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/cases/api/" + name + ".json";
    const std::string text = Json::parse(object.text).dump(2) + "\n";
    if (std::getenv("LOCKSTEP_UPDATE") != nullptr) std::ofstream(file) << text;
    std::ifstream in(file);
    EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << name;
  }
}

TEST(ApiObjects, AreOneLineOfPrintableJsonWhateverDevicesAndSpecsSay) {
  ServiceStatus status = full_status();
  const std::string hostile = "x\n\x1b[31m\xff\xe2\x80\xae\"\\</script>" + std::string(1, '\0') + "y";
  status.revisions[0].made_by.subject = hostile;
  status.revisions[0].shown.why = std::string(100'000, 'w') + "\xc3\xa9";
  status.cordoned.begin()->second.reason = hostile;
  Plan plan = sample_plan();
  plan.steps[0].changes[0].want = Value::text(hostile);
  plan.steps[0].device = hostile;
  const auto made = std::make_shared<const GoalPlan>(plan, Deletion{}, true);
  status.plan->plan = made;
  status.revisions[0].shown.waits = {made->digests()[0]};
  const std::string text =
      to_object(Kind::revision, revision_object(status, 0, {.resource_version = "e-1"})).text;
  EXPECT_EQ(printable(text), text);
  const Json read = Json::parse(text);
  EXPECT_LE(read["status"]["message"].get<std::string>().size(), kTextMax);
  EXPECT_TRUE(read["status"]["message"].get<std::string>().ends_with("www..."));
  EXPECT_EQ(read["spec"]["subject"], "x\\x0a\\x1b[31m\\xff\\u{202e}\"\\</script>\\x00y");
}

// A cut in the middle of a character would not be UTF-8.
TEST(ApiObjects, AreCutBetweenCharacters) {
  for (std::size_t pad = 0; pad < 4; ++pad) {
    std::string text(pad, 'a');
    while (text.size() < 2 * kTextMax) text += "\xf0\x9f\x98\x80";
    Json document = text;
    make_presentable(document);
    EXPECT_FALSE(find_invalid_utf8(document.get<std::string>()));
    EXPECT_LE(document.get<std::string>().size(), kTextMax);
    EXPECT_GT(document.get<std::string>().size(), kTextMax - 8);
  }
}

TEST(ApiObjects, ListNoMoreStepsThanTheirBoundAndSayHowManyThereAre) {
  Plan plan;
  Step step = sample_plan().steps[0];
  step.changes.resize(2 * kChangesShown, step.changes[0]);
  for (std::size_t i = 0; i < kStepsShown + 5; ++i) {
    step.device = "leaf" + std::to_string(i);
    plan.steps.push_back(step);
  }
  ServiceStatus status = full_status();
  const auto made = std::make_shared<const GoalPlan>(plan, Deletion{}, true);
  status.plan->plan = made;
  status.revisions[0].shown.waits = {made->digests().begin(), made->digests().end()};
  const Json object = revision_object(status, 0, {});
  EXPECT_EQ(object["status"]["waiting"].size(), kStepsShown);
  EXPECT_EQ(object["status"]["waitingInAll"], kStepsShown + 5);
  EXPECT_EQ(object["status"]["waiting"][0]["changes"].size(), kChangesShown);
  EXPECT_EQ(object["status"]["waiting"][0]["changesInAll"], 2 * kChangesShown);
}

TEST(ApiObjects, NameTwoRevisionsOfOneSourceDifferently) {
  const ServiceStatus status = full_status();
  EXPECT_EQ(revision_name(status, 1), "3f2a41");
  EXPECT_EQ(revision_name(status, 2), "3f2a41.cc33dd44ee55");
}

TEST(ApiObjects, ShowADeletionThatWaitsForAnApproval) {
  ServiceStatus status = full_status();
  const auto plan = std::make_shared<const GoalPlan>(
      sample_plan(), Deletion{.why = "12 of 14 devices are deleted", .devices = {"gpu1"}, .objects = {}},
      true);
  status.plan->plan = plan;
  status.revisions[0].shown.waits = {plan->deletion()};
  const Json object = revision_object(status, 0, {});
  ASSERT_EQ(object["status"]["waiting"].size(), 1U);
  EXPECT_EQ(object["status"]["waiting"][0]["digest"], plan->deletion());
  EXPECT_EQ(object["status"]["waiting"][0]["deletion"], "12 of 14 devices are deleted");
}

// Somebody may approve it: they have to see what.
TEST(ApiObjects, ARefusedRevisionShowsTheStepsThatWereRefused) {
  ServiceStatus status = full_status();
  const PlanStatus plan = *std::exchange(status.plan, std::nullopt);
  Revisions::Shown& shown = status.revisions[0].shown;
  shown.state = RevisionState::refused;
  shown.why_waits = "1 step needs approval: 1 was refused before: bandwidth fell";
  const Json after_a_restart = revision_object(status, 0, {});
  ASSERT_EQ(after_a_restart["status"]["waiting"].size(), 1U);
  EXPECT_EQ(after_a_restart["status"]["waiting"][0]["digest"], *shown.waits.begin());
  EXPECT_EQ(after_a_restart["status"]["waiting"][0]["holds"], Json::array({shown.why_waits}));
  status.refused = plan;
  const Json object = revision_object(status, 0, {});
  ASSERT_EQ(object["status"]["waiting"].size(), 1U);
  EXPECT_EQ(object["status"]["waiting"][0]["device"], "leaf0");
}

}  // namespace
}  // namespace lockstep::api
