// What tests/service_sim found in the service: each test is the shortest history of one defect.
#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "reconciler/service/service_loop.hpp"
#include "reconciler/store/store.hpp"
#include "service_lab.hpp"

namespace lockstep {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Kind = ServiceEvent::Kind;

constexpr const char* kAllManual = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: manual}
spec: {selector: {}, approval: {none: manual, traffic: manual, reset: manual, reboot: manual}}
)yaml";

Path probing_path() { return *Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"); }

TEST_F(ServiceLab, NothingIsWrittenWhileAllDevicesAreCordoned) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  for (const char* const device : {"gpu1", "gpu2", "leaf0"}) ASSERT_TRUE(service->cordon(device, ann));
  commit("bbbb1", 1);
  run_for(minutes(30));
  expect_probing(0);
  EXPECT_NE(service->status()->why_not_run.find("cordoned"), std::string::npos);
  ASSERT_TRUE(service->uncordon("gpu1", ann));
  run_for(seconds(60));
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
}

TEST_F(ServiceLab, ADeviceThatIsCordonedDuringAChangeIsLeftOutOfItsNextWave) {
  commit("aaaa1", 0, in_turn());
  run_for(minutes(5));
  expect_probing(0);
  // Before the first host is written.
  on_event = [this](const ServiceEvent& event) {
    if (event.kind != Kind::change_began) return;
    executor.defer([this] { EXPECT_TRUE(service->cordon("gpu2", ann)); });
    on_event = {};
  };
  commit("bbbb1", 1, in_turn());
  run_for(minutes(30));
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
}

TEST_F(ServiceLab, NothingIsHealedTowardsARefusedRevision) {
  measurer.verdict = GateVerdict::fail;
  commit("aaaa1", 0);
  run_for(minutes(5));
  ASSERT_EQ(state_of("aaaa1"), RevisionState::refused);
  events.clear();
  devices.at("gpu1")->set(probing_path(), Value::text("2"));
  run_for(minutes(30));
  EXPECT_EQ(probing("gpu1"), Value::text("2"));
  EXPECT_EQ(count(Kind::drift) + count(Kind::healed) + count(Kind::heal_failed), 0U);
}

TEST_F(ServiceLab, AnOutcomeIsStoredBeforeItIsTold) {
  std::string stored;
  on_event = [&](const ServiceEvent& event) {
    if (event.kind != Kind::change_refused) return;
    const auto store = open_store(state());
    const auto record = (*store)->blobs().kept(ServiceRecord::kKey);
    stored = (**record)["revisions"]["revisions"][0]["state"];
  };
  measurer.verdict = GateVerdict::fail;
  commit("aaaa1", 0);
  run_for(minutes(5));
  EXPECT_EQ(stored, "refused");
}

TEST_F(ServiceLab, ANewestRevisionThatIsInvalidIsToldAfterLeadershipCameLate) {
  auto other = open_store(state());
  ASSERT_TRUE(other && (*other)->leadership().take("lockstep apply"));
  commit("aaaa1", 0);
  run_for(seconds(10));
  commit("bbbb1", 0, {{"hosts.yaml", "nonsense"}});
  run_for(seconds(60));
  ASSERT_FALSE(service->status()->leads);
  (*other)->leadership().resign();
  run_for(minutes(30));
  ASSERT_TRUE(service->status()->leads);
  ASSERT_TRUE(service->status()->invalid);
  EXPECT_EQ(service->status()->invalid->source, "bbbb1");
  EXPECT_EQ(good(), "aaaa1");
}

TEST_F(ServiceLab, AHealThatOnlyWaitsForAnApprovalHasNotFailed) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"policy.yaml", kAllManual}});
  run_for(seconds(60));
  ASSERT_TRUE(service->approve("bbbb1", {}, ann));
  run_for(seconds(60));
  expect_probing(1);
  devices.at("gpu1")->set(probing_path(), Value::text("2"));
  run_for(minutes(30));
  EXPECT_EQ(probing("gpu1"), Value::text("2"));
  EXPECT_EQ(count(Kind::heal_failed), 0U);
  EXPECT_EQ(state_of("bbbb1"), RevisionState::waiting);
}

// The files of what it may go back to are kept before the first write.
TEST_F(ServiceLab, ARevisionThatIsRefusedAfterAKillIsFollowedByTheLastGoodOne) {
  commit("aaaa1", 0);
  run_for(minutes(5));
  measurer.verdict = GateVerdict::fail;
  on_event = [this](const ServiceEvent& event) {
    if (event.kind == Kind::change_began) executor.defer([this] { kill(); });
  };
  commit("bbbb1", 1);
  run_for(seconds(30));
  ASSERT_FALSE(service);
  on_event = {};
  start_service();
  run_for(minutes(5));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
  devices.at("gpu1")->set(probing_path(), Value::text("2"));
  run_for(minutes(30));
  expect_probing(0);
  EXPECT_EQ(good(), "aaaa1");
}

// An agent denies a second leader of one epoch: it must be somebody with a copy of the store.
TEST_F(ServiceLab, ToDevicesAllOfItsSessionsAreOneLeader) {
  std::set<std::shared_ptr<CurrentEpoch>> epochs;
  std::set<std::string> leaders;
  drivers[DriverName::sim].attach = [&,
                                     attach = drivers[DriverName::sim].attach](const DriverTarget& target) {
    epochs.insert(target.epoch);
    return attach(target);
  };
  const auto note_leader = [&] {
    for (const auto& epoch : epochs) leaders.insert(epoch->leader().id);
  };
  commit("aaaa1", 0);
  run_for(seconds(60));
  note_leader();
  devices.at("gpu1")->set(probing_path(), Value::text("1"));
  run_for(minutes(20));
  ASSERT_EQ(count(Kind::healed), 1U);
  note_leader();
  commit("bbbb1", 1);
  run_for(minutes(5));
  expect_probing(1);
  note_leader();
  EXPECT_EQ(epochs.size(), 1U);
  EXPECT_EQ(leaders.size(), 1U);
}

TEST_F(ServiceLab, MoreThanTheBreakersShareIsNotHealedByItself) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  drift_everywhere();
  run_for(seconds(3600));
  EXPECT_EQ(count(Kind::breaker_opened), 1U);
  EXPECT_FALSE(service->status()->breaker.empty());
  const std::size_t began = count(Kind::change_began);
  service->reconcile_now();  // goes for the last revision again, which would correct the drift
  run_for(seconds(300));
  kill();
  start_service();
  service->reconcile_now();
  run_for(seconds(300));
  EXPECT_EQ(count(Kind::change_began), began) << told();
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  ASSERT_TRUE(service->resume(ann));
  run_for(seconds(1));
  EXPECT_TRUE(service->status()->breaker.empty());
}

TEST_F(ServiceLab, ResumeHealsWhatSomebodySawAndNoMore) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  drift_everywhere();
  run_for(seconds(120));
  ASSERT_EQ(count(Kind::breaker_opened), 1U);
  const std::size_t began = count(Kind::change_began);
  ASSERT_TRUE(service->resume(ann));
  run_for(seconds(600));
  expect_probing(0);
  EXPECT_EQ(at("leaf0", "interface[swp1]/mtu"), Value::integer(9000));
  EXPECT_EQ(count(Kind::breaker_opened), 1U);
  EXPECT_EQ(count(Kind::change_began), began) << "it was healed";
  run_for(seconds(900));
  drift_everywhere();
  run_for(seconds(120));
  EXPECT_EQ(count(Kind::breaker_opened), 2U) << "what was agreed to is not for good";
}

// One outage takes effects from many devices: it is no misconfiguration of many.
TEST_F(ServiceLab, DevicesThatOnlyLackEffectsDoNotOpenTheBreaker) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  std::set<std::string> lost;
  for (auto& [name, device] : devices) {
    device->effects = {};
    for (const Entry& entry : intents.at(name).want.entries())
      if (schema_row(entry.path.row()).facet == Facet::effect && lost.insert(name).second)
        device->set(entry.path, Value::text("lost"));
  }
  ASSERT_EQ(lost.size(), devices.size());
  run_for(minutes(30));
  EXPECT_GE(count(Kind::drift), lost.size());
  EXPECT_EQ(count(Kind::breaker_opened), 0U);
  devices.at("gpu1")->set(probing_path(), Value::text("1"));
  run_for(minutes(5));
  EXPECT_EQ(probing("gpu1"), Value::text("0"));
}

// Nothing was read yet: those that opened it are known from before.
TEST_F(ServiceLab, ResumeRightAfterARestartHealsWhatOpenedTheBreaker) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  drift_everywhere();
  run_for(seconds(120));
  ASSERT_EQ(count(Kind::breaker_opened), 1U);
  kill();
  start_service();
  while (!service->status()->leads && executor.step()) {
  }
  ASSERT_FALSE(service->status()->breaker.empty());
  ASSERT_TRUE(service->resume(ann));
  run_for(seconds(600));
  expect_probing(0);
  EXPECT_EQ(count(Kind::breaker_opened), 1U);
}

// It may be open.
TEST_F(ServiceLab, ADamagedCircuitBreakerStopsItFromLeading) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  kill();
  {
    const auto store = open_store(state());
    ASSERT_TRUE((*store)->leadership().take("a test"));
    nlohmann::json record = **(*store)->blobs().kept(ServiceRecord::kKey);
    record["breaker"] = {{"healed", {{"gpu1", "a"}}}};
    ASSERT_TRUE((*store)->blobs().keep(ServiceRecord::kKey, record));
  }
  start_service();
  devices.at("gpu1")->set(probing_path(), Value::text("1"));
  run_for(minutes(30));
  EXPECT_FALSE(service->status()->leads);
  EXPECT_NE(service->status()->why_not_leads.find("the service's record of its decisions"), std::string::npos)
      << service->status()->why_not_leads;
  EXPECT_EQ(service->status()->record_trouble, service->status()->why_not_leads) << "it follows nobody";
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
}

TEST_F(ServiceLab, WhatComesAndGoesIsReportedAsThat) {
  commit("aaaa1", 0, {{"devices.yaml", observed_only()}});
  run_for(seconds(60));
  for (int i = 0; i < 8; ++i) {
    devices.at("gpu1")->set(probing_path(), Value::text(i % 2 == 0 ? "1" : "0"));
    run_for(seconds(1));
  }
  const auto last = std::find_if(events.rbegin(), events.rend(),
                                 [](const ServiceEvent& one) { return one.kind == Kind::drift; });
  ASSERT_NE(last, events.rend());
  EXPECT_EQ(
      last->message,
      "sysctl[net.ipv4.tcp_mtu_probing] is at times 1, and the specs want 0; it comes and goes, and not each "
      "time is reported");
}

// It was repaired before the heal wrote.
TEST_F(ServiceLab, AHealThatDidNothingIsNotReported) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  on_event = [this](const ServiceEvent& event) {
    if (event.kind == Kind::drift) devices.at("gpu1")->set(probing_path(), Value::text("0"));
  };
  devices.at("gpu1")->set(probing_path(), Value::text("1"));
  run_for(minutes(5));
  EXPECT_EQ(count(Kind::drift), 1U);
  EXPECT_EQ(count(Kind::healed) + count(Kind::heal_failed), 0U);
}

// What was declined before waits longer and longer for its next try.
TEST_F(ServiceLab, ResumeHealsAtOnce) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  devices.at("gpu1")->set(probing_path(), Value::text("1"));
  run_for(minutes(60));
  ASSERT_EQ(probing("gpu1"), Value::text("1"));
  ASSERT_TRUE(service->resume(ann));
  run_for(seconds(10));
  EXPECT_EQ(probing("gpu1"), Value::text("0"));
}

// As on a full disk, until there is room.
TEST_F(ServiceLab, KeptSpecsThatCantBeReadAreTriedAgain) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  kill();
  const std::string kept = folder.path() + "/keeps/kept.cbor";
  std::filesystem::rename(kept, kept + ".away");
  std::filesystem::create_directory(kept);
  source->trouble = SourceError{SourceTrouble::unreachable, {ErrorKind::transient, "no route"}};
  start_service();
  run_for(minutes(10));
  EXPECT_FALSE(service->status()->leads);
  EXPECT_NE(service->status()->why_not_leads.find("the specs that were in force can't be read: "),
            std::string::npos)
      << service->status()->why_not_leads;
  EXPECT_EQ(count(Kind::record_trouble), 1U) << "told once";
  std::filesystem::remove(kept);
  std::filesystem::rename(kept + ".away", kept);
  devices.at("gpu1")->set(probing_path(), Value::text("1"));
  run_for(minutes(10));
  EXPECT_TRUE(service->status()->leads);
  EXPECT_EQ(probing("gpu1"), Value::text("0"));
}

// Nothing was stopped by the breaker: those that are known to differ.
TEST_F(ServiceLab, WhoResumesAfterASuspensionAgreesToWhatDiffers) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  drift_everywhere();
  run_for(minutes(5));
  ASSERT_TRUE(service->resume(ann));
  run_for(minutes(5));
  expect_probing(0);
  EXPECT_EQ(count(Kind::breaker_opened), 0U);
}

class DecisionsCantBeStored : public ServiceLab {
 protected:
  // In SQL, for all connections.
  void on_the_disk(const char* sql) {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open((state() + "/journal.sqlite").c_str(), &other), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(other, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(other);
    sqlite3_close(other);
  }
  void fill() {
    on_the_disk("CREATE TRIGGER full BEFORE INSERT ON kept BEGIN SELECT RAISE(ABORT, 'full'); END");
  }
  void make_room() { on_the_disk("DROP TRIGGER full"); }
  // Changes whose reason has `part`.
  void refuse_changes(const std::string& part) {
    on_the_disk(("CREATE TRIGGER no_more BEFORE INSERT ON changes WHEN NEW.reason LIKE '%" + part +
                 "%' BEGIN SELECT RAISE(ABORT, 'no'); END")
                    .c_str());
  }
};

// No device has a revision then: what brings it to one is a change, with its gate, and no heal.
TEST_F(DecisionsCantBeStored, ThenTheFirstRevisionIsNotHealedTowards) {
  on_event = [this](const ServiceEvent& event) {
    if (event.kind == Kind::change_began) refuse_changes("aaaa1");
    if (event.kind == Kind::change_failed) on_the_disk("DROP TRIGGER no_more");
  };
  commit("aaaa1", 1);
  run_for(seconds(1));
  on_event = {};
  ASSERT_EQ(count(Kind::change_failed), 1U);
  run_for(minutes(20));
  expect_probing(1);
  ASSERT_FALSE(reasons().empty());
  for (const std::string& reason : reasons()) EXPECT_NE(reason, "drift");
}

TEST_F(DecisionsCantBeStored, ThenTheLastGoodRevisionIsStillHealedTowards) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  refuse_changes("bbbb1");
  commit("bbbb1", 1);
  run_for(minutes(5));
  ASSERT_GE(count(Kind::change_failed), 1U);
  devices.at("gpu1")->set(probing_path(), Value::text("2"));
  run_for(minutes(20));
  expect_probing(0);
  EXPECT_EQ(reasons().back(), "drift");
}

TEST_F(DecisionsCantBeStored, ThenDriftIsNotHealed) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  fill();
  devices.at("gpu1")->set(probing_path(), Value::text("1"));
  run_for(minutes(5));
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  EXPECT_NE(service->status()->record_trouble, "");
  make_room();
  run_for(minutes(20));
  expect_probing(0);
}

TEST_F(DecisionsCantBeStored, ThenNothingBegins) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  on_event = [this](const ServiceEvent& event) {
    if (event.kind == Kind::revision_valid) fill();
  };
  commit("bbbb1", 1);
  run_for(minutes(5));
  on_event = {};
  expect_probing(0);
  EXPECT_EQ(count(Kind::change_began), 1U);
  make_room();
  run_for(minutes(20));
  expect_probing(1);
}

// Another controller may have the cluster, as while it was suspended.
TEST_F(DecisionsCantBeStored, ThenAFailedResumeLeavesTheClusterToOthers) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  run_for(seconds(60));
  fill();
  EXPECT_FALSE(service->resume(ann));
  make_room();
  const auto other = open_store(state());
  ASSERT_TRUE(other);
  EXPECT_TRUE((*other)->leadership().take("lockstep apply"));
}

// While the devices are read for a plan that has it.
TEST_F(ServiceLab, ADeviceThatIsCordonedJustBeforeAChangeIsNotChanged) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  bool is_cordoned = false;
  devices.at("gpu1")->seen = [&](const SimulatedCall& call) {
    const auto status = service->status();
    if (is_cordoned || call.kind != SimulatedCall::Kind::observe || !status->run) return;
    is_cordoned = true;
    executor.defer([this] { EXPECT_TRUE(service->cordon("gpu2", ann)); });
  };
  commit("bbbb1", 1);
  run_for(minutes(5));
  EXPECT_TRUE(is_cordoned);
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
}

}  // namespace
}  // namespace lockstep
