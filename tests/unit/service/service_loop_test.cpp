#include "reconciler/service/service_loop.hpp"

#include "service_lab.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;
using Kind = ServiceEvent::Kind;

TEST_F(ServiceLab, TheFirstRevisionIsAppliedAndKept) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  expect_probing(0);
  EXPECT_EQ(state_of("aaaa1"), RevisionState::kept);
  EXPECT_EQ(good(), "aaaa1");
  EXPECT_EQ(service->status()->watched->source, "aaaa1");
  EXPECT_TRUE(service->status()->leads);
  EXPECT_FALSE(measurer.asked.empty()) << "its gate has measured";
  const ServiceCounts counts = service->status()->counts;
  EXPECT_GE(counts.gates[static_cast<std::size_t>(GateVerdict::pass)], 1U);
  EXPECT_EQ(counts.gates[static_cast<std::size_t>(GateVerdict::fail)], 0U);
  EXPECT_EQ(counts.healed, 0U);
}

TEST_F(ServiceLab, SpecsThatAreInvalidReplaceNothingAndSayWhere) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"hosts.yaml", "apiVersion: lockstep.dev/v1alpha1\nkind: HostProfil\n"}});
  run_for(seconds(60));
  expect_probing(0);
  EXPECT_EQ(good(), "aaaa1");
  ASSERT_TRUE(service->status()->invalid);
  EXPECT_EQ(service->status()->invalid->source, "bbbb1");
  EXPECT_TRUE(service->status()->invalid->why.starts_with("hosts.yaml:2:7: "))
      << service->status()->invalid->why;
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  expect_probing(0);
  commit("cccc1", 1);
  run_for(seconds(60));
  expect_probing(1);
  EXPECT_FALSE(service->status()->invalid);
}

TEST_F(ServiceLab, WhatAGateRefusedStaysRefusedUntilTheSpecsChange) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  measurer.verdict = GateVerdict::fail;
  commit("bbbb1", 1);
  run_for(seconds(120));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
  expect_probing(0);
  const std::size_t asked = measurer.asked.size();
  measurer.verdict = GateVerdict::pass;
  run_for(seconds(3600));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused) << "git still says so";
  expect_probing(0);
  EXPECT_EQ(measurer.asked.size(), asked);
  EXPECT_EQ(good(), "aaaa1");
  commit("cccc1", 2);
  run_for(seconds(120));
  expect_probing(2);
  EXPECT_EQ(good(), "cccc1");
}

TEST_F(ServiceLab, DriftIsHealedByItself) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  expect_probing(0);
  EXPECT_EQ(count(Kind::healed), 1U);
  EXPECT_EQ(service->status()->counts.healed, 1U);
  EXPECT_EQ(service->status()->counts.heals_failed, 0U);
  const auto cleared = std::ranges::find(events, Kind::drift_cleared, &ServiceEvent::kind);
  ASSERT_NE(cleared, events.end());
  EXPECT_EQ(cleared->message, "sysctl[net.ipv4.tcp_mtu_probing] was 1, and is as the specs want it");
}

TEST_F(ServiceLab, CountsTheChangesThatEnded) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  EXPECT_EQ(service->status()->counts.changes, 1U);
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  EXPECT_EQ(service->status()->counts.changes, 1U) << "a heal is none";
  measurer.verdict = GateVerdict::fail;
  commit("bbbb1", 2);
  run_for(seconds(120));
  ASSERT_EQ(state_of("bbbb1"), RevisionState::refused);
  EXPECT_EQ(service->status()->counts.changes, 2U);
}

// Conditions take two looks, which do not wait for the next look at the source or at all devices.
class TwoLooks : public ServiceLab {
 protected:
  DeviceStatus gpu1() const {
    for (const auto& one : service->status()->devices->devices)
      if (one && one->device == "gpu1") return *one;
    throw std::runtime_error("gpu1 was not observed");
  }
  // After gpu1 was set to that.
  void expect_second_look(const std::string& probing) {
    devices.at("gpu1")->set(kProbing, Value::text(probing));
    run_for(seconds(1));
    const DeviceStatus first = gpu1();
    const auto drift = std::ranges::find(first.items, kProbing, &DriftEntry::path);
    ASSERT_NE(drift, first.items.end());
    EXPECT_EQ(drift->have, Value::text(probing));
    run_for(seconds(3));
    EXPECT_GT(gpu1().observed, first.observed);
  }

  const Path kProbing = *Path::parse("sysctl[net.ipv4.tcp_mtu_probing]");
};

TEST_F(TwoLooks, AtADeviceThatChanged) {
  commit("aaaa1", 0, {{"devices.yaml", observed_only()}});
  run_for(seconds(90));
  expect_second_look("7");
  const WallTime second = gpu1().observed;
  run_for(seconds(30));
  EXPECT_EQ(gpu1().observed, second);
}

TEST_F(TwoLooks, AtADeviceThatIsNotHealed) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  run_for(seconds(30));
  expect_second_look("7");
  EXPECT_EQ(gpu1().differences, 1U);
}

TEST_F(ServiceLab, NothingIsWrittenWhileItIsSuspended) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  run_for(seconds(10));
  EXPECT_FALSE(service->status()->leads) << "`lockstep apply` may lead";
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  commit("bbbb1", 2);
  run_for(seconds(3600));
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
  ASSERT_TRUE(service->resume(ann));
  run_for(seconds(60));
  expect_probing(2);
  EXPECT_EQ(good(), "bbbb1");
}

TEST_F(ServiceLab, ARestartGoesOnFromWhatWasDecided) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  measurer.verdict = GateVerdict::fail;
  commit("bbbb1", 1);
  run_for(seconds(120));
  ASSERT_EQ(state_of("bbbb1"), RevisionState::refused);
  kill();
  measurer.verdict = GateVerdict::pass;
  start_service();
  run_for(seconds(1200));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
  EXPECT_EQ(good(), "aaaa1");
  expect_probing(0);
}

TEST_F(ServiceLab, WhoMadeARevisionIsShownAlsoAfterItsFilesAreGone) {
  for (int i = 0; i < 6; ++i) {
    commit("cccc" + std::to_string(i), i % 3);
    run_for(seconds(120));
  }
  kill();
  source->trouble = SourceError{SourceTrouble::unreachable, {ErrorKind::transient, "no route"}};
  version = "2";
  start_service();
  run_for(seconds(60));
  ASSERT_EQ(service->status()->revisions.size(), 6U);
  for (const RevisionStatus& one : service->status()->revisions)
    EXPECT_EQ(one.made_by.subject, "commit " + one.shown.revision.source);
}

// It watches with the files that were kept, until and after the same ones are fetched.
TEST_F(ServiceLab, AfterARestartDriftIsHealedAlsoOnceItsSpecsAreFetchedAgain) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  kill();
  source->trouble = SourceError{SourceTrouble::unreachable, {ErrorKind::transient, "no route"}};
  start_service();
  run_for(seconds(60));
  source->trouble.reset();
  run_for(seconds(600));
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(60));
  expect_probing(0);
  EXPECT_EQ(count(Kind::heal_failed), 0U);
}

TEST_F(ServiceLab, TheLastGoodRevisionIsHealedTowardsAlsoIfARestartFindsBadSpecs) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  kill();
  source->commit("bbbb1", files(1, {{"hosts.yaml", "nonsense"}}));
  start_service();
  run_for(seconds(60));
  EXPECT_EQ(service->status()->invalid->source, "bbbb1");
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  expect_probing(0);
}

TEST_F(ServiceLab, StopEndsWithoutLeadershipAndWritesNothingMore) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1);
  service->stop();
  run_for(seconds(300));
  EXPECT_TRUE(ended);
  EXPECT_FALSE(service->status()->leads);
  expect_probing(0);
}

// People --------------------------------------------------------------------------------------------------

constexpr const char* kHeld = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec: {selector: {}, approval: {none: manual}}
)yaml";

TEST_F(ServiceLab, AHeldRevisionWaitsWhileTheLastGoodOneIsHealedTowards) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"policy.yaml", kHeld}});
  run_for(seconds(60));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::waiting);
  EXPECT_EQ(count(Kind::approval_needed), 1U);
  expect_probing(0);
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("2"));
  run_for(seconds(3600));
  expect_probing(0);
  EXPECT_EQ(state_of("bbbb1"), RevisionState::waiting);
  EXPECT_EQ(count(Kind::approval_needed), 1U) << "asked once";
  ASSERT_TRUE(service->approve("bbbb1", {}, ann));
  run_for(seconds(60));
  expect_probing(1);
  EXPECT_EQ(good(), "bbbb1");
}

// gpu1 is the first wave, and waits; gpu2 comes after it.
TEST_F(ServiceLab, DriftBehindAWaveThatWaitsIsAskedForOnceAndNotTriedAgainAndAgain) {
  const std::map<std::string, std::string> policy{
      {"policy.yaml",
       "apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: waves}\n"
       "spec: {selector: {}, unit: device, waves: [\"1\", \"100%\"], approval: {traffic: manual}}\n"}};
  commit("aaaa1", 0, policy);
  run_for(seconds(120));
  while (service->status()->last_good && state_of("aaaa1") == RevisionState::waiting) {
    ASSERT_TRUE(service->approve("aaaa1", {}, ann));
    run_for(seconds(120));
  }
  const std::size_t began = count(Kind::change_began);
  const std::size_t asked = count(Kind::approval_needed);
  const Path mtu = *Path::parse("interface[rail0]/mtu");
  devices.at("gpu1")->set(mtu, Value::integer(1500));
  devices.at("gpu2")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("2"));
  run_for(seconds(3600));
  EXPECT_LE(count(Kind::change_began), began + 1) << told();
  EXPECT_EQ(count(Kind::approval_needed), asked + 1) << told();
  EXPECT_EQ(state_of("aaaa1"), RevisionState::waiting);
  EXPECT_EQ(at("gpu1", "interface[rail0]/mtu"), Value::integer(1500));
  ASSERT_TRUE(service->approve("aaaa1", {}, ann));
  run_for(seconds(300));
  EXPECT_EQ(at("gpu1", "interface[rail0]/mtu"), Value::integer(9000));
  expect_probing(0);
}

TEST_F(ServiceLab, ApprovingOneStepRunsThatStepAlone) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"policy.yaml", kHeld}});
  run_for(seconds(60));
  const auto status = service->status();
  ASSERT_TRUE(status->plan);
  const GoalPlan& plan = *status->plan->plan;
  ASSERT_EQ(plan.plan().steps.size(), 2U);
  const std::string of = plan.plan().steps[0].device;
  ASSERT_TRUE(service->approve("", {plan.digests()[0].substr(0, 20)}, ann));
  run_for(seconds(600));
  EXPECT_EQ(probing(of), Value::text("1"));
  EXPECT_EQ(probing(of == "gpu1" ? "gpu2" : "gpu1"), Value::text("0"));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::waiting);
  ASSERT_TRUE(service->approve("bbbb", {}, ann));
  run_for(seconds(60));
  expect_probing(1);
  EXPECT_EQ(state_of("bbbb1"), RevisionState::kept);
}

TEST_F(ServiceLab, AnApprovalIsForTheStepsThatWereShown) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"policy.yaml", kHeld}});
  run_for(seconds(60));
  const std::vector<std::string> shown = service->status()->plan->plan->digests();
  commit("cccc1", 2, {{"policy.yaml", kHeld}});
  run_for(seconds(60));
  EXPECT_FALSE(service->approve("bbbb1", shown, ann)) << "superseded";
  EXPECT_FALSE(service->approve("cccc1", shown, ann)) << "steps of another revision";
  EXPECT_FALSE(service->approve("", shown, ann));
  EXPECT_FALSE(service->approve("ccc", {}, ann)) << "too short";
  EXPECT_FALSE(service->approve("dddd1", {}, ann));
  run_for(seconds(600));
  expect_probing(0);
  ASSERT_TRUE(service->approve("cccc1", service->status()->plan->plan->digests(), ann));
  run_for(seconds(60));
  expect_probing(2);
}

TEST_F(ServiceLab, ARejectedRevisionIsNotGoneForAndTheOneBeforeItIs) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"policy.yaml", kHeld}});
  run_for(seconds(60));
  ASSERT_TRUE(service->reject("bbbb1", ann));
  run_for(seconds(3600));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::rejected);
  EXPECT_EQ(good(), "aaaa1");
  expect_probing(0);
  EXPECT_FALSE(service->approve("bbbb1", {}, ann));
}

TEST_F(ServiceLab, WhatPeopleSaidSurvivesAKill) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"policy.yaml", kHeld}});
  run_for(seconds(60));
  ASSERT_TRUE(service->cordon("gpu2", ann));
  ASSERT_TRUE(service->approve("bbbb1", {}, ann));
  kill();
  start_service();
  run_for(seconds(120));
  EXPECT_EQ(probing("gpu1"), Value::text("1")) << "approved";
  EXPECT_EQ(probing("gpu2"), Value::text("0")) << "cordoned";
  ASSERT_TRUE(service->suspend(ann));
  kill();
  start_service();
  run_for(seconds(120));
  EXPECT_TRUE(service->status()->suspended);
  EXPECT_FALSE(service->status()->leads);
}

TEST_F(ServiceLab, ACordonedDeviceIsLeftAloneAndComesAlongAfterwards) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  EXPECT_FALSE(service->cordon("gpu9", ann)) << "no such device";
  ASSERT_TRUE(service->cordon("gpu1", ann));
  commit("bbbb1", 1);
  run_for(seconds(60));
  EXPECT_EQ(probing("gpu1"), Value::text("0"));
  EXPECT_EQ(probing("gpu2"), Value::text("1"));
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("2"));
  run_for(seconds(3600));
  EXPECT_EQ(probing("gpu1"), Value::text("2")) << "not healed";
  ASSERT_TRUE(service->uncordon("gpu1", ann));
  run_for(seconds(1800));
  expect_probing(1);
}

// Changes -------------------------------------------------------------------------------------------------

TEST_F(ServiceLab, ANewerRevisionSupersedesAtTheGateAndNotBefore) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  bool is_committed = false;
  std::size_t asked = 0;
  on_event = [&](const ServiceEvent& event) {
    if (event.kind == Kind::change_began && !std::exchange(is_committed, true)) {
      asked = measurer.asked.size();
      commit("cccc1", 2, in_turn());
    } else if (event.kind == Kind::change_superseded) {
      EXPECT_GT(measurer.asked.size(), asked) << "what was written is judged";
      EXPECT_EQ(probing("gpu1"), Value::text("1"));
      EXPECT_EQ(probing("gpu2"), Value::text("0"));
    }
  };
  commit("bbbb1", 1, in_turn());
  run_for(seconds(300));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::superseded);
  EXPECT_EQ(count(Kind::change_superseded), 1U);
  expect_probing(2);
  EXPECT_EQ(good(), "cccc1");
}

TEST_F(ServiceLab, ADeletionOfMuchWaitsForSomebody) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  auto less = files(0);
  less.erase("hosts.yaml");
  less.erase("slo.yaml");
  source->commit("bbbb1", less);
  service->fetch_now();
  run_for(seconds(600));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::waiting) << told();
  expect_probing(0);
  EXPECT_FALSE(service->status()->plan->plan->why_confirm().empty());
  ASSERT_TRUE(service->approve("bbbb1", {}, ann));
  run_for(seconds(60));
  expect_probing(1);  // as it was found: onDelete: restore
  EXPECT_EQ(good(), "bbbb1");
}

TEST_F(ServiceLab, AForcedPushToAnOlderCommitIsTheGoal) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1);
  run_for(seconds(60));
  commit("aaaa1", 0);
  run_for(seconds(60));
  expect_probing(0);
  EXPECT_EQ(good(), "aaaa1");
}

TEST_F(ServiceLab, ASourceInTroubleIsAskedLessAndLessAndChangesNothing) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  source->trouble = SourceError{SourceTrouble::not_found, {ErrorKind::refused, "no branch main"}};
  const int before = source->fetches;
  run_for(seconds(3600));
  EXPECT_EQ(service->status()->source.trouble, SourceTrouble::not_found);
  EXPECT_EQ(service->status()->source.why, "no branch main");
  EXPECT_EQ(count(Kind::source_trouble), 1U);
  EXPECT_LT(source->fetches - before, 20);
  EXPECT_GT(source->fetches - before, 6) << "at least every ten minutes";
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  expect_probing(0);
  commit("bbbb1", 1);
  run_for(seconds(60));
  expect_probing(1);
  EXPECT_EQ(count(Kind::source_recovered), 1U);
}

TEST_F(ServiceLab, SpecsOfAnotherClusterAreInvalidHere) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  auto other = files(1);
  std::string& lock = other["allocations.lock"];
  const std::size_t uuid = lock.find("\"uuid\": \"") + 9;
  ASSERT_NE(uuid, lock.npos + 9) << lock;
  lock[uuid] = lock[uuid] == '0' ? '1' : '0';
  source->commit("bbbb1", other);
  service->fetch_now();
  run_for(seconds(60));
  ASSERT_TRUE(service->status()->invalid) << told();
  EXPECT_NE(service->status()->invalid->why.find("another cluster"), std::string::npos);
  expect_probing(0);
}

TEST_F(ServiceLab, SpecsWithoutTheirNumbersAreInvalid) {
  auto unlocked = files(0);
  unlocked.erase("allocations.lock");
  source->commit("aaaa1", unlocked);
  service->fetch_now();
  run_for(seconds(60));
  ASSERT_TRUE(service->status()->invalid);
  EXPECT_NE(service->status()->invalid->why.find("lockstep lock"), std::string::npos);
  EXPECT_TRUE(devices.empty()) << "nothing was attached";
}

TEST_F(ServiceLab, AnotherProcessThatLeadsIsWaitedFor) {
  const auto other = open_store(state());
  ASSERT_TRUE(other);
  ASSERT_TRUE((*other)->leadership().take("lockstep apply"));
  commit("aaaa1", 0);
  run_for(seconds(60));
  EXPECT_FALSE(service->status()->leads);
  EXPECT_NE(service->status()->why_not_leads.find("lockstep apply"), std::string::npos);
  EXPECT_EQ(service->status()->record_trouble, "") << "it follows";
  EXPECT_EQ(probing("gpu1"), Value::text("1")) << "as it was found";
  run_for(seconds(3600));
  (*other)->leadership().resign();
  run_for(seconds(90));
  EXPECT_TRUE(service->status()->leads) << "soon, however long that took";
  run_for(seconds(60));
  expect_probing(0);
}

}  // namespace
}  // namespace lockstep
