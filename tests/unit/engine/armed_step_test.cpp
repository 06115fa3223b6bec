// A step that touches the last path to a device with automatic rollback: it is armed, kept only once what
// worked before works again, and rolled back otherwise.
#include "cluster.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;

const Value kUp = Value::text("Established");
const Value kDown = Value::text("Idle");

class ArmedStep : public ::testing::Test {
 protected:
  ArmedStep() : gpu1(cluster.add("gpu1")) {
    cluster.wiring.management_ports["gpu1"] = {"rail0"};
    cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
    cluster.want("gpu1", "bgp/neighbor[rail0]", there());
    cluster.want("gpu1", session.text(), kUp);
    gpu1.undoes_itself = true;
    gpu1.set(mtu, number(1500));
    gpu1.set(entry("bgp/neighbor[rail0]"), there());
    gpu1.set(session, kUp);
    gpu1.seen = [this](const SimulatedCall& call) {
      if (call.kind == SimulatedCall::Kind::settle) ++settlements;
      if (call.kind == SimulatedCall::Kind::apply) guards.push_back(*call.guard);
    };
  }

  // The session goes down with an MTU of 9000 and returns after `how_long`. With any other MTU it is up.
  void lose_session_for(seconds how_long) {
    gpu1.effects = [this, how_long](Tree& tree) {
      if (tree.value(mtu) != number(9000)) return tree.set(session, kUp);
      if (std::exchange(lost, true)) return;
      tree.set(session, kDown);
      cluster.executor.at(cluster.executor.now() + how_long, [this] {
        if (gpu1.truth().value(mtu) == number(9000)) gpu1.set(session, kUp);
      });
    };
  }

  const Path mtu = entry("interface[rail0]/mtu");
  const Path session = entry("bgp/neighbor[rail0]/session");
  Cluster cluster;
  SimulatedDevice& gpu1;
  std::vector<Guard> guards;
  int settlements = 0;
  bool lost = false;
};

TEST_F(ArmedStep, ContainsThePlannedRollback) {
  const ApplyReport report = cluster.converge();
  ASSERT_EQ(report.steps.at(0).state, StepState::done) << report.steps.at(0).why;
  ASSERT_EQ(guards.size(), 1U);
  EXPECT_TRUE(guards[0].undo_after);
  ASSERT_FALSE(guards[0].undo.empty());
  Value back = number(9000);
  for (const Change& change : guards[0].undo)
    if (change.path == mtu) {
      EXPECT_EQ(change.was, back) << "each change begins where the one before it ends";
      back = change.want;
    }
  EXPECT_EQ(back, number(1500));
  EXPECT_EQ(gpu1.truth().value(mtu), number(9000));
}

TEST_F(ArmedStep, IsExtendedAndKeptWhenTheSessionReturnsAfterTheTimeout) {
  lose_session_for(seconds(50));
  cluster.options.settle_time = seconds(120);
  cluster.options.step_timeout = seconds(300);
  const ApplyReport report = cluster.converge();
  ASSERT_EQ(report.steps.at(0).state, StepState::done) << report.steps.at(0).why;
  EXPECT_GE(settlements, 2) << "extended, and kept";
  EXPECT_EQ(gpu1.truth().value(mtu), number(9000));
  EXPECT_EQ(gpu1.truth().value(session), kUp);
}

TEST_F(ArmedStep, IsRolledBackByTheDeviceWhenTheSessionDoesNotReturn) {
  lose_session_for(seconds(10'000));
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.steps.at(0).state, StepState::undone) << report.steps.at(0).why;
  EXPECT_EQ(gpu1.truth().value(mtu), number(1500));
  EXPECT_EQ(gpu1.truth().value(session), kUp);
}

TEST_F(ArmedStep, WithALostReplyIsKeptOnlyIfTheSessionReturns) {
  lose_session_for(seconds(10'000));
  gpu1.faults.lost_reply = 1;
  const ApplyReport report = cluster.converge();
  EXPECT_NE(report.steps.at(0).state, StepState::done) << report.steps.at(0).why;
  EXPECT_EQ(gpu1.truth().value(mtu), number(1500));
  EXPECT_EQ(gpu1.truth().value(session), kUp);
}

TEST_F(ArmedStep, IsRolledBackByTheDeviceThatBecomesUnreachable) {
  cluster.wiring.management_ports.clear();
  cluster.wiring.own_path.entered_by["gpu1"] = {"rail0"};
  gpu1.effects = [this](Tree& tree) {
    if (tree.value(mtu) == number(9000)) gpu1.unreachable = true;
  };
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.steps.at(0).state, StepState::failed) << report.steps.at(0).why;
  gpu1.unreachable = false;
  bool later = false;
  cluster.executor.at(cluster.executor.now() + seconds(60), [&later] { later = true; });
  while (!later) cluster.executor.step();
  cluster.observe();
  EXPECT_EQ(gpu1.truth().value(mtu), number(1500));
}

TEST_F(ArmedStep, RollsBackAnArmedStepOfAnEarlierRunBeforeWriting) {
  const Plan plan = cluster.plan();
  const Path admin = entry("interface[rail1]/admin");
  Guard earlier;
  earlier.ticket = "e0-c9-s1-1";
  earlier.transaction = "e0-c9-s1";
  earlier.undo_after = seconds(3600);
  earlier.undo = {{admin, no(), Value{}, 0}};
  ASSERT_TRUE(gpu1.apply({{admin, {}, no(), 0}}, earlier, Call{}));
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps.at(0).state, StepState::done) << report.steps.at(0).why;
  EXPECT_FALSE(gpu1.truth().value(admin));
  EXPECT_EQ(gpu1.truth().value(mtu), number(9000));
}

// As after its restart, say: long before its time is up.
TEST_F(ArmedStep, EndsAtOnceWhenTheDeviceHasRolledBackByItself) {
  lose_session_for(seconds(10'000));
  const Plan plan = cluster.plan();
  const Time begun = cluster.executor.now();
  cluster.executor.at(begun + seconds(5), [this] {
    ASSERT_TRUE(gpu1.settle(guards.at(0).transaction, Settlement::undo, Call{}));
  });
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps.at(0).state, StepState::undone);
  EXPECT_EQ(report.steps.at(0).why, "rolled back by its own agent, nothing settled it in 30 s");
  EXPECT_EQ(guards.size(), 1U) << "it is not written again";
  EXPECT_LE(cluster.executor.now() - begun, seconds(8));
}

TEST_F(ArmedStep, AnExtensionThatWasNotAnsweredExtendsNothing) {
  lose_session_for(seconds(10'000));
  cluster.options.settle_time = seconds(120);
  const Plan plan = cluster.plan();
  cluster.executor.at(cluster.executor.now() + seconds(2), [this] { gpu1.unreachable = true; });
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps.at(0).state, StepState::failed);
  EXPECT_NE(report.steps.at(0).why.find("its own agent rolls it back, as nothing settled it in 30 s"),
            std::string::npos)
      << report.steps.at(0).why;
}

// Both ends of one cable, which is the last path to each of them.
class ArmedEnds : public ::testing::Test {
 protected:
  ArmedEnds() : leaf0(cluster.add("leaf0", "leaf")), spine0(cluster.add("spine0", "spine")) {
    cluster.cable("leaf0", "up0", "spine0", "down0");
    for (const auto& [device, port] : {std::pair{&leaf0, "up0"}, std::pair{&spine0, "down0"}}) {
      const std::string name = device->name();
      cluster.wiring.management_ports[name] = {port};
      cluster.want(name, std::string("interface[") + port + "]/mtu", number(9000));
      cluster.want(name, std::string("bgp/neighbor[") + port + "]", there());
      device->undoes_itself = true;
      device->set(mtu(port), number(1500));
      device->set(entry(std::string("bgp/neighbor[") + port + "]"), there());
      device->seen = [this, name](const SimulatedCall& call) {
        if (call.kind == SimulatedCall::Kind::apply) ++applies[name];
        if (call.kind == SimulatedCall::Kind::settle) settled.push_back(name);
        if (call.kind == SimulatedCall::Kind::settle && applies.size() < 2) settled_alone = true;
      };
    }
  }
  static Path mtu(const std::string& port) { return entry("interface[" + port + "]/mtu"); }

  Cluster cluster;
  SimulatedDevice& leaf0;
  SimulatedDevice& spine0;
  std::map<std::string, int> applies;
  std::vector<std::string> settled;
  bool settled_alone = false;
};

TEST_F(ArmedEnds, AreKeptOnlyOnceBothWork) {
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U) << plan_lines(plan);
  ASSERT_NE(plan.steps[0].together, 0U);
  ASSERT_EQ(plan.steps[0].together, plan.steps[1].together);
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.count(StepState::done), 2U) << report.steps[0].why << report.steps[1].why;
  EXPECT_FALSE(settled_alone) << "one was kept before the other was written";
  EXPECT_EQ(leaf0.truth().value(mtu("up0")), number(9000));
  EXPECT_EQ(spine0.truth().value(mtu("down0")), number(9000));
}

TEST_F(ArmedEnds, AreBothRolledBackWhenOneRefuses) {
  const Plan plan = cluster.plan();
  SimulatedDevice& last = plan.steps[1].device == "leaf0" ? leaf0 : spine0;
  last.refuses = {row("interface[*]/mtu")};
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps[0].state, StepState::undone) << report.steps[0].why;
  EXPECT_NE(report.steps[1].state, StepState::done);
  for (const LedgerTicket& ticket : cluster.ledger.tickets)
    EXPECT_TRUE(ticket.step != 1 || cluster.ledger.states.at(ticket.ticket) == TicketState::undone);
  EXPECT_EQ(leaf0.truth().value(mtu("up0")), number(1500));
  EXPECT_EQ(spine0.truth().value(mtu("down0")), number(1500));
}

// Three leaf switches at one spine switch, which refuses. After a device has rolled back its part, the
// session of its leaf switch takes 5 s to return, and so does that of the last one after its write. The next
// one waits for that.
class ArmedEndsStopped : public ArmedEnds, public ::testing::WithParamInterface<bool> {
 protected:
  ArmedEndsStopped() {
    cluster.wiring.management_ports["spine0"] = {"down0", "down1", "down2"};
    for (const std::string which : {"1", "2"}) {
      SimulatedDevice& leaf = cluster.add("leaf" + which, "leaf");
      cluster.cable("leaf" + which, "up0", "spine0", "down" + which);
      cluster.want("leaf" + which, mtu("up0").text(), large);
      cluster.want("spine0", mtu("down" + which).text(), large);
      cluster.wiring.management_ports["leaf" + which] = {"up0"};
      leaf.set(mtu("up0"), number(1500));
      spine0.set(mtu("down" + which), number(1500));
      leaf.undoes_itself = true;
    }
    for (const char* const name : {"leaf0", "leaf1", "leaf2"}) add_session(*cluster.devices[name]);
  }
  void add_session(SimulatedDevice& leaf) {
    cluster.want(leaf.name(), "bgp/neighbor[up0]", there());
    cluster.want(leaf.name(), session.text(), kUp);
    leaf.set(entry("bgp/neighbor[up0]"), there());
    leaf.set(session, kUp);
    leaf.effects = [this, &leaf, was = number(1500)](Tree& tree) mutable {
      const Value before = std::exchange(was, tree.value(mtu("up0")));
      if (before == was || (was != number(1500) && leaf.name() != "leaf2")) return;
      undone += was == number(1500) ? 1 : 0;
      down.insert(leaf.name());
      most = std::max(most, down.size());
      tree.set(session, kDown);
      cluster.executor.at(cluster.executor.now() + seconds(5), [this, &leaf] {
        down.erase(leaf.name());
        leaf.set(session, kUp);
      });
    };
  }
  const Value large = number(9000);
  const Path session = entry("bgp/neighbor[up0]/session");
  std::set<std::string> down;
  std::size_t most = 0;  // concurrently
  std::size_t undone = 0;
};
INSTANTIATE_TEST_SUITE_P(OrNot, ArmedEndsStopped, ::testing::Bool());
TEST_P(ArmedEndsStopped, AreRolledBackOneAtATime) {
  spine0.refuses = {row("interface[*]/mtu")};
  cluster.options.step_timeout = seconds(600);
  const Plan plan = cluster.plan();
  std::stop_source stop;  // optionally, the operator stops the apply meanwhile
  Progress progress;
  progress.step = [&](const Step& step, const StepResult& result) {
    if (step.device == "spine0" && result.state == StepState::undone && GetParam()) stop.request_stop();
  };
  const ApplyReport report = cluster.apply_plan(plan, progress, stop.get_token());
  ASSERT_EQ(undone, 3U) << plan_lines(plan);
  EXPECT_EQ(report.count(StepState::undone), 4U) << "spine0, which refused, among them";
  EXPECT_EQ(most, 1U) << "two leaves were disturbed at once";
}

TEST_F(ArmedEnds, AreIndependentWithoutACommonCable) {
  cluster.wiring.cables.clear();
  const Plan plan = cluster.plan();
  for (const Step& step : plan.steps) ASSERT_EQ(step.together, 0U) << plan_lines(plan);
  spine0.refuses = {row("interface[*]/mtu")};
  EXPECT_EQ(cluster.apply_plan(plan).count(StepState::done), 1U);
  EXPECT_EQ(leaf0.truth().value(mtu("up0")), number(9000));
  EXPECT_EQ(spine0.truth().value(mtu("down0")), number(1500));
}

TEST_F(ArmedEnds, AreBothRolledBackWhenOneReplyIsLostAndTheOtherRefuses) {
  const Plan plan = cluster.plan();
  const bool leaf_first = plan.steps[0].device == "leaf0";
  (leaf_first ? leaf0 : spine0).faults.lost_reply = 1;
  (leaf_first ? spine0 : leaf0).refuses = {row("interface[*]/mtu")};
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_NE(report.steps[0].state, StepState::done) << report.steps[0].why;
  EXPECT_EQ(leaf0.truth().value(mtu("up0")), number(1500));
  EXPECT_EQ(spine0.truth().value(mtu("down0")), number(1500));
}

TEST_F(ArmedEnds, FirstIsExtendedWhileTheSecondIsSlow) {
  const Plan plan = cluster.plan();
  SimulatedDevice& last = plan.steps[1].device == "leaf0" ? leaf0 : spine0;
  last.unreachable = true;
  cluster.executor.at(cluster.executor.now() + seconds(70), [&last] { last.unreachable = false; });
  cluster.options.step_timeout = seconds(600);
  cluster.options.tries = 10;
  cluster.options.back_off = seconds(5);
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.count(StepState::done), 2U) << report.steps[0].why << report.steps[1].why;
  EXPECT_GE(std::count(settled.begin(), settled.end(), plan.steps[0].device), 3)
      << "extended twice, and kept";
}

// The write cuts the path to one end, which its device rolls back by itself after 30 s.
class ArmedEndsCut : public ArmedEnds {
 protected:
  ArmedEndsCut() : plan(cluster.plan()) {
    cut = plan.steps[1].device == "leaf0" ? &leaf0 : &spine0;
    other = cut == &leaf0 ? &spine0 : &leaf0;
    const Path path = cut == &leaf0 ? mtu("up0") : mtu("down0");
    cut->effects = [this, path](Tree& tree) {
      cut->unreachable = tree.value(path) == number(9000) || (gone && cut->unreachable);
    };
    other->effects = [this, path = cut == &leaf0 ? mtu("down0") : mtu("up0")](Tree& tree) {
      if (tree.value(path) == number(1500)) undone_after = cluster.executor.now() - begun;
    };
    cluster.options.step_timeout = seconds(600);
    cluster.options.tries = 10;
    begun = cluster.executor.now();
  }
  Plan plan;
  SimulatedDevice* cut = nullptr;
  SimulatedDevice* other = nullptr;
  bool gone = false;  // it does not come back after its rollback
  Time begun{};
  Time::duration undone_after{};
};

TEST_F(ArmedEndsCut, AreRolledBackAtOnceAfterTheOtherRolledBackByItself) {
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps[1].state, StepState::undone) << report.steps[1].why;
  EXPECT_EQ(report.steps[1].why, "rolled back by its own agent, nothing settled it in 30 s");
  EXPECT_EQ(report.steps[0].state, StepState::undone) << report.steps[0].why;
  EXPECT_EQ(applies[cut->name()], 1) << "what cut the path is not written again";
  EXPECT_GE(undone_after, seconds(30));
  EXPECT_LE(undone_after, seconds(31));
  EXPECT_LE(cluster.executor.now() - begun, seconds(35));
  EXPECT_EQ(leaf0.truth().value(mtu("up0")), number(1500));
  EXPECT_EQ(spine0.truth().value(mtu("down0")), number(1500));
}

TEST_F(ArmedEndsCut, AreRolledBackAtOnceWhenTheOtherDoesNotComeBack) {
  gone = true;
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps[1].state, StepState::failed) << report.steps[1].why;
  EXPECT_NE(report.steps[1].why.find("its own agent rolls it back, as nothing settled it in 30 s"),
            std::string::npos)
      << report.steps[1].why;
  EXPECT_EQ(report.steps[0].state, StepState::undone) << report.steps[0].why;
  EXPECT_LE(undone_after, seconds(31));
  EXPECT_LE(cluster.executor.now() - begun, seconds(30) + cluster.options.settle_time + seconds(15));
}

// One waits for the other, which is slow, and meanwhile loses its time without an answer.
TEST_F(ArmedEnds, TheWaitingOneThatRolledBackByItselfEndsTheOther) {
  const Plan plan = cluster.plan();
  SimulatedDevice& first = plan.steps[0].device == "leaf0" ? leaf0 : spine0;
  SimulatedDevice& last = &first == &leaf0 ? spine0 : leaf0;
  const Path written = &last == &leaf0 ? mtu("up0") : mtu("down0");
  last.unreachable = true;
  const Time begun = cluster.executor.now();
  cluster.executor.at(begun + seconds(2), [&first] { first.unreachable = true; });
  cluster.executor.at(begun + seconds(40), [&] { first.unreachable = last.unreachable = false; });
  cluster.options.step_timeout = seconds(600);
  cluster.options.tries = 10;
  cluster.options.back_off = seconds(5);
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps[0].state, StepState::undone) << report.steps[0].why;
  EXPECT_EQ(report.steps[0].why, "rolled back by its own agent, nothing settled it in 30 s");
  EXPECT_NE(report.steps[1].state, StepState::done);
  EXPECT_EQ(last.truth().value(written), number(1500));
}

}  // namespace
}  // namespace lockstep
