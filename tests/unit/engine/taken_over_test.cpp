// A run whose devices have accepted another leader since: it ends at once, and leaves to that leader what it
// had begun. Devices that have not are not harmed by what another one says.
#include "cluster.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;

// A device behind an agent, as its driver reports another leader.
class Fenced final : public Driver {
 public:
  Fenced(std::unique_ptr<Driver> device, std::string name, CurrentEpoch& epoch)
      : device_(std::move(device)), name_(std::move(name)), epoch_(epoch) {}

  Result<Traits> traits(const Call& call) override { return device_->traits(call); }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    return accepted != 0 ? denied() : device_->observe(scope, if_not, call);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    ++writes;
    if (accepted != 0) return denied();
    Result<Receipt> out = device_->apply(changes, guard, call);
    if (applied) applied();
    return out;
  }
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override {
    if (settlement == Settlement::undo) ++undos;
    return accepted != 0 ? denied() : device_->settle(transaction, settlement, call);
  }

  std::uint64_t accepted = 0;  // of another leader
  std::function<void()> applied;
  int writes = 0;
  int undos = 0;

 private:
  Error denied() {
    epoch_.denied_by(name_, accepted);
    return Error{ErrorKind::denied, name_ + ": epoch 1 is over"};
  }
  std::unique_ptr<Driver> device_;
  const std::string name_;
  CurrentEpoch& epoch_;
};

constexpr const char* kMtu = "interface[rail0]/mtu";

class TakenOver : public ::testing::Test {
 protected:
  TakenOver() {
    EXPECT_TRUE(epoch.take(1));
    for (const std::string name : {"gpu1", "gpu2", "gpu3"}) {
      SimulatedDevice& device = cluster.add(name);
      device.undoes_itself = true;
      device.set(entry(kMtu), number(1500));
      cluster.want(name, kMtu, number(9000));
      cluster.wiring.management_ports[name] = {"rail0"};
      Attached& attached = cluster.attached(fenced.size());
      auto wrapped = std::make_unique<Fenced>(std::move(attached.driver), name, epoch);
      fenced.push_back(wrapped.get());
      attached.driver = std::move(wrapped);
    }
    cluster.options.epoch = &epoch;
  }
  void take_over() {
    for (Fenced* const one : fenced) one->accepted = 9;
  }
  bool says(const ApplyReport& report, const std::string& part) {
    return std::ranges::any_of(report.notes,
                               [&](const std::string& note) { return note.find(part) != std::string::npos; });
  }
  Value mtu(const std::string& name) { return cluster.devices.at(name)->truth().value(entry(kMtu)); }
  seconds since(Time begun) { return std::chrono::duration_cast<seconds>(cluster.executor.now() - begun); }

  CurrentEpoch epoch;
  Cluster cluster;
  std::vector<Fenced*> fenced;
};

TEST_F(TakenOver, EndsAtOnceAndSettlesNothing) {
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 3U) << plan_lines(plan);
  fenced[0]->applied = [this] { take_over(); };
  const Time begun = cluster.executor.now();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::taken_over) << to_string(report.verdict);
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_LT(since(begun), seconds(1));
  EXPECT_TRUE(says(report, "another controller (epoch 9) has taken over gpu"));
  for (const Fenced* const one : fenced) {
    EXPECT_LE(one->writes, 1) << "it tried again";
    EXPECT_EQ(one->undos, 0) << "what is armed is the other's to settle";
  }
  EXPECT_TRUE(report.unjournalled) << "whether it is kept is not known";
  EXPECT_TRUE(cluster.ledger.states.empty());
  EXPECT_TRUE(cluster.ledger.outcomes.empty()) << "the change stays in flight";
  EXPECT_EQ(mtu("gpu1"), number(9000)) << "as it was left";
}

TEST_F(TakenOver, EndsAtOnceWhileItWaitsForWhatWorkedBefore) {
  const Path session = entry("bgp/neighbor[rail0]/session");
  cluster.want("gpu1", "bgp/neighbor[rail0]", there());
  cluster.want("gpu1", session.text(), Value::text("Established"));
  SimulatedDevice& gpu1 = *cluster.devices.at("gpu1");
  gpu1.set(entry("bgp/neighbor[rail0]"), there());
  gpu1.set(session, Value::text("Established"));
  gpu1.effects = [&](Tree& tree) {
    if (tree.value(entry(kMtu)) == number(9000)) tree.set(session, Value::text("Idle"));
  };
  const Plan plan = cluster.plan();
  const Time begun = cluster.executor.now();
  cluster.executor.at(begun + seconds(5), [this] { take_over(); });
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::taken_over) << to_string(report.verdict);
  EXPECT_LE(since(begun), seconds(6));
  EXPECT_EQ(fenced[0]->undos, 0);
}

TEST_F(TakenOver, BeginsNothingMoreAndMeasuresAndRollsBackNothing) {
  class Never final : public Measurer {
   public:
    Result<GateMeasurement> measure(const GateQuestion& question, const Call&) override {
      EXPECT_EQ(question.when, GateQuestion::When::before);
      return GateMeasurement{};
    }
  } measurer;
  cluster.options.measurer = &measurer;
  Plan plan = cluster.plan();
  plan.steps[1].wave = plan.steps[2].wave = 2;
  fenced[0]->applied = [this] { take_over(); };
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::taken_over);
  EXPECT_EQ(std::ranges::count_if(fenced, [](const Fenced* one) { return one->writes > 0; }), 1);
  EXPECT_EQ(report.count(StepState::stopped), 2U);
  for (const StepResult& one : report.steps) EXPECT_NE(one.why.find("another controller"), std::string::npos);
}

// Its agent may be anybody's: what it says stops the run, and rolls back nothing elsewhere.
TEST_F(TakenOver, OneDeviceDoesNotUndoTheStepsOfOthers) {
  const Plan plan = cluster.plan();
  fenced[1]->applied = [this] { fenced[1]->accepted = 9; };
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::taken_over);
  EXPECT_EQ(mtu("gpu1"), number(9000));
  EXPECT_EQ(mtu("gpu3"), number(9000));
  EXPECT_EQ(fenced[0]->undos + fenced[2]->undos, 0);
  EXPECT_EQ(report.count(StepState::done), 2U);
}

TEST_F(TakenOver, BeginsNothingMoreInTheSameWave) {
  const Path sysctl = entry("sysctl[net.ipv4.tcp_mtu_probing]");
  Plan plan = cluster.plan();
  Step later = plan.steps[0];
  later.id = 4;
  later.undo_after.reset();
  later.changes = {{sysctl, {}, Value::text("1"), 0, false}};
  plan.steps.push_back(later);
  fenced[0]->applied = [this] { fenced[1]->accepted = 9; };
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps[0].state, StepState::done) << report.steps[0].why;
  EXPECT_EQ(report.steps[3].state, StepState::stopped) << report.steps[3].why;
  EXPECT_FALSE(cluster.devices.at("gpu1")->truth().value(sysctl));
}

TEST_F(TakenOver, ADeviceBesideTheChangeDoesNotEndIt) {
  cluster.cable("gpu1", "rail1", "gpu2", "rail1");
  fenced[1]->accepted = 9;
  Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U) << plan_lines(plan);
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.count(StepState::done), 2U) << to_string(report.verdict);
  EXPECT_NE(report.verdict, ApplyVerdict::taken_over);
}

TEST_F(TakenOver, EndsWhenTheStoreHasAnotherLeader) {
  const Plan plan = cluster.plan();
  cluster.ledger.lost = true;
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::taken_over);
  EXPECT_TRUE(says(report, "another process leads"));
  for (const Fenced* const one : fenced) EXPECT_EQ(one->writes, 0);
}

// For another reason, as a host policy has.
TEST_F(TakenOver, ADenialForAnotherReasonFailsTheStepAlone) {
  const Plan plan = cluster.plan();
  cluster.devices.at("gpu2")->refuses = {row("interface[*]/mtu")};
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_EQ(report.count(StepState::done), 2U);
}

}  // namespace
}  // namespace lockstep
