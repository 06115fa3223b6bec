// The conditions of a change: by each outcome that the ledger stores, and by what was measured.
#include "reconciler/api/change_conditions.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_status.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

RunHead run_of(std::uint64_t number, RunPurpose purpose, const std::string& verdict) {
  RunHead out = sample_run();
  out.number = number;
  out.purpose = purpose;
  out.verdict = verdict;
  return out;
}

HistoryChange ended_as(const std::string& outcome, std::vector<RunHead> runs = {}) {
  HistoryChange out = sample_change().change;
  out.record.outcome = outcome;
  out.runs = std::move(runs);
  return out;
}

// "Ready=True(Kept)", in order.
std::vector<std::string> told(const HistoryChange& change) {
  std::vector<std::string> out;
  for (const Json& one : change_conditions(change, 1))
    out.push_back(one["type"].get<std::string>() + "=" + one["status"].get<std::string>() + "(" +
                  one["reason"].get<std::string>() + ")");
  return out;
}
using All = std::vector<std::string>;

TEST(ChangeConditions, FollowTheOutcome) {
  const std::vector<RunHead> passed{run_of(3, RunPurpose::before, "fail"),
                                    run_of(4, RunPurpose::after, "pass")};
  const std::vector<RunHead> failed{run_of(3, RunPurpose::before, "pass"),
                                    run_of(4, RunPurpose::after, "fail"),
                                    run_of(5, RunPurpose::again, "pass")};
  const std::vector<std::tuple<std::string, std::vector<RunHead>, All>> cases{
      {"kept", passed, {"Ready=True(Kept)", "Validated=True(GatePassed)"}},
      {"kept", {}, {"Ready=True(Kept)", "Validated=Unknown(NotMeasured)"}},
      {"kept", {passed[0]}, {"Ready=True(Kept)", "Validated=Unknown(NotMeasured)"}},
      {"kept", failed, {"Ready=True(Kept)", "Validated=False(ObjectivesFailed)"}},
      {"kept",
       {failed[1], run_of(6, RunPurpose::confirm, "pass")},
       {"Ready=True(Kept)", "Validated=True(GatePassed)"}},
      {"kept",
       {run_of(4, RunPurpose::after, "unknown")},
       {"Ready=True(Kept)", "Validated=Unknown(NotJudged)"}},
      {"nothing to do", {}, {"Ready=True(NothingToDo)", "Validated=Unknown(NotMeasured)"}},
      {"undone", failed, {"Ready=False(RolledBack)", "Validated=False(GateFailed)"}},
      {"undo failed",
       failed,
       {"Ready=False(RollbackFailed)", "Stalled=True(RollbackFailed)", "Validated=False(GateFailed)"}},
      {"quarantined",
       failed,
       {"Ready=False(Quarantined)", "Stalled=True(Quarantined)", "Validated=False(GateFailed)"}},
      {"undone in part",
       failed,
       {"Ready=False(RolledBackInPart)", "Stalled=True(RolledBackInPart)", "Validated=False(GateFailed)"}},
      {"partly", passed, {"Ready=False(Partly)", "Stalled=True(Partly)", "Validated=True(GatePassed)"}},
      {"effects open",
       {},
       {"Ready=False(EffectsOpen)", "Stalled=True(EffectsOpen)", "Validated=Unknown(NotMeasured)"}},
      {"waits for a window",
       {},
       {"Ready=False(WaitsForWindow)", "Stalled=True(WaitsForWindow)", "Validated=Unknown(NotMeasured)"}},
      {"needs approval",
       {},
       {"Ready=False(ApprovalNeeded)", "Stalled=True(ApprovalNeeded)", "Validated=Unknown(NotMeasured)"}},
      {"stopped", {}, {"Ready=False(Stopped)", "Validated=Unknown(NotMeasured)"}},
      {"taken over by another controller", {}, {"Ready=False(TakenOver)", "Validated=Unknown(NotMeasured)"}},
      {"kept, not validated", {}, {"Ready=Unknown(SettledLater)", "Validated=Unknown(SettledLater)"}},
      {"a word of another version", {}, {"Ready=Unknown(UnknownOutcome)", "Validated=Unknown(NotMeasured)"}}};
  std::set<std::string> outcomes;
  for (const auto& [outcome, runs, want] : cases) {
    EXPECT_EQ(told(ended_as(outcome, runs)), want) << outcome;
    outcomes.insert(outcome);
  }
  for (int i = 0; i <= static_cast<int>(ApplyVerdict::taken_over); ++i)
    EXPECT_TRUE(outcomes.contains(std::string(to_string(static_cast<ApplyVerdict>(i))))) << i;
}

TEST(ChangeConditions, OfWhatIsNotValidatedYetSayForWhat) {
  HistoryChange change = ended_as("kept, not validated", {run_of(4, RunPurpose::after, "unknown")});
  change.owed.emplace();
  for (int i = 0; i < 7; ++i) change.owed->insert("slo/pairs bandwidth min, gpu" + std::to_string(i));
  EXPECT_EQ(told(change), (All{"Ready=False(NotValidated)", "Stalled=True(NotValidated)",
                               "Validated=Unknown(NotValidated)"}));
  const Json all = change_conditions(change, 1);
  EXPECT_TRUE(all[2]["message"].get<std::string>().ends_with("gpu4; and 2 more")) << all.dump(2);
  change = ended_as("kept");
  change.owed.emplace();
  EXPECT_EQ(told(change)[0], "Ready=False(NotValidated)") << "its run was killed before its gate answered";
}

TEST(ChangeConditions, OfOneUnderWayAreReconciling) {
  HistoryChange change = ended_as("");
  change.record.ended.clear();
  EXPECT_EQ(told(change),
            (All{"Ready=False(Running)", "Reconciling=True(Running)", "Validated=Unknown(Running)"}));
  EXPECT_EQ(change_conditions(change, 1)[0]["lastTransitionTime"], change.record.begun);
}

TEST(ChangeConditions, HaveTheTimeOfTheRunThatProvesThem) {
  const HistoryChange passed = ended_as("kept", {run_of(4, RunPurpose::after, "pass")});
  const Json all = change_conditions(passed, 1);
  EXPECT_EQ(all[1]["observedAt"], passed.runs[0].at);
  EXPECT_EQ(all[1]["lastTransitionTime"], passed.record.ended);
  EXPECT_FALSE(change_conditions(ended_as("kept"), 1)[1].contains("observedAt")) << "nothing proves it";
}

TEST(ChangeConditions, OfAChangeThatWroteNothingAreNotValidated) {
  HistoryChange change = ended_as("stopped", {run_of(4, RunPurpose::after, "pass")});
  change.touched = {};
  EXPECT_EQ(told(change).back(), "Validated=Unknown(NothingWritten)");
}

}  // namespace
}  // namespace lockstep::api
