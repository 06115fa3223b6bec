// A device refuses its part of a link's change: either both ends are equal afterwards, or the report explains
// why not.
#include "reconciler/engine/link_ends.hpp"

#include "cluster.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

Value priorities(std::vector<std::string> words) { return Value::set(std::move(words)); }

// Two hosts under one leaf switch, lossless at both ends of both cables. The MTU of the leaf switch grows
// too.
struct Rails {
  Rails() {
    cluster.add("gpu1");
    cluster.add("gpu2");
    cluster.add("leaf0", "leaf");
    for (const std::string number : {"1", "2"}) {
      cluster.cable("gpu" + number, "rail0", "leaf0", "swp" + number);
      lossless("gpu" + number, "rail0");
      lossless("leaf0", "swp" + number);
      cluster.want("leaf0", "interface[swp" + number + "]/mtu", Value::integer(9216));
    }
  }
  void lossless(const std::string& device, const std::string& port) {
    const std::string prefix = "interface[" + port + "]/";
    cluster.want(device, prefix + "pfc", priorities({"3"}));
    cluster.want(device, prefix + "class[3]", there());
    cluster.want(device, prefix + "class[3]/dscp", priorities({"26"}));
    cluster.want(device, prefix + "class[3]/share", number(60));
  }
  Value have(const std::string& device, const std::string& path) {
    return cluster.devices[device]->truth().value(entry(path));
  }
  Cluster cluster;
};

std::string all(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += note + "\n";
  return out;
}

TEST(LinkEnds, EntriesThatMustMatchShareOneMatterWithTheirDependents) {
  EXPECT_EQ(matter_of(row("interface[*]/pfc")), LinkMatter::lossless);
  EXPECT_EQ(matter_of(row("interface[*]/class[*]/priority")), LinkMatter::lossless);
  EXPECT_EQ(matter_of(row("interface[*]/class[*]/share")), LinkMatter::lossless)
      << "committed with the class";
  EXPECT_EQ(matter_of(row("interface[*]/class[*]/ecn-max")), LinkMatter::lossless) << "refers to the class";
  EXPECT_EQ(matter_of(row("interface[*]/mtu")), LinkMatter::mtu);
  EXPECT_EQ(matter_of(row("interface[*]/fec")), LinkMatter::fec);
  EXPECT_EQ(matter_of(row("interface[*]/ring[*]")), LinkMatter::none);
  EXPECT_EQ(matter_of(row("bgp/neighbor[*]/hold")), LinkMatter::none) << "agreed on by the session";
  EXPECT_EQ(matter_of(row("interface[*]/address[*]")), LinkMatter::none) << "works with any MTU";
}

TEST(LinkEnds, RefusalRollsBackOnlyTheFarEnd) {
  Rails rails;
  rails.cluster.devices["gpu1"]->refuses = {row("interface[*]/pfc")};
  const ApplyReport report = rails.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_FALSE(rails.have("gpu1", "interface[rail0]/pfc"));
  for (const char* const gone :
       {"interface[swp1]/pfc", "interface[swp1]/class[3]", "interface[swp1]/class[3]/share"})
    EXPECT_FALSE(rails.have("leaf0", gone)) << gone;
  EXPECT_EQ(rails.have("leaf0", "interface[swp1]/mtu"), number(9216));
  EXPECT_EQ(rails.have("leaf0", "interface[swp2]/pfc"), priorities({"3"}));
  EXPECT_EQ(rails.have("gpu2", "interface[rail0]/pfc"), priorities({"3"}));
  EXPECT_NE(all(report.notes).find("leaf0:swp1 is rolled back: gpu1:rail0"), std::string::npos)
      << all(report.notes);
  EXPECT_EQ(rails.cluster.ledger.outcomes, (std::vector<std::string>{"undone", "partly"}));

  rails.cluster.devices["gpu1"]->refuses = {};
  EXPECT_EQ(rails.cluster.converge().verdict, ApplyVerdict::kept);
  EXPECT_TRUE(rails.cluster.plan().empty());
}

TEST(LinkEnds, RefusalRestoresTheEarlierValueAtBothEnds) {
  Rails rails;
  ASSERT_EQ(rails.cluster.converge().verdict, ApplyVerdict::kept);
  for (const auto& [device, port] : {std::pair{"gpu1", "rail0"}, {"leaf0", "swp1"}})
    rails.cluster.want(device, std::string("interface[") + port + "]/pfc", priorities({"3", "4"}));
  rails.cluster.devices["gpu1"]->refuses = {row("interface[*]/pfc")};
  EXPECT_EQ(rails.cluster.converge().verdict, ApplyVerdict::partly);
  EXPECT_EQ(rails.have("gpu1", "interface[rail0]/pfc"), priorities({"3"}));
  EXPECT_EQ(rails.have("leaf0", "interface[swp1]/pfc"), priorities({"3"}));
}

TEST(LinkEnds, RefusedRollbackReportsThatTheEndsDiffer) {
  Rails rails;
  auto& gpu1 = *rails.cluster.devices["gpu1"];
  gpu1.refuses = {row("interface[*]/class[*]/share")};
  gpu1.seen = [&gpu1](const SimulatedCall& call) {
    if (call.kind == SimulatedCall::Kind::apply) gpu1.faults.refused = 1;
  };
  const ApplyReport report = rails.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_NE(all(report.notes).find("a cable may be left with ends that differ: not put back at gpu1:rail0"),
            std::string::npos)
      << all(report.notes);
}

// A host that needs approval is left undone on purpose: nothing is rolled back for it.
TEST(LinkEnds, HeldEndIsNotAFailure) {
  Rails rails;
  const Plan plan = rails.cluster.plan();
  std::vector<StepResult> results(plan.steps.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].id = plan.steps[i].id;
    results[i].state = plan.steps[i].device == "gpu1" ? StepState::held : StepState::done;
  }
  EXPECT_TRUE(half_done(plan, results, rails.cluster.fleet()).empty());
  for (StepResult& one : results)
    if (one.state == StepState::held) one.state = StepState::failed;
  EXPECT_FALSE(half_done(plan, results, rails.cluster.fleet()).empty());
}

// The change has no part at the other end.
TEST(LinkEnds, FailureOfAnEntryThatNeedNotMatchRollsBackNothing) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.add("leaf0", "leaf");
  cluster.cable("gpu1", "rail0", "leaf0", "swp1");
  cluster.want("gpu1", "interface[rail0]/pause", no());
  const Plan plan = cluster.plan();
  std::vector<StepResult> results(plan.steps.size());
  results.at(0).id = 1;
  results[0].state = StepState::failed;
  EXPECT_TRUE(half_done(plan, results, cluster.fleet()).empty());
}

// The outcome of the write is unknown, so the other end is not changed again.
TEST(LinkEnds, EndUnreadableAfterItsWriteIsReportedAndTheOtherKept) {
  Rails rails;
  const Plan plan = rails.cluster.plan();
  SimulatedDevice& gpu1 = *rails.cluster.devices["gpu1"];
  gpu1.seen = [&gpu1](const SimulatedCall& call) {
    if (call.kind == SimulatedCall::Kind::apply) gpu1.unreachable = true;
  };
  const ApplyReport report = rails.cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_EQ(rails.have("leaf0", "interface[swp1]/pfc"), priorities({"3"}));
  EXPECT_NE(all(report.notes).find("gpu1:rail0 can't be read"), std::string::npos) << all(report.notes);
}

// The lost device was never written to, so it is unchanged.
TEST(LinkEnds, EndLostBeforeItsWriteRollsBackTheOther) {
  Rails rails;
  const Plan plan = rails.cluster.plan();
  SimulatedDevice& gpu1 = *rails.cluster.devices["gpu1"];
  rails.cluster.devices["leaf0"]->seen = [&gpu1](const SimulatedCall& call) {
    if (call.kind == SimulatedCall::Kind::apply) gpu1.unreachable = true;
  };
  EXPECT_EQ(rails.cluster.apply_plan(plan).verdict, ApplyVerdict::partly);
  EXPECT_FALSE(rails.have("leaf0", "interface[swp1]/pfc"));
  EXPECT_EQ(rails.have("leaf0", "interface[swp2]/pfc"), priorities({"3"}));
  EXPECT_EQ(rails.have("gpu2", "interface[rail0]/pfc"), priorities({"3"}));
}

}  // namespace
}  // namespace lockstep
