#include "reconciler/engine/approved.hpp"

#include <gtest/gtest.h>

#include <functional>
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

Step disturbing(Disruption disruption) {
  Step step;
  step.disruption = disruption;
  return step;
}

// An MTU that is raised on a port, which needs approval.
Step approvable() {
  Step step;
  step.device = "leaf0";
  step.driver = "linux";
  step.disruption = Disruption::traffic;
  step.changes.push_back({*Path::parse("interface[swp1]/mtu"), Value::integer(1500), Value::integer(9216)});
  step.holds.push_back({Hold::Kind::approval, "disturbs traffic"});
  return step;
}

TEST(Approved, ApprovalOfAStepLiftsTheHoldsThatItWasShownWithAndNoOther) {
  Approved one;
  one.add_step(step_digest(approvable()));
  EXPECT_TRUE(standing_holds(approvable(), one).empty());
  Step elsewhere = approvable();
  elsewhere.id = 7;
  elsewhere.wave = 3;
  elsewhere.after = {1};
  elsewhere.holds.front().reason = "in other words";
  EXPECT_TRUE(standing_holds(elsewhere, one).empty()) << "its place is no part of it";
  EXPECT_FALSE(one.lifts(Hold::Kind::budget, approvable())) << "a check during the run";
  for (const Hold::Kind kind : {Hold::Kind::budget, Hold::Kind::drain, Hold::Kind::far_end}) {
    Step more = approvable();
    more.holds.push_back({kind, "new"});
    EXPECT_EQ(standing_holds(more, one).size(), 2U) << "another hold is another step";
  }
  for (const Hold::Kind kind : {Hold::Kind::management, Hold::Kind::host_policy, Hold::Kind::window}) {
    Step more = approvable();
    more.holds.push_back({kind, "never lifted"});
    EXPECT_EQ(standing_holds(more, one).size(), 1U);
  }
  Step refused = approvable();
  refused.holds.push_back({Hold::Kind::gate, "a gate rolled it back"});
  EXPECT_TRUE(standing_holds(refused, one).empty()) << "a step keeps its digest when it is refused";
}

TEST(Approved, AStepThatChangesInAnyPartIsNotApproved) {
  Approved one;
  one.add_step(step_digest(approvable()));
  const std::vector<std::function<void(Step&)>> edits{
      [](Step& step) { step.device = "leaf1"; },
      [](Step& step) { step.driver = "frr"; },
      [](Step& step) { step.remedy = "reset-session"; },
      [](Step& step) { step.disruption = Disruption::reset; },
      [](Step& step) { step.changes.front().want = Value::integer(9000); },
      [](Step& step) { step.changes.front().was = Value::integer(1400); },
      [](Step& step) { step.changes.front().path = *Path::parse("interface[swp2]/mtu"); },
      [](Step& step) { step.changes.push_back(step.changes.front()); },
      [](Step& step) { step.changes.clear(); },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    Step other = approvable();
    edits[i](other);
    EXPECT_FALSE(standing_holds(other, one).empty()) << "edit " << i;
  }
}

TEST(Approved, ApprovalOfOneDisruptionDoesNotCoverAnother) {
  const Approved traffic = parsed("approval:traffic");
  const Approved all = parsed("approval");
  for (const Disruption disruption : kDisruptions) {
    EXPECT_EQ(traffic.lifts(Hold::Kind::approval, disturbing(disruption)), disruption == Disruption::traffic);
    EXPECT_TRUE(all.lifts(Hold::Kind::approval, disturbing(disruption)));
  }
  EXPECT_FALSE(all.lifts(Hold::Kind::budget, disturbing(Disruption::traffic)));
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
      EXPECT_EQ(parsed(word->second).lifts(other, disturbing(Disruption::reset)), other == kind)
          << word->second;
  }
}

TEST(Approved, NoApprovalLiftsManagementHostPolicyOrWindowHolds) {
  Approved everything;
  for (const Hold::Kind kind : kKinds) everything.add(kind);
  for (const Hold::Kind kind : {Hold::Kind::management, Hold::Kind::host_policy, Hold::Kind::window})
    EXPECT_FALSE(everything.lifts(kind, disturbing(Disruption::traffic)));
  EXPECT_TRUE(everything.lifts(Hold::Kind::in_person, disturbing(Disruption::traffic))) << "of the prompt";
  Step step;
  step.disruption = Disruption::traffic;
  for (const Hold::Kind kind : kKinds) step.holds.push_back({kind, "why"});
  EXPECT_EQ(standing_holds(step, everything).size(), 3U);
}

TEST(Approved, EachOfSeveralApprovalsLiftsItsOwnKind) {
  const Approved two = parsed("drain,approval:reset");
  EXPECT_TRUE(two.lifts(Hold::Kind::drain, disturbing(Disruption::traffic)));
  EXPECT_TRUE(two.lifts(Hold::Kind::approval, disturbing(Disruption::reset)));
  EXPECT_FALSE(two.lifts(Hold::Kind::approval, disturbing(Disruption::traffic)));
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
