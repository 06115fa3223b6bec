#include "reconciler/engine/apply.hpp"

#include "cluster.hpp"
#include "tests/told_gate.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;

void want_rail(Cluster& cluster, const std::string& host) {
  cluster.want(host, "interface[rail0]/mtu", number(9000));
  cluster.want(host, "interface[rail0]/address[10.0.0.1/31]", there());
  cluster.want(host, "interface[rail0]/admin", yes());
}

// A host and a leaf switch. The session is an effect on the leaf switch, up when the host's port is up.
struct Pair {
  explicit Pair(std::uint64_t seed = 1) : cluster(seed) {
    cluster.add("gpu1");
    cluster.add("leaf0", "leaf");
    cluster.cable("gpu1", "rail0", "leaf0", "swp1");
    want_rail(cluster, "gpu1");
    cluster.want("leaf0", "interface[swp1]/mtu", number(9216));
    cluster.want("leaf0", "bgp/neighbor[swp1]", there());
  }
  Cluster cluster;
};

class FixedMeasurer final : public ToldGate {
 public:
  std::vector<GateVerdict> verdicts;
  std::vector<BlastRadius> asked;
  Result<GateVerdict> tell(const GateQuestion& question) override {
    asked.push_back(question.affected);
    return verdicts[std::min(asked.size(), verdicts.size()) - 1];
  }
};

TEST(Apply, ConvergesAndTheSecondPlanIsEmpty) {
  Pair pair;
  const auto report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(pair.cluster.devices["gpu1"]->truth().value(entry("interface[rail0]/mtu")), number(9000));
  EXPECT_TRUE(pair.cluster.plan().empty());
  EXPECT_EQ(pair.cluster.ledger.outcomes, std::vector<std::string>{"kept"});
  for (const auto& [ticket, state] : pair.cluster.ledger.states)
    EXPECT_EQ(state, TicketState::kept) << ticket;
}

TEST(Apply, DoesExactlyWhatTheDryRunShows) {
  Pair pair;
  const Plan plan = pair.cluster.plan();
  std::map<std::string, ChangeSet> done;
  for (auto& [name, device] : pair.cluster.devices)
    device->seen = [&done](const SimulatedCall& call) {
      if (call.kind == SimulatedCall::Kind::apply)
        done[call.device].insert(done[call.device].end(), call.changes->begin(), call.changes->end());
    };
  pair.cluster.apply_plan(plan);
  std::map<std::string, ChangeSet> shown;
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes)
      shown[step.device].push_back({change.path, change.was, change.want, 0});
  EXPECT_EQ(done, shown);
}

TEST(Apply, LostReplyIsSettledByObservingNotByWritingAgain) {
  Pair pair;
  auto& device = *pair.cluster.devices["gpu1"];
  device.faults.lost_reply = 1;
  std::vector<SimulatedCall::Kind> calls;
  device.seen = [&calls](const SimulatedCall& call) { calls.push_back(call.kind); };
  const Plan plan = pair.cluster.plan();
  calls.clear();
  const auto report = pair.cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), SimulatedCall::Kind::apply), 1);
}

TEST(Apply, RefusalSkipsDependentStepsWithTheReason) {
  Pair pair;
  pair.cluster.devices["leaf0"]->faults.refused = 1;
  const auto report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_EQ(report.count(StepState::failed), 1U);
  EXPECT_EQ(report.count(StepState::skipped), 1U);
  EXPECT_EQ(pair.cluster.devices["gpu1"]->writes(), 0U);
  EXPECT_NE(report.steps[1].why.find("leaf0"), std::string::npos);
}

TEST(Apply, DoesNotWriteWhenThePlanIsStale) {
  Pair pair;
  const Plan plan = pair.cluster.plan();
  pair.cluster.devices["gpu1"]->set(entry("interface[rail0]/mtu"), number(4321));
  const auto report = pair.cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_EQ(pair.cluster.devices["gpu1"]->truth().value(entry("interface[rail0]/mtu")), number(4321));
}

TEST(Apply, SecondApplyOfAPlanWritesNothing) {
  Pair pair;
  const Plan plan = pair.cluster.plan();
  pair.cluster.apply_plan(plan);
  const auto writes = pair.cluster.devices["gpu1"]->writes();
  EXPECT_EQ(pair.cluster.apply_plan(plan).verdict, ApplyVerdict::nothing_to_do);
  EXPECT_EQ(pair.cluster.devices["gpu1"]->writes(), writes);
}

TEST(Apply, TicketIsJournalledBeforeTheWriteAndNothingIsWrittenWithoutIt) {
  Pair pair;
  pair.cluster.ledger.broken = true;
  const auto report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::partly);
  EXPECT_EQ(pair.cluster.devices["leaf0"]->writes(), 0U);
}

TEST(Apply, JournalFailureAfterTheWriteIsAnError) {
  for (const bool receipts : {true, false}) {
    Pair pair;
    (receipts ? pair.cluster.ledger.no_receipts : pair.cluster.ledger.no_end) = true;
    const auto report = pair.cluster.converge();
    EXPECT_GT(pair.cluster.devices["leaf0"]->writes(), 0U);
    EXPECT_TRUE(report.unjournalled);
    EXPECT_EQ(report.exit_code(), 1);
    EXPECT_TRUE(pair.cluster.ledger.outcomes.empty()) << "it would not be told as in flight";
    ASSERT_FALSE(report.notes.empty());
    EXPECT_NE(report.notes.back().find("not all in the journal"), std::string::npos) << report.notes.back();
  }
}

TEST(Apply, MissingEffectIsReportedAsOpen) {
  Pair pair;
  pair.cluster.want("leaf0", "bgp/neighbor[swp1]/session", Value::text("Established"));
  const auto report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
  ASSERT_EQ(report.effects.size(), 1U);
  EXPECT_EQ(report.effects[0].change.path, entry("bgp/neighbor[swp1]/session"));
  EXPECT_EQ(report.exit_code(), 2);
}

TEST(Apply, WaitsForALateEffect) {
  Pair pair;
  pair.cluster.want("leaf0", "bgp/neighbor[swp1]/session", Value::text("Established"));
  auto& leaf0 = *pair.cluster.devices["leaf0"];
  pair.cluster.executor.at(Time{} + std::chrono::seconds(8), [&leaf0] {
    leaf0.set(entry("bgp/neighbor[swp1]/session"), Value::text("Established"));
  });
  EXPECT_EQ(pair.cluster.converge().verdict, ApplyVerdict::kept);
}

TEST(Apply, FailedGateRollsBackByAPlannedReverseAndMeasuresAgain) {
  Pair pair;
  pair.cluster.converge();
  pair.cluster.want("gpu1", "interface[rail0]/rate", number(1000));
  pair.cluster.want("gpu1", "interface[rail0]/mtu", number(4000));
  const Tree before = pair.cluster.devices["gpu1"]->truth();
  FixedMeasurer measurer;
  measurer.verdicts = {GateVerdict::fail, GateVerdict::pass};
  pair.cluster.options.measurer = &measurer;
  const auto report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  ASSERT_EQ(report.undone.size(), 1U);
  ASSERT_TRUE(report.undone[0].again);
  EXPECT_EQ(report.undone[0].again->verdict, GateVerdict::pass);
  EXPECT_EQ(pair.cluster.devices["gpu1"]->truth().to_string(), before.to_string());
  ASSERT_EQ(measurer.asked.size(), 2U);
  EXPECT_TRUE(measurer.asked[0].touches_cable(0));
}

TEST(Apply, AlertKeepsAChangeThatFailsTheGate) {
  Pair pair;
  FixedMeasurer measurer;
  measurer.verdicts = {GateVerdict::fail};
  pair.cluster.options.measurer = &measurer;
  pair.cluster.options.on_fail = OnFail::alert;
  const auto report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_TRUE(pair.cluster.devices["gpu1"]->truth().value(entry("interface[rail0]/mtu")));
}

// The simulated cluster can neither cordon nor drain a device.
TEST(Apply, QuarantineRollsBackWithANoteWhereDrainIsNotSupported) {
  Pair pair;
  const std::string before = pair.cluster.devices["gpu1"]->truth().to_string();
  FixedMeasurer measurer;
  measurer.verdicts = {GateVerdict::fail, GateVerdict::pass};
  pair.cluster.options.measurer = &measurer;
  pair.cluster.options.on_fail = OnFail::quarantine;
  const auto report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_EQ(pair.cluster.devices["gpu1"]->truth().to_string(), before);
  EXPECT_TRUE(std::ranges::any_of(report.notes, [](const std::string& note) {
    return note.starts_with("onViolation: quarantine is not possible here");
  }));
}

TEST(Apply, FailedStepIsAnErrorEvenWhenTheVerdictIsUnknown) {
  Pair pair;
  pair.cluster.add("gpu2");
  pair.cluster.want("gpu2", "interface[rail0]/mtu", number(9000));
  pair.cluster.devices["gpu2"]->refuses = {row("interface[*]/mtu")};
  FixedMeasurer measurer;
  measurer.verdicts = {GateVerdict::unknown};
  pair.cluster.options.measurer = &measurer;
  const ApplyReport report = pair.cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(report.count(StepState::failed), 1U);
  EXPECT_EQ(report.exit_code(), 1);
  ApplyReport quarantined = report;
  quarantined.verdict = ApplyVerdict::quarantined;
  EXPECT_EQ(quarantined.exit_code(), 1);
}

TEST(Apply, UnknownVerdictFailsOnlyWhenStrict) {
  for (const bool strict : {false, true}) {
    Pair pair;
    FixedMeasurer measurer;
    measurer.verdicts = {GateVerdict::unknown};
    pair.cluster.options.measurer = &measurer;
    pair.cluster.options.strict = strict;
    const ApplyReport report = pair.cluster.converge();
    EXPECT_EQ(report.verdict, strict ? ApplyVerdict::undone : ApplyVerdict::not_validated);
    EXPECT_EQ(report.exit_code(), strict ? 2 : 3);
    EXPECT_EQ(report.owes, !strict) << "the next gate answers for it";
  }
}

TEST(Apply, StopBetweenStepsLeavesAConsistentJournal) {
  Pair pair;
  std::stop_source stop;
  Progress progress;
  progress.step = [&stop](const Step&, const StepResult& result) {
    if (result.state == StepState::done) stop.request_stop();
  };
  const auto report = pair.cluster.apply_plan(pair.cluster.plan(), progress, stop.get_token());
  EXPECT_EQ(report.verdict, ApplyVerdict::stopped);
  EXPECT_EQ(report.count(StepState::done), 1U);
  EXPECT_EQ(report.count(StepState::stopped), 1U);
  for (const LedgerTicket& ticket : pair.cluster.ledger.tickets)
    EXPECT_EQ(pair.cluster.ledger.states.at(ticket.ticket), TicketState::kept);
  EXPECT_EQ(pair.cluster.ledger.outcomes, (std::vector<std::string>{"undone", "stopped"}))
      << "one end of the cable was written: it is taken back by a change of its own";
}

TEST(Apply, HeldStepsWaitForApproval) {
  Pair pair;
  pair.cluster.policy = Policy{};
  pair.cluster.policy->needs_approval[Disruption::traffic] = true;
  EXPECT_EQ(pair.cluster.converge().verdict, ApplyVerdict::kept) << "there is no traffic yet";
  pair.cluster.want("leaf0", "interface[swp1]/mtu", number(9100));
  const std::size_t writes = pair.cluster.devices["leaf0"]->writes();
  const ApplyReport held = pair.cluster.converge();
  EXPECT_EQ(held.verdict, ApplyVerdict::asks);
  EXPECT_EQ(held.exit_code(), 2) << "changes are pending";
  EXPECT_EQ(held.steps[0].words, std::set<std::string>{"approval:traffic"});
  EXPECT_EQ(pair.cluster.devices["leaf0"]->writes(), writes);
  pair.cluster.options.approved = *parse_approved("approval:reboot");
  EXPECT_EQ(pair.cluster.converge().verdict, ApplyVerdict::asks) << "of another disruption";
  pair.cluster.options.approved = *parse_approved("approval:traffic");
  EXPECT_EQ(pair.cluster.converge().verdict, ApplyVerdict::kept);
}

// Applies with exactly the `nth` of all driver calls failing. Sets `used` to the number of calls made.
ApplyReport apply_with_fault(Pair& pair, const Plan& plan, int nth, double SimulatedFaults::*fault,
                             int& used) {
  used = 0;
  // `seen` runs at the end of a call, so the fault is armed by the call before it.
  const auto arm = [&] {
    const bool next = ++used == nth;
    for (auto& [name, device] : pair.cluster.devices) device->faults.*fault = next ? 1.0 : 0.0;
  };
  for (auto& [name, device] : pair.cluster.devices) device->seen = [&](const SimulatedCall&) { arm(); };
  arm();
  ApplyReport report = pair.cluster.apply_plan(plan);
  for (auto& [name, device] : pair.cluster.devices) {
    device->seen = {};
    device->faults = {};
  }
  return report;
}

// Returns false when the apply makes fewer than `nth` calls.
bool fail_nth(int nth, double SimulatedFaults::*fault) {
  Pair pair;
  const Plan plan = pair.cluster.plan();
  int used = 0;
  apply_with_fault(pair, plan, nth, fault, used);
  pair.cluster.converge();
  EXPECT_TRUE(pair.cluster.plan().empty()) << "call " << nth << " failed";
  for (const LedgerTicket& ticket : pair.cluster.ledger.tickets)
    EXPECT_TRUE(pair.cluster.ledger.states.contains(ticket.ticket)) << "call " << nth;
  return nth < used;
}

TEST(Apply, ConvergesAfterAnySingleDriverCallFails) {
  using Fault = double SimulatedFaults::*;
  for (const Fault fault :
       {&SimulatedFaults::transient, &SimulatedFaults::refused, &SimulatedFaults::lost_reply,
        &SimulatedFaults::reboot_in_apply, &SimulatedFaults::stale_read, &SimulatedFaults::unread,
        &SimulatedFaults::conflict}) {
    int nth = 1;
    while (nth < 100 && fail_nth(nth, fault)) ++nth;
    EXPECT_GT(nth, 6);
    EXPECT_LT(nth, 100);
  }
}

// The same for a change that fails its gate: whichever call fails on the way there and back, the devices end
// either as they were before or as desired and judged, and no change stays unjudged.
bool fail_nth_of_an_undo(int nth, double SimulatedFaults::*fault) {
  Pair pair;
  pair.cluster.converge();
  const Tree before = pair.cluster.devices["gpu1"]->truth();
  pair.cluster.want("gpu1", "interface[rail0]/mtu", number(4000));
  pair.cluster.want("gpu1", "interface[rail0]/rate", number(1000));
  FixedMeasurer measurer;
  measurer.verdicts = {GateVerdict::fail, GateVerdict::pass};
  pair.cluster.options.measurer = &measurer;
  const Plan plan = pair.cluster.plan();
  int used = 0;
  const ApplyReport report = apply_with_fault(pair, plan, nth, fault, used);
  // The operator reverts the change in the specs, which also settles the pending verdict.
  pair.cluster.want("gpu1", "interface[rail0]/mtu", number(9000));
  pair.cluster.intents["gpu1"]->want.erase(entry("interface[rail0]/rate"));
  pair.cluster.claim("gpu1", row("interface[*]/rate"));
  pair.cluster.options.owed = pair.cluster.ledger.owed();
  pair.cluster.converge();
  EXPECT_TRUE(pair.cluster.ledger.owed().empty()) << "call " << nth;
  EXPECT_EQ(pair.cluster.devices["gpu1"]->truth().to_string(), before.to_string())
      << "call " << nth << " failed, " << to_string(report.verdict);
  return nth < used;
}

TEST(Apply, NothingStaysUnvalidatedAfterAnySingleCallOfARollbackFails) {
  using Fault = double SimulatedFaults::*;
  for (const Fault fault :
       {&SimulatedFaults::transient, &SimulatedFaults::refused, &SimulatedFaults::lost_reply,
        &SimulatedFaults::reboot_in_apply, &SimulatedFaults::conflict}) {
    int nth = 1;
    while (nth < 100 && fail_nth_of_an_undo(nth, fault)) ++nth;
    EXPECT_GT(nth, 8);
    EXPECT_LT(nth, 100);
  }
}

class CountingRemedy final : public Remedy {
 public:
  explicit CountingRemedy(SimulatedDevice& device) : device_(device) {}
  std::optional<Offer> offer(const Change& effect) const override {
    if (effect.path != entry("fib[10.0.0.0/8]")) return std::nullopt;
    return Offer{"reinstall-multipath", "installs the next hops again", Disruption::none, 1,
                 std::chrono::seconds(60)};
  }
  Result<Done> cure(const ChangeSet& effects, const Call&) override {
    ++cures;
    for (const Change& effect : effects) device_.set(effect.path, effect.want);
    return Done{};
  }
  int cures = 0;

 private:
  SimulatedDevice& device_;
};

TEST(Apply, EffectDriftIsRemediedOnceByTheDriver) {
  Cluster cluster;
  auto& device = cluster.add("leaf0", "leaf");
  CountingRemedy remedy(device);
  cluster.attached(0).remedy = &remedy;
  cluster.want("leaf0", "fib[10.0.0.0/8]", Value::set({"up0", "up1"}));
  device.set(entry("fib[10.0.0.0/8]"), Value::set({"up0"}));
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(plan.steps[0].remedy, "reinstall-multipath");
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(remedy.cures, 1);
  EXPECT_TRUE(cluster.plan().empty());
}

class UselessRemedy final : public Remedy {
 public:
  std::optional<Offer> offer(const Change&) const override {
    return Offer{"clear-session", "clears the session", Disruption::none, 1, std::chrono::seconds(60)};
  }
  Result<Done> cure(const ChangeSet&, const Call&) override {
    return Error{ErrorKind::refused, "there is nothing to clear"};
  }
};

TEST(Apply, FailedRemedyStopsNoOthersAndDoesNotMakeTheVerdictPartly) {
  Cluster cluster;
  auto& helped = cluster.add("leaf0", "leaf");
  cluster.add("leaf1", "leaf");
  CountingRemedy remedy(helped);
  UselessRemedy useless;
  cluster.attached(0).remedy = &remedy;
  cluster.attached(1).remedy = &useless;
  for (const char* const name : {"leaf0", "leaf1"})
    cluster.want(name, "fib[10.0.0.0/8]", Value::set({"up0", "up1"}));
  const ApplyReport report = cluster.apply_plan(cluster.plan());
  EXPECT_EQ(remedy.cures, 1);
  EXPECT_EQ(report.count(StepState::skipped), 0U);
  EXPECT_EQ(report.verdict, ApplyVerdict::effects_open);
  ASSERT_EQ(report.effects.size(), 1U);
  EXPECT_EQ(report.effects[0].device, "leaf1");
}

TEST(BlastRadius, IsOneCableForAPortChangeAndAllCablesForADeviceChange) {
  Pair pair;
  pair.cluster.add("gpu2");
  pair.cluster.cable("gpu2", "rail0", "leaf0", "swp2");
  Step port;
  port.device = "gpu1";
  port.changes.push_back({entry("interface[rail0]/mtu"), {}, number(9000), 0, false});
  const BlastRadius one = blast_radius({port}, pair.cluster.fleet().wiring());
  EXPECT_TRUE(one.touches_cable(0));
  EXPECT_FALSE(one.touches_cable(1));
  EXPECT_FALSE(one.touches("leaf0"));
  Step whole;
  whole.device = "leaf0";
  whole.changes.push_back({entry("bgp/asn"), {}, number(1), 0, false});
  const BlastRadius all = blast_radius({whole}, pair.cluster.fleet().wiring());
  EXPECT_TRUE(all.touches_cable(1));
  EXPECT_TRUE(all.touches_path({"gpu2", "leaf0"}, {}));
  Step saves;
  saves.device = "leaf0";
  saves.changes.push_back({entry("routing-config/saved"), {}, there(), 0, false});
  EXPECT_TRUE(blast_radius({saves}, pair.cluster.fleet().wiring()).empty());
}

TEST(Reaction, EveryErrorKindHasAReaction) {
  EXPECT_EQ(reaction_to(ErrorKind::transient), Reaction::retry_later);
  EXPECT_EQ(reaction_to(ErrorKind::unknown_outcome), Reaction::observe_again);
  EXPECT_EQ(reaction_to(ErrorKind::conflict), Reaction::plan_again);
  EXPECT_EQ(reaction_to(ErrorKind::refused), Reaction::give_up);
  EXPECT_EQ(reaction_to(ErrorKind::cancelled), Reaction::stop);
}

// A device that acknowledges each write and does not keep it.
TEST(Apply, StopsWritingAfterTheConfiguredTries) {
  Cluster cluster;
  SimulatedDevice& gpu1 = cluster.add("gpu1");
  const Path mtu = entry("interface[rail0]/mtu");
  gpu1.set(mtu, number(1500));
  gpu1.effects = [mtu](Tree& tree) { tree.set(mtu, number(1500)); };
  cluster.want("gpu1", mtu.text(), number(9000));
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.count(StepState::failed), 1U);
  EXPECT_EQ(static_cast<int>(report.steps.at(0).writes), cluster.options.tries);
}

// Where a step writes an entry twice, it may start only from the value that was planned on.
TEST(Apply, StepDoesNotStartFromItsOwnIntermediateValue) {
  Cluster cluster;
  SimulatedDevice& gpu1 = cluster.add("gpu1");
  const Path mtu = entry("interface[rail0]/mtu");
  cluster.want("gpu1", mtu.text(), number(9000));
  gpu1.set(mtu, number(1500));
  Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 1U);
  std::vector<PlannedChange>& changes = plan.steps[0].changes;
  ASSERT_EQ(changes.size(), 1U);
  changes.insert(changes.begin(), changes[0]);
  changes[0].want = changes[1].was = number(4000);
  gpu1.set(mtu, number(4000));
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.steps.at(0).state, StepState::failed);
  EXPECT_NE(report.steps[0].why.find("the plan is stale"), std::string::npos) << report.steps[0].why;
  EXPECT_EQ(gpu1.truth().value(mtu), number(4000));
}

}  // namespace
}  // namespace lockstep
