// What a service does with what its gates could not judge, or refused of a new host alone; and whom it asks.
#include <algorithm>

#include "reconciler/store/store.hpp"
#include "service_lab.hpp"

namespace lockstep {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Kind = ServiceEvent::Kind;

class GateOfAService : public ServiceLab {
 protected:
  std::size_t with_probing(int value) {
    return static_cast<std::size_t>((probing("gpu1") == Value::text(std::to_string(value))) +
                                    (probing("gpu2") == Value::text(std::to_string(value))));
  }
  // The same to a reader, and other files.
  static std::map<std::string, std::string> commented() {
    std::map<std::string, std::string> out = in_turn();
    out["policy.yaml"] += "# a comment\n";
    return out;
  }
  // Its first wave was written, and could not be judged.
  void leave_unjudged() {
    commit("aaaa1", 0, in_turn());
    run_for(seconds(60));
    measurer.verdict = GateVerdict::unknown;
    commit("bbbb1", 1, in_turn());
    run_for(minutes(2));
    ASSERT_EQ(with_probing(1), 1U);
  }
};

TEST_F(GateOfAService, ThatCannotJudgeHoldsTheLaterWavesForGood) {
  leave_unjudged();
  const std::size_t asked = measurer.asked.size();
  run_for(minutes(120));
  EXPECT_EQ(with_probing(1), 1U);
  EXPECT_GT(measurer.asked.size(), asked) << "it measures again";
  EXPECT_EQ(count(Kind::approval_needed), 1U) << "asked once";
  EXPECT_NE(shown("bbbb1").why_waits.find("not validated"), std::string::npos) << shown("bbbb1").why_waits;
  EXPECT_EQ(good(), "aaaa1");
}

// They were in the same specs before, and nothing has brought them to those: a heal would have no gate.
TEST_F(GateOfAService, HoldsAlsoDevicesThatWereOnlyObservedBefore) {
  commit("aaaa1", 0, in_turn());
  run_for(seconds(60));
  auto observed = in_turn();
  observed["devices.yaml"] = observed_only();
  commit("bbbb1", 1, observed);
  run_for(seconds(60));
  ASSERT_EQ(with_probing(0), 2U);
  measurer.verdict = GateVerdict::unknown;
  commit("cccc1", 1, in_turn());
  run_for(minutes(120));
  EXPECT_EQ(with_probing(1), 1U);
  EXPECT_EQ(count(Kind::healed), 0U);
}

TEST_F(GateOfAService, GoesOnOnceALaterMeasurementJudgesWhatWasWritten) {
  leave_unjudged();
  run_for(minutes(60));
  measurer.verdict = GateVerdict::pass;
  run_for(minutes(15));
  EXPECT_EQ(with_probing(1), 2U);
  EXPECT_EQ(good(), "bbbb1");
  EXPECT_EQ(shown("bbbb1").why_waits, "");
}

// The next revision waits in whole, and its runs only measure what was written before: it is not in force.
TEST_F(GateOfAService, LeavesTheRevisionInForceWhereTheNextOneOnlyMeasures) {
  leave_unjudged();
  const std::string written = probing("gpu1") == Value::text("1") ? "gpu1" : "gpu2";
  auto asks = in_turn();
  std::string& policy = asks["policy.yaml"];
  policy.replace(policy.find("selector: {}"), 12, "selector: {}, approval: {none: manual}");
  commit("cccc1", 2, asks);
  const std::size_t asked = measurer.asked.size();
  run_for(minutes(60));
  ASSERT_EQ(with_probing(2), 0U);
  EXPECT_GT(measurer.asked.size(), asked) << "it measures";
  devices.at(written)->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("7"));
  run_for(minutes(30));
  EXPECT_EQ(probing(written), Value::text("1"));
}

TEST_F(GateOfAService, UndoesWhatALaterMeasurementFindsBroken) {
  leave_unjudged();
  run_for(minutes(60));
  measurer.verdict = GateVerdict::fail;
  std::ptrdiff_t writes = 0;
  for (const char* const device : {"gpu1", "gpu2"})
    devices.at(device)->seen = [&writes](const SimulatedCall& call) {
      if (call.kind != SimulatedCall::Kind::apply) return;
      writes += std::ranges::count(*call.changes, Value::text("1"), &Change::want);
    };
  run_for(minutes(15));
  EXPECT_EQ(writes, 0) << "it is not tried once more";
  EXPECT_EQ(with_probing(0), 2U);
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
  measurer.verdict = GateVerdict::pass;
  run_for(minutes(120));
  EXPECT_EQ(with_probing(0), 2U) << "what a gate refused stays refused";
}

TEST_F(GateOfAService, StillHoldsAfterARestart) {
  leave_unjudged();
  kill();
  start_service();
  run_for(minutes(60));
  EXPECT_EQ(with_probing(1), 1U);
}

// A change that was interrupted before its gate: the service knows of it only from the journal.
TEST_F(GateOfAService, RefusesWhatItFindsBrokenOfARunThatWasKilled) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  bool is_written = false;
  devices.at("gpu2")->seen = [&is_written](const SimulatedCall& call) {
    is_written = is_written || call.kind == SimulatedCall::Kind::apply;
  };
  commit("bbbb1", 1);
  while (!is_written && executor.step()) {
  }
  devices.at("gpu2")->seen = {};
  kill();
  measurer.verdict = GateVerdict::fail;
  start_service();
  run_for(minutes(5));
  EXPECT_EQ(with_probing(0), 2U);
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
}

// Nothing else is gone for: what the run had written is measured again, and refused for good.
TEST_F(GateOfAService, ThatWasKilledInItsRollbackIsSettledByTheNextService) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  measurer.verdict = GateVerdict::fail;
  bool is_undone = false;
  for (const char* const device : {"gpu1", "gpu2"})
    devices.at(device)->seen = [&is_undone](const SimulatedCall& call) {
      is_undone = is_undone || (call.kind == SimulatedCall::Kind::apply &&
                                std::ranges::count(*call.changes, Value::text("0"), &Change::want) > 0);
    };
  commit("bbbb1", 1);
  while (!is_undone && executor.step()) {
  }
  kill();
  for (const char* const device : {"gpu1", "gpu2"}) devices.at(device)->seen = {};
  const auto in_flight = [this] {
    const auto store = open_store(state());
    return (*store)->history().in_flight()->size();
  };
  ASSERT_EQ(in_flight(), 2U) << "the change and its rollback";
  start_service();
  run_for(minutes(5));
  EXPECT_EQ(in_flight(), 0U);
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
  EXPECT_EQ(with_probing(0), 2U);
}

TEST_F(GateOfAService, HoldsTheSameUnderAnotherCommit) {
  leave_unjudged();
  commit("cccc1", 1, commented());
  run_for(minutes(60));
  EXPECT_EQ(with_probing(1), 1U);
  measurer.verdict = GateVerdict::pass;
  run_for(minutes(15));
  EXPECT_EQ(with_probing(1), 2U);
  EXPECT_EQ(good(), "cccc1");
}

TEST_F(GateOfAService, LetsARevertGoAtOnce) {
  leave_unjudged();
  commit("cccc1", 0, commented());
  run_for(minutes(2));
  EXPECT_EQ(with_probing(0), 2U);
}

TEST_F(GateOfAService, GoesOnUnjudgedIfSomebodyApprovesThat) {
  leave_unjudged();
  run_for(minutes(30));
  ASSERT_TRUE(service->approve("bbbb1", {}, ann));
  run_for(minutes(2));
  EXPECT_EQ(with_probing(1), 2U);
}

TEST_F(GateOfAService, TheChangeSaysWhoApprovedIt) {
  leave_unjudged();
  ASSERT_TRUE(service->approve("bbbb1", {}, ann));
  run_for(minutes(2));
  const auto store = open_store(state());
  ASSERT_TRUE(store);
  const auto changes = (*store)->history().changes();
  ASSERT_TRUE(changes);
  EXPECT_TRUE(std::ranges::any_of(*changes, [](const auto& one) {
    return one.reason.find("bbbb1") != std::string::npos &&
           one.reason.ends_with(", approved by operator ann");
  }));
}

// gpu2 alone needs approval: what runs meanwhile does not hide that.
TEST_F(GateOfAService, AsksAlsoIfAPartOfTheRevisionMayRun) {
  const std::map<std::string, std::string> manual{
      {"policy.yaml",
       "apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: manual}\n"
       "spec: {selector: {names: gpu2}, approval: {none: manual}}\n"}};
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, manual);
  run_for(minutes(30));
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
  EXPECT_EQ(count(Kind::approval_needed), 1U);
}

// A gate of one pair for each host.
class NewHostsGate final : public Measurer {
 public:
  Result<GateMeasurement> measure(const GateQuestion& question, const Call&) override {
    GateMeasurement out;
    for (const char* const host : {"gpu1", "gpu2"}) {
      if (!question.only.empty() && !question.only.contains(host)) continue;
      GateFigure one;
      one.subject = host;
      // No path to gpu2 exists before the change.
      const bool is_broken =
          host == std::string("gpu2") && (gpu2_is_broken || question.when == GateQuestion::When::before);
      one.state = is_broken ? SloState::broken : SloState::holds;
      one.figure = is_broken ? 0.0 : 1.0;
      out.figures.push_back(one);
    }
    out.selected = out.measured = out.figures.size();
    out.sentence = "as the test wants it";
    return out;
  }
  bool crosses(const std::string& subject, const BlastRadius& changed) const override {
    return changed.touches_path({subject}, {static_cast<std::uint32_t>(subject.back() - '1')});
  }
  bool gpu2_is_broken = false;
};

class NewHostsOfAService : public ServiceLab {
 protected:
  NewHostsOfAService() { start_over_with(gate); }
  // With so many hosts.
  static std::map<std::string, std::string> hosts(int count) {
    std::string devices = kDevices;
    const std::string all = "[1-" + std::to_string(count) + "]";
    for (std::size_t at = 0; (at = devices.find("[1-2]", at)) != devices.npos; at += all.size())
      devices.replace(at, 5, all);
    return {{"devices.yaml", devices}};
  }
  bool is_there(const std::string& host) { return at(host, "interface[rail0]/mtu") == Value::integer(9000); }
  NewHostsGate gate;
};

// Measures one host, and nothing that a change of the other can have touched.
class GateThatNothingCrosses final : public Measurer {
 public:
  Result<GateMeasurement> measure(const GateQuestion&, const Call&) override {
    GateMeasurement out;
    GateFigure one;
    one.subject = "gpu1";
    one.state = SloState::holds;
    one.figure = 1.0;
    out.figures.push_back(one);
    out.selected = out.measured = 1;
    out.without_benchmark = {"gpu1"};
    out.sentence = "as the test wants it";
    return out;
  }
  bool crosses(const std::string&, const BlastRadius&) const override { return false; }
};

class UnmeasuredByAService : public ServiceLab {
 protected:
  UnmeasuredByAService() { start_over_with(gate); }
  GateThatNothingCrosses gate;
};

TEST_F(UnmeasuredByAService, ItsRevisionIsKeptAndSaysForGoodThatNothingJudgedIt) {
  commit("aaaa1", 1);
  run_for(minutes(120));
  expect_probing(1);
  EXPECT_EQ(state_of("aaaa1"), RevisionState::kept);
  EXPECT_NE(shown("aaaa1").why.find("not validated"), std::string::npos) << shown("aaaa1").why;
  kill();
  start_service();
  run_for(minutes(120));
  EXPECT_NE(shown("aaaa1").why.find("not validated"), std::string::npos) << shown("aaaa1").why;
  EXPECT_EQ(count(Kind::approval_needed), 0U);
  // What is healed later waits for nobody.
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("0"));
  run_for(minutes(15));
  expect_probing(1);
}

TEST_F(NewHostsOfAService, OneThatIsBrokenIsRefusedAloneAndTheRestStays) {
  commit("aaaa1", 0, hosts(1));
  run_for(minutes(2));
  ASSERT_EQ(good(), "aaaa1");
  gate.gpu2_is_broken = true;
  commit("bbbb1", 2);  // gpu2 comes, and gpu1 has another value
  run_for(minutes(60));
  EXPECT_EQ(probing("gpu1"), Value::text("2"));
  EXPECT_FALSE(is_there("gpu2"));
  EXPECT_EQ(count(Kind::change_refused), 1U);
  EXPECT_EQ(state_of("bbbb1"), RevisionState::waiting);
  EXPECT_EQ(good(), "bbbb1") << "the rest of it is kept, and nothing goes back";
  gate.gpu2_is_broken = false;
  ASSERT_TRUE(service->approve("bbbb1", {}, ann));
  run_for(minutes(10));
  EXPECT_TRUE(is_there("gpu2"));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::kept);
}

}  // namespace
}  // namespace lockstep
