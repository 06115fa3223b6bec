// What worked before a step must work again when the step ends, however it ends.
#include "gate_lab.hpp"

namespace lockstep {
namespace {

const Value kUp = Value::text("Established");
const Value kDown = Value::text("Idle");

// A leaf switch with a session that goes down for a while after each write of bgp/max-paths.
class Regain : public ::testing::Test {
 protected:
  Regain() : leaf0(cluster.add("leaf0", "leaf")) {
    cluster.want("leaf0", "bgp/neighbor[swp1]", there());
    cluster.want("leaf0", "bgp/neighbor[swp1]/session", kUp);
    cluster.want("leaf0", "bgp/max-paths", number(64));
    leaf0.set(entry("bgp/neighbor[swp1]"), there());
    leaf0.set(session, kUp);
    leaf0.effects = [this](Tree& tree) {
      if (tree.value(entry("bgp/max-paths")) != number(64)) return;
      if (clamps) tree.set(entry("bgp/max-paths"), number(32));
      if (!clamps && std::exchange(flapped, true)) return;
      tree.set(session, kDown);
      cluster.executor.at(cluster.executor.now() + flap, [this] { leaf0.set(session, kUp); });
    };
    progress.step = [this](const Step&, const StepResult& result) {
      if (result.state != StepState::running) session_at_end = leaf0.truth().value(session);
    };
  }
  StepResult run() {
    const ApplyReport report = cluster.apply_plan(cluster.plan(), progress);
    EXPECT_EQ(report.steps.size(), 1U);
    return report.steps.at(0);
  }

  const Path session = entry("bgp/neighbor[swp1]/session");
  Cluster cluster;
  SimulatedDevice& leaf0;
  Progress progress;
  Value session_at_end;
  std::chrono::milliseconds flap{15'000};
  bool flapped = false;
  bool clamps = false;  // the device stores a smaller value than was written
};

TEST_F(Regain, StepIsDoneOnceTheSessionIsBack) {
  EXPECT_EQ(run().state, StepState::done);
  EXPECT_TRUE(flapped);
  EXPECT_EQ(session_at_end, kUp);
}

// The first reads come at short intervals.
TEST_F(Regain, StepEndsSoonAfterTheSessionIsBack) {
  flap = std::chrono::milliseconds(300);
  cluster.options.poll_max = std::chrono::seconds(8);
  const StepResult result = run();
  EXPECT_EQ(result.state, StepState::done);
  EXPECT_LT(result.took, std::chrono::seconds(2));
}

TEST_F(Regain, FailedStepEndsOnceTheSessionIsBack) {
  clamps = true;
  const StepResult result = run();
  EXPECT_EQ(result.state, StepState::failed);
  EXPECT_NE(result.why.find("bgp/max-paths is 32"), std::string::npos) << result.why;
  EXPECT_EQ(session_at_end, kUp);
}

TEST_F(Regain, SessionThatCameUpAfterARefusedWriteMustReturn) {
  leaf0.set(session, kDown);
  leaf0.faults.conflict = 1;
  leaf0.seen = [this](const SimulatedCall& call) {
    if (call.kind != SimulatedCall::Kind::apply || leaf0.faults.conflict == 0) return;
    leaf0.faults.conflict = 0;
    leaf0.set(session, kUp);
  };
  EXPECT_EQ(run().state, StepState::done);
  EXPECT_EQ(session_at_end, kUp);
}

TEST_F(Regain, SessionThatDoesNotReturnFailsTheStep) {
  leaf0.effects = [this](Tree& tree) {
    if (tree.value(entry("bgp/max-paths"))) tree.set(session, kDown);
  };
  const StepResult result = run();
  EXPECT_EQ(result.state, StepState::failed);
  EXPECT_EQ(result.why,
            "written, but what worked before did not come back: bgp/neighbor[swp1]/session is Idle");
}

// A device with one driver for the configuration and another for the session.
class RegainOverTwoDrivers : public ::testing::Test {
 protected:
  RegainOverTwoDrivers() : config(cluster.add("leaf0", "leaf")) {
    config.rows = {row("bgp/max-paths")};
    auto device = std::make_unique<SimulatedDevice>("leaf0", 7);
    sessions = device.get();
    sessions->driver_name = "sessions";
    sessions->rows = {row("bgp/neighbor[*]"), row("bgp/neighbor[*]/session")};
    second.driver = std::move(device);
    cluster.list().front().drivers.push_back(&second);
    cluster.want("leaf0", "bgp/neighbor[swp1]", there());
    cluster.want("leaf0", "bgp/neighbor[swp1]/session", kUp);
    cluster.want("leaf0", "bgp/max-paths", number(64));
    sessions->set(entry("bgp/neighbor[swp1]"), there());
    sessions->set(session, kUp);
    config.effects = [this](Tree& tree) {
      if (tree.value(entry("bgp/max-paths")) != number(64) || std::exchange(flapped, true)) return;
      sessions->set(session, kDown);
      sessions->unreachable = unreachable_after_write;
      const Time now = cluster.executor.now();
      cluster.executor.at(now + std::chrono::seconds(5), [this] { sessions->unreachable = false; });
      cluster.executor.at(now + std::chrono::seconds(15), [this] { sessions->set(session, kUp); });
    };
    progress.step = [this](const Step&, const StepResult& result) {
      if (result.state != StepState::running) session_at_end = sessions->truth().value(session);
    };
  }

  const Path session = entry("bgp/neighbor[swp1]/session");
  Cluster cluster;
  SimulatedDevice& config;
  SimulatedDevice* sessions = nullptr;
  Attached second;
  Progress progress;
  Value session_at_end;
  bool flapped = false;
  bool unreachable_after_write = false;
};

TEST_F(RegainOverTwoDrivers, StepWaitsForTheSessionThatTheOtherDriverCannotReadAfterTheWrite) {
  unreachable_after_write = true;
  const ApplyReport report = cluster.apply_plan(cluster.plan(), progress);
  EXPECT_EQ(report.steps.at(0).state, StepState::done);
  EXPECT_EQ(session_at_end, kUp);
}

TEST_F(RegainOverTwoDrivers, StepWaitsForTheSessionThatTheOtherDriverCouldNotReadBeforeTheWrite) {
  const Plan plan = cluster.plan();
  sessions->unreachable = true;
  cluster.executor.at(cluster.executor.now() + std::chrono::seconds(3),
                      [this] { sessions->unreachable = false; });
  const ApplyReport report = cluster.apply_plan(plan, progress);
  EXPECT_EQ(report.steps.at(0).state, StepState::done);
  EXPECT_EQ(session_at_end, kUp);
}

// A session that is down while a change is written and up before the change is rolled back.
class RegainInAnUndo : public Gate {
 protected:
  RegainInAnUndo() {
    cluster.want("leaf0", "bgp/neighbor[swp1]", there());
    cluster.want("leaf0", session.text(), kUp);
    cluster.want("leaf0", paths.text(), number(32));
    leaf0.set(session, kUp);
    cluster.options.measurer = nullptr;
    cluster.converge();
    cluster.options.measurer = &measurer;
    cluster.ledger = MemoryLedger{};
    before = truth();
    leaf0.set(session, kDown);
    cluster.want("leaf0", paths.text(), number(64));
    measurer.answer = [this] {
      const bool is_written = leaf0.truth().value(paths) == number(64);
      if (is_written) leaf0.set(session, kUp);
      return is_written ? GateVerdict::fail : GateVerdict::pass;
    };
    leaf0.effects = [this](Tree& tree) {
      if (tree.value(paths) != number(32) || tree.value(session) != kUp) return;
      if (std::exchange(flapped, true)) return;
      tree.set(session, kDown);
      if (comes_back)
        cluster.executor.at(cluster.executor.now() + std::chrono::seconds(15),
                            [this] { leaf0.set(session, kUp); });
    };
    progress.step = [this](const Step& step, const StepResult& result) {
      if (result.state == StepState::done && step.changes.front().want == number(32))
        session_at_end = leaf0.truth().value(session);
    };
  }

  const Path session = entry("bgp/neighbor[swp1]/session");
  const Path paths = entry("bgp/max-paths");
  SimulatedDevice& leaf0 = *cluster.devices["leaf0"];
  Progress progress;
  Value session_at_end;
  bool flapped = false;
  bool comes_back = true;
};

TEST_F(RegainInAnUndo, RollbackWaitsForTheSession) {
  const ApplyReport report = cluster.apply_plan(cluster.plan(), progress);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_TRUE(flapped);
  EXPECT_EQ(session_at_end, kUp);
  EXPECT_EQ(truth(), before);
}

// The specs do not describe the state before the change.
TEST_F(RegainInAnUndo, SessionThatWasDownBeforeTheChangeMayStayDown) {
  comes_back = false;
  const ApplyReport report = cluster.apply_plan(cluster.plan(), progress);
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(session_at_end, kDown);
  EXPECT_EQ(
      report.undone.at(0).steps.at(0).notes,
      std::vector<std::string>{"bgp/neighbor[swp1]/session is Idle, nor was it there before the change"});
}

}  // namespace
}  // namespace lockstep
