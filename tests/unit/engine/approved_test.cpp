#include "reconciler/engine/approved.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

constexpr std::array kDisruptions{Disruption::none, Disruption::traffic, Disruption::reset,
                                  Disruption::reboot};
constexpr std::array kKinds{Hold::Kind::approval,  Hold::Kind::budget,  Hold::Kind::management,
                            Hold::Kind::window,    Hold::Kind::drain,   Hold::Kind::host_policy,
                            Hold::Kind::in_person, Hold::Kind::far_end, Hold::Kind::gate};

Approved parsed(std::string_view words) {
  const Result<Approved> out = parse_approved(words);
  EXPECT_TRUE(out) << out.error().text();
  return out ? *out : Approved{};
}

std::string mistake(std::string_view words) {
  const Result<Approved> out = parse_approved(words);
  return out ? "" : out.error().text();
}

TEST(Approved, ApprovalOfOneDisruptionDoesNotCoverAnother) {
  const Approved traffic = parsed("approval:traffic");
  const Approved all = parsed("approval");
  for (const Disruption disruption : kDisruptions) {
    EXPECT_EQ(traffic.lifts(Hold::Kind::approval, disruption), disruption == Disruption::traffic);
    EXPECT_TRUE(all.lifts(Hold::Kind::approval, disruption));
  }
  EXPECT_FALSE(all.lifts(Hold::Kind::budget, Disruption::traffic));
}

// The oracle is a hand-written table.
TEST(Approved, EachHoldKindHasItsOwnApprovalOrNone) {
  const std::map<Hold::Kind, std::string> words{{Hold::Kind::approval, "approval:reset"},
                                                {Hold::Kind::budget, "budget"},
                                                {Hold::Kind::drain, "drain"},
                                                {Hold::Kind::far_end, "far-end"},
                                                {Hold::Kind::gate, "gate"}};
  for (const Hold::Kind kind : kKinds) {
    const auto word = words.find(kind);
    EXPECT_EQ(word_of(kind, Disruption::reset), word == words.end() ? "" : word->second);
    if (word == words.end()) continue;
    for (const Hold::Kind other : kKinds)
      EXPECT_EQ(parsed(word->second).lifts(other, Disruption::reset), other == kind) << word->second;
  }
}

TEST(Approved, NoApprovalLiftsManagementHostPolicyOrWindowHolds) {
  Approved everything;
  for (const Hold::Kind kind : kKinds) everything.add(kind);
  for (const Hold::Kind kind : {Hold::Kind::management, Hold::Kind::host_policy, Hold::Kind::window})
    EXPECT_FALSE(everything.lifts(kind, Disruption::traffic));
  EXPECT_TRUE(everything.lifts(Hold::Kind::in_person, Disruption::traffic)) << "of the prompt";
  Step step;
  step.disruption = Disruption::traffic;
  for (const Hold::Kind kind : kKinds) step.holds.push_back({kind, "why"});
  EXPECT_EQ(standing_holds(step, everything).size(), 3U);
}

TEST(Approved, EachOfSeveralApprovalsLiftsItsOwnKind) {
  const Approved two = parsed("drain,approval:reset");
  EXPECT_TRUE(two.lifts(Hold::Kind::drain, Disruption::traffic));
  EXPECT_TRUE(two.lifts(Hold::Kind::approval, Disruption::reset));
  EXPECT_FALSE(two.lifts(Hold::Kind::approval, Disruption::traffic));
}

TEST(Approved, UnknownApprovalIsAnErrorWithASuggestion) {
  EXPECT_EQ(mistake("approval:trafic"), "unknown hold 'approval:trafic'; did you mean 'approval:traffic'?");
  EXPECT_EQ(mistake("everything"),
            "unknown hold 'everything'; it is one of approval, approval:none, approval:traffic, "
            "approval:reset, approval:reboot, budget, drain, far-end, gate");
  EXPECT_TRUE(mistake("budget,").starts_with("a hold is missing")) << mistake("budget,");
  EXPECT_EQ(mistake("window"), "'window' cannot be approved: a window opens by time only");
  EXPECT_TRUE(mistake("hostPolicy").starts_with("'hostPolicy' cannot be approved"));
  EXPECT_TRUE(mistake("management").starts_with("'management' cannot be approved"));
}

TEST(Approved, PlanShowsTheApprovalThatLiftsEachHold) {
  Plan plan;
  Step step;
  step.id = 1;
  step.device = "spine0";
  step.disruption = Disruption::reset;
  step.holds = {{Hold::Kind::approval, "manual"}, {Hold::Kind::window, "closed"}};
  plan.steps = {step};
  const nlohmann::json holds = to_json(plan)["steps"][0]["holds"];
  EXPECT_EQ(holds[0]["approve"], "approval:reset");
  EXPECT_FALSE(holds[1].contains("approve"));
}

}  // namespace
}  // namespace lockstep
