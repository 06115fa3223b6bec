// The whole workflow over simulated devices, without a console.
#include <stdexcept>

#include "drivers/runtime/real_executor.hpp"
#include "lab.hpp"
#include "reconciler/session/former_entries.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

class Workflow : public Lab {};

constexpr const char* kMtu = "interface[rail0]/mtu";
constexpr const char* kProbing = "sysctl[net.ipv4.tcp_mtu_probing]";

TEST_F(Workflow, ConvergesDevicesAndThenReportsNoDrift) {
  ClusterSession& lab = open();
  const std::vector<DeviceState> before = lab.observe();
  EXPECT_TRUE(lab.not_observed(before).empty());
  const Result<Plan> plan = lab.plan(before);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->devices.size(), 3U);
  EXPECT_EQ(lab.drift(false)->report.exit_code(), 2);

  const ApplyRequest request{.command = "test", .author = "ann"};
  const Result<EarlierRuns> earlier = lab.prepare_apply(request);
  ASSERT_TRUE(earlier) << earlier.error().text();
  EXPECT_TRUE(earlier->in_flight.empty());
  EXPECT_FALSE(earlier->to_judge());
  EXPECT_EQ(lab.deletion_by(*plan)->why, "");
  std::size_t steps_done = 0;
  ApplyHooks hooks;
  hooks.progress.step = [&](const Step&, const StepResult& at) {
    steps_done += at.state == StepState::done ? 1 : 0;
  };
  const Applied applied = lab.apply(*plan, left_behind(lab.fleet(), before, lab.written()), request, hooks);
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept) << to_string(applied.report.verdict);
  EXPECT_TRUE(applied.accepted);
  EXPECT_EQ(steps_done, plan->steps.size());
  ASSERT_TRUE(applied.report.gate);
  EXPECT_EQ(applied.report.gate->why, "as the test wants it");
  EXPECT_EQ(measurer.asked.size(), plan->waves());

  EXPECT_EQ(at("gpu1", kMtu), Value::integer(9000));
  EXPECT_EQ(at("gpu2", kProbing), Value::text("0"));
  const Result<ObservedDrift> after = lab.drift(false);
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->report.exit_code(), 0);
  EXPECT_EQ(after->report.in_sync, 3U);
  EXPECT_TRUE(lab.plan(after->states)->empty());
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/specs/allocations.lock"));
}

TEST_F(Workflow, RecordsTheApproverOfAPlanFile) {
  ClusterSession& lab = open();
  const ApplyRequest request{.command = "test", .author = "ann", .approved_by = "bob@example.com"};
  ASSERT_TRUE(lab.prepare_apply(request));
  lab.apply(*lab.plan(lab.observe()), {}, request, {});
  const auto changes = (*lab.read_store())->history().changes(1);
  ASSERT_TRUE(changes && changes->size() == 1);
  EXPECT_EQ(changes->front().author, "ann");
  EXPECT_EQ(changes->front().reason, "test, approved by bob@example.com");
}

TEST_F(Workflow, RollsBackAChangeThatFailsItsGate) {
  measurer.verdict = GateVerdict::fail;
  ClusterSession& lab = open();
  const Applied applied = apply(lab);
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::undone) << to_string(applied.report.verdict);
  EXPECT_EQ(at("gpu2", kProbing), Value::text("1"));
}

// An apply that ends with open effects must also write the numbers, or the next new device moves gpu1's
// address.
TEST_F(Workflow, WritesNumbersBeforeAnyDevice) {
  const std::string lock = folder.path() + "/specs/allocations.lock";
  ClusterSession& lab = open();
  devices.at("gpu2")->seen = [&lock](const SimulatedCall& call) {
    EXPECT_TRUE(call.kind != SimulatedCall::Kind::apply || std::filesystem::exists(lock));
  };
  measurer.verdict = GateVerdict::fail;
  EXPECT_EQ(apply(lab).report.verdict, ApplyVerdict::undone);
  EXPECT_TRUE(std::filesystem::exists(lock));
}

TEST_F(Workflow, WritesNoDeviceWhenNumbersCannotBeWritten) {
  const std::string lock = folder.path() + "/specs/allocations.lock";
  ClusterSession& lab = open();
  const ApplyRequest request{.command = "lockstep apply", .author = "ann"};
  ASSERT_TRUE(lab.prepare_apply(request));
  const Result<Plan> plan = lab.plan(lab.observe());
  ASSERT_TRUE(plan);
  std::filesystem::remove(lock);
  std::filesystem::create_directories(lock + "/in-the-way");
  const Applied applied = lab.apply(*plan, {}, request, {});
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::partly);
  EXPECT_EQ(applied.report.exit_code(), 1);
  ASSERT_FALSE(applied.report.steps.empty());
  EXPECT_NE(applied.report.steps[0].why.find(lock + ": can't be read"), std::string::npos)
      << applied.report.steps[0].why;
  EXPECT_EQ(at("gpu2", kProbing), Value::text("1"));
}

TEST_F(Workflow, ReportsAManualChangeAsDrift) {
  apply(open());
  devices.at("gpu2")->set(*Path::parse(kMtu), Value::integer(1500));
  const Result<ObservedDrift> observed = session->drift(false);
  ASSERT_TRUE(observed) << observed.error().text();
  ASSERT_EQ(observed->report.items.size(), 1U);
  EXPECT_EQ(observed->report.items[0].device, "gpu2");
  EXPECT_EQ(observed->report.items[0].have, Value::integer(1500));
  EXPECT_EQ(observed->report.exit_code(), 2);
}

TEST_F(Workflow, ChangesOnlyTheChosenDevices) {
  ClusterSession& lab = open();
  ASSERT_TRUE(lab.choose({"gpu1"}));
  apply(lab);
  EXPECT_EQ(at("gpu1", kProbing), Value::text("0"));
  EXPECT_EQ(at("gpu2", kProbing), Value::text("1"));
  EXPECT_FALSE(lab.choose({"gpu9"}));
}

TEST_F(Workflow, PlansForTheOtherDevicesWhenOneCannotBeAttached) {
  unattachable.emplace("gpu2", Error{ErrorKind::denied, "no credentials for gpu2"});
  ClusterSession& lab = open();
  const std::vector<DeviceState> states = lab.observe();
  const std::vector<NotObserved> all = lab.not_observed(states);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].why, "no credentials for gpu2");
  EXPECT_EQ(all[0].devices, std::vector<std::string>{"gpu2"});
  const Result<Plan> plan = lab.plan(states);
  ASSERT_TRUE(plan) << plan.error().text();
  for (const PlanDevice& device : plan->devices) EXPECT_NE(device.name, "gpu2");
  EXPECT_FALSE(plan->empty());
}

// The write of the killed run matches the specs, but will be rolled back.
TEST_F(Workflow, ArmedChangeOfAKilledRunIsNotInSyncAndIsRolledBackFirst) {
  apply(open());
  const Path mtu = *Path::parse(kMtu);
  SimulatedDevice& gpu1 = *devices.at("gpu1");
  gpu1.undoes_itself = true;
  gpu1.clock = [this] { return executor.now(); };
  gpu1.set(mtu, Value::integer(1500));
  Guard killed;
  killed.ticket = "e1-c9-s1-1";
  killed.transaction = "e1-c9-s1";
  killed.epoch = 1;
  killed.undo_after = std::chrono::seconds(30);
  killed.undo = {{mtu, Value::integer(9000), Value::integer(1500), 0}};
  ASSERT_TRUE(gpu1.apply({{mtu, Value::integer(1500), Value::integer(9000), 0}}, killed, Call{}));

  ClusterSession& reading = open();
  const std::vector<NotObserved> unsure = reading.not_observed(reading.observe());
  ASSERT_EQ(unsure.size(), 1U);
  EXPECT_EQ(unsure[0].devices, std::vector<std::string>{"gpu1"});
  EXPECT_NE(unsure[0].why.find("e1-c9-s1 is armed"), std::string::npos) << unsure[0].why;
  EXPECT_EQ(at("gpu1", kMtu), Value::integer(9000)) << "who only reads settles nothing";

  const Applied applied = apply(open());
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(applied.report.count(StepState::done), 1U);
  bool later = false;
  executor.at(executor.now() + std::chrono::seconds(60), [&later] { later = true; });
  while (!later) executor.step();
  open().observe();
  EXPECT_EQ(at("gpu1", kMtu), Value::integer(9000)) << "it was applied anew, and stays";
}

// With each value of the field and without it. The hosts are in service by then, so one goes first.
TEST_F(Workflow, MeasuresPerWaveOrAtTheEndByPolicy) {
  for (const auto& [gate, gates] : {std::pair{"end", 1U}, {"eachWave", 2U}, {"", 2U}}) {
    std::filesystem::remove(folder.path() + "/specs/policy.yaml");
    apply(open());
    std::string policy =
        "apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: waves}\n"
        "spec: {selector: {}, waves: ['1', '100%']";
    if (*gate != '\0') policy += std::string(", gate: ") + gate;
    folder.write("specs/policy.yaml", policy + "}\n");
    for (const char* const host : {"gpu1", "gpu2"})
      devices.at(host)->set(*Path::parse(kProbing), Value::text("1"));
    measurer.asked.clear();
    EXPECT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
    EXPECT_EQ(measurer.asked.size(), gates) << gate;
    EXPECT_EQ(at("gpu2", kProbing), Value::text("0"));
  }
}

TEST_F(Workflow, RestoresFoundValuesWhenAnObjectIsDeleted) {
  apply(open());
  ASSERT_EQ(at("gpu1", kProbing), Value::text("0"));
  std::filesystem::remove(folder.path() + "/specs/hosts.yaml");
  ClusterSession& lab = open();
  EXPECT_EQ(apply(lab).report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(at("gpu1", kProbing), Value::text("1"));
  EXPECT_EQ(at("gpu1", kMtu), Value::integer(9000));
}

// Killed between the write to a device and the storing of its result. Then the object is removed.
TEST_F(Workflow, RestoresFoundValuesAfterAKilledRun) {
  struct Killed {};
  {
    auto process = std::make_unique<SimulatedExecutor>(2);
    ClusterSession& lab = open(*process);
    process->after_step = [this] {
      if (at("gpu1", kProbing) == Value::text("0")) throw Killed();
    };
    EXPECT_THROW(apply(lab), Killed);
    process.reset();
    session.reset();
  }
  ASSERT_EQ(at("gpu1", kProbing), Value::text("0"));
  std::filesystem::remove(folder.path() + "/specs/hosts.yaml");
  ClusterSession& lab = open();
  const ApplyRequest request{.command = "test", .author = "ann"};
  ASSERT_TRUE(lab.prepare_apply(request));
  const std::vector<DeviceState> states = lab.observe();
  const auto written = lab.settle_written(states);
  ASSERT_TRUE(written);
  lab.apply(*lab.plan(states), left_behind(lab.fleet(), states, *written), request, {});
  EXPECT_EQ(at("gpu1", kProbing), Value::text("1"));
}

// Only the chosen device is restored. The value of the other must not be forgotten.
TEST_F(Workflow, RestoresSkippedDevicesInALaterApply) {
  apply(open());
  std::filesystem::remove(folder.path() + "/specs/hosts.yaml");
  ClusterSession& lab = open();
  ASSERT_TRUE(lab.choose({"gpu1"}));
  EXPECT_EQ(apply(lab).report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(at("gpu1", kProbing), Value::text("1"));
  ASSERT_EQ(at("gpu2", kProbing), Value::text("0"));
  apply(open());
  EXPECT_EQ(at("gpu2", kProbing), Value::text("1"));
}

TEST_F(Workflow, ReportsWhyALargeDeletionNeedsConfirmation) {
  apply(open());
  for (const char* const gone : {"hosts.yaml", "slo.yaml"})
    std::filesystem::remove(folder.path() + "/specs/" + gone);
  ClusterSession& lab = open();
  ASSERT_TRUE(lab.prepare_apply({.command = "test", .author = "ann"}));
  const Result<Plan> plan = lab.plan(lab.observe());
  ASSERT_TRUE(plan) << plan.error().text();
  const Result<Deletion> deletion = lab.deletion_by(*plan);
  ASSERT_TRUE(deletion) << deletion.error().text();
  EXPECT_NE(deletion->why, "");
  EXPECT_EQ(deletion->objects, (std::vector<std::string>{"HostProfile/training", "ValidationSuite/slo"}));
}

TEST_F(Workflow, RecoversAndValidatesTheChangeOfAKilledRun) {
  {
    const auto store = led(state(), {}, "killed");
    History& history = store->history();
    const Path mtu = *Path::parse(kMtu);
    const std::uint64_t change = *history.begin(Plan{}, "ann", "mtu");
    ASSERT_TRUE(history.gate(change, GateState::owed));
    ASSERT_TRUE(
        history.ticket(change, {"gpu1-1", 1, "gpu1", "sim", {{mtu, Value{}, Value::integer(9000), 0}}}));
  }
  ClusterSession& lab = open();
  EXPECT_EQ(lab.unjudged()->left.size(), 1U);
  const Result<EarlierRuns> earlier = lab.prepare_apply({.command = "test", .author = "ann"});
  ASSERT_TRUE(earlier) << earlier.error().text();
  ASSERT_EQ(earlier->in_flight.size(), 1U);
  EXPECT_EQ(earlier->in_flight[0].unsettled.size(), 1U);
  EXPECT_TRUE(earlier->to_judge());
  EXPECT_EQ(apply(lab).report.verdict, ApplyVerdict::kept);
  EXPECT_TRUE(lab.unjudged()->left.empty());
}

TEST_F(Workflow, RefusesASecondSessionThatWouldChangeTheCluster) {
  ClusterSession& first = open();
  ASSERT_TRUE(first.prepare_apply({.command = "first", .author = "ann"}));
  const std::unique_ptr<ClusterSession> held = std::move(session);
  const Result<EarlierRuns> second = open().prepare_apply({.command = "second", .author = "ann"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_NE(second.error().text().find("(first)"), std::string::npos) << second.error().text();
}

TEST_F(Workflow, ThrowsWhenAppliedWithoutPreparation) {
  ClusterSession& lab = open();
  EXPECT_THROW(lab.apply(Plan{}, {}, {.command = "test", .author = "ann"}, {}), std::logic_error);
}

TEST_F(Workflow, RefusesSpecsWithErrors) {
  folder.write("specs/hosts.yaml", "kind: Nothing\n");
  EXPECT_THROW(open(), std::runtime_error);
}

TEST_F(Workflow, HealsConvergingDevicesWhileWatching) {
  apply(open());
  devices.at("gpu1")->set(*Path::parse(kMtu), Value::integer(1500));
  session.reset();
  std::unique_ptr<ClusterSession> watching;
  RealExecutor real;
  open(real);
  watching = std::move(session);
  EXPECT_TRUE(watching->not_converging().empty());
  std::vector<std::string> drifted;
  std::vector<ApplyVerdict> healed;
  const Result<Done> ended = watching->watch({.command = "test",
                                              .author = "ann",
                                              .converge = true,
                                              .event =
                                                  [&](const WatchEvent& event) {
                                                    if (event.kind == WatchEvent::Kind::appeared)
                                                      drifted.push_back(event.item.device);
                                                  },
                                              .healed =
                                                  [&](const Healing& healing) {
                                                    EXPECT_FALSE(healing.no_plan || healing.locked);
                                                    healed.push_back(healing.report.verdict);
                                                    stop.request_stop();
                                                  }});
  EXPECT_TRUE(ended || ended.error().kind == ErrorKind::cancelled) << ended.error().text();
  EXPECT_EQ(drifted, std::vector<std::string>{"gpu1"});
  EXPECT_EQ(healed, std::vector<ApplyVerdict>{ApplyVerdict::kept});
  EXPECT_EQ(at("gpu1", kMtu), Value::integer(9000));
}

}  // namespace
}  // namespace lockstep
