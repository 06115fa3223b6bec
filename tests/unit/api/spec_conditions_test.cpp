// What the conditions of the specs' objects say, over the feed, against the drift reports of their devices.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drivers/runtime/random.hpp"
#include "drivers/sim/simulated_executor.hpp"
#include "feed_lab.hpp"
#include "reconciler/store/store.hpp"
#include "reconciler/store/utc_text.hpp"
#include "temporary_path.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

const Kind kFabric = kind_of(*lockstep::find_kind("Fabric"));
const Kind kProfile = kind_of(*lockstep::find_kind("HostProfile"));

SpecObject object_on(const char* kind, const std::string& name, std::vector<SpecObject::Place> places) {
  SpecObject out{.kind = lockstep::find_kind(kind), .name = name};
  out.labels = {{"pool", "lab"}};
  out.file = "fabric.yaml";
  out.line = 3;
  out.spec = R"({"role":"backend"})";
  out.digest = "sha256:00";
  for (const SpecObject::Place& one : places) out.entries += one.entries;
  out.places = std::move(places);
  return out;
}

// One device as the watch reports it.
struct Observed {
  std::string name;
  bool reachable = true;
  bool complete = true;
  std::vector<DriftEntry> items{};

  void add(DriftState state, const std::string& object, bool by_hand = false) {
    DriftEntry& item = items.emplace_back();
    item.device = name;
    item.state = state;
    item.by_hand = by_hand;
    item.origin.object = object;
  }
};

class SpecConditions : public FeedLab {
 protected:
  SpecConditions() {
    status_ = quiet_status();
    set_objects({object_on("Fabric", "backend", {{0, 10}, {1, 10}, {2, 10}}),
                 object_on("HostProfile", "training", {{0, 2}, {1, 2}}), object_on("HostProfile", "idle", {}),
                 object_on("ValidationSuite", "slo", {})});
    for (const char* const name : {"gpu1", "gpu2", "leaf0"}) devices_.push_back({name});
  }
  void set_objects(std::vector<SpecObject> all, const std::string& revision = "3f2a41") {
    auto objects = std::make_shared<SpecObjects>();
    objects->devices = {"gpu1", "gpu2", "leaf0"};
    objects->all = std::move(all);
    status_.objects = std::move(objects);
    status_.watched = RevisionId{revision, "sha256:" + revision};
  }
  // By the board that the service has.
  void publish(const std::vector<Observed>& devices) {
    SimulatedExecutor executor(1);
    executor.wall_epoch = at_second(clock());
    std::vector<NamedDevice> named;
    for (const Observed& one : devices) named.push_back({one.name, "host", ""});
    SnapshotBoard board(executor, named);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      DeviceState state;
      state.device = devices[i].name;
      state.reachable = devices[i].reachable;
      state.claims_unread = !devices[i].complete;
      DriftReport report;
      report.items = devices[i].items;
      board.observed(i, state, report);
    }
    executor.step();
    status_.devices = board.read();
    desk_.set(status_);
  }
  void observe_once() {
    publish(devices_);
    turn(2);
  }
  // Until nothing changes any more.
  void observe() {
    for (int i = 0; i < 2; ++i) observe_once();
    for (int i = 0; i < 3; ++i) turn(2);
  }
  std::string said(Kind kind, const std::string& name, const std::string& type,
                   const char* field = "status") {
    const Json one = condition(kind, name, type);
    return one.is_null() ? "absent" : one[field].get<std::string>();
  }
  std::string fabric(const std::string& type, const char* field = "status") {
    return said(kFabric, "backend", type, field);
  }
  std::string profile(const std::string& type, const char* field = "status") {
    return said(kProfile, "training", type, field);
  }

  ServiceStatus status_;
  std::vector<Observed> devices_;
};

TEST_F(SpecConditions, AreTrueOnceAllOfItsDevicesProveThem) {
  observe();
  for (const char* const type : {"Ready", "InSync", "Healthy", "Reachable"})
    EXPECT_EQ(fabric(type), "True") << type;
  EXPECT_EQ(fabric("Reconciling"), "absent");
  EXPECT_EQ(fabric("Stalled"), "absent");
  const Json one = object(kFabric, "backend");
  EXPECT_EQ(one["spec"]["role"], "backend");
  EXPECT_EQ(one["metadata"]["labels"]["pool"], "lab");
  EXPECT_EQ(one["status"]["origin"], (Json{{"file", "fabric.yaml"}, {"line", 3}}));
  EXPECT_EQ(one["status"]["devices"]["known"], 3);
  EXPECT_EQ(one["status"]["devices"]["inSync"], 3);
  EXPECT_EQ(one["status"]["revision"], "3f2a41");
}

TEST_F(SpecConditions, AreFalseForOneOfManyDevicesAndOnlyForTheObjectThatDiffers) {
  observe();
  devices_[1].add(DriftState::drifted, "Fabric/backend");
  observe();
  EXPECT_EQ(fabric("InSync"), "False");
  EXPECT_EQ(fabric("InSync", "reason"), "Drifted");
  EXPECT_EQ(fabric("Ready"), "False");
  EXPECT_EQ(fabric("Reconciling"), "True");
  EXPECT_EQ(fabric("Healthy"), "True");
  EXPECT_EQ(profile("InSync"), "True") << "gpu2 differs by another object";
  const Json now = object(kFabric, "backend")["status"];
  EXPECT_EQ(now["differing"], Json::array({"gpu2"}));
  EXPECT_EQ(now["devices"]["drifted"], 1);
  EXPECT_EQ(now["devices"]["inSync"], 2);
  devices_[1].items.clear();
  observe();
  EXPECT_EQ(fabric("InSync"), "True");
}

TEST_F(SpecConditions, AreNotInSyncByWhatWasReadTooLongAgoOrNotAtAll) {
  observe();
  devices_[2].reachable = false;
  observe_once();
  EXPECT_EQ(fabric("InSync"), "True") << "debounced: one lost answer";
  observe();
  EXPECT_EQ(fabric("InSync"), "Unknown");
  EXPECT_EQ(fabric("Reachable"), "False");
  EXPECT_EQ(fabric("Ready"), "False");
  EXPECT_EQ(profile("InSync"), "True") << "it is not on that device";
  devices_[2].reachable = true;
  observe();
  EXPECT_EQ(fabric("InSync"), "True");
  devices_[0].complete = false;
  observe();
  EXPECT_EQ(fabric("InSync"), "Unknown");
  devices_[0].complete = true;
  observe();
  // Two devices are read on and on, and the third is not: its proof is the oldest.
  const std::string oldest = fabric("InSync", "observedAt");
  for (int i = 0; i < 3; ++i) {
    auto others = std::make_shared<Snapshot>(*status_.devices);
    for (const std::size_t device : {0U, 1U}) {
      DeviceStatus again = *others->devices[device];
      again.observed = at_second(clock());
      others->devices[device] = std::make_shared<const DeviceStatus>(again);
    }
    status_.devices = others;
    desk_.set(status_);
    turn(390);
    turn(10);
    if (i < 2) {
      EXPECT_EQ(fabric("InSync"), "True");
      EXPECT_EQ(fabric("InSync", "observedAt"), oldest);
    }
  }
  EXPECT_EQ(fabric("InSync"), "Unknown");
  EXPECT_EQ(profile("InSync"), "True");
}

TEST_F(SpecConditions, OfAnObjectOnlyOnACordonedDeviceAreStalledWhereItDiffers) {
  set_objects({object_on("HostProfile", "training", {{0, 2}})});
  status_.cordoned["gpu1"] = SpokenBy{"operator ann", "optics", {}};
  observe();
  EXPECT_EQ(profile("InSync"), "True") << "a cordon stops writes, not reads";
  EXPECT_EQ(profile("Stalled"), "absent");
  devices_[0].add(DriftState::drifted, "HostProfile/training");
  observe();
  EXPECT_EQ(profile("InSync"), "False");
  EXPECT_EQ(profile("Stalled", "reason"), "Cordoned");
  EXPECT_EQ(profile("Reconciling"), "absent");
  EXPECT_EQ(object(kProfile, "training")["status"]["devices"]["stalled"], 1);
}

TEST_F(SpecConditions, OfAnObjectThatConfiguresNothingAreNeverTrue) {
  observe();
  for (const char* const type : {"Ready", "InSync", "Healthy", "Reachable"}) {
    EXPECT_EQ(said(kProfile, "idle", type), "Unknown") << type;
    EXPECT_EQ(said(kProfile, "idle", type, "reason"), "NotUsed") << type;
  }
  SpecObject overruled = object_on("HostProfile", "idle", {});
  overruled.overruled = 4;
  set_objects({overruled});
  observe();
  EXPECT_EQ(said(kProfile, "idle", "InSync", "reason"), "Overruled");
}

TEST_F(SpecConditions, AreNotInSyncWhereNothingOfItIsSupported) {
  for (const std::size_t device : {0U, 1U})
    for (int i = 0; i < 2; ++i) devices_[device].add(DriftState::not_applied, "HostProfile/training");
  observe();
  EXPECT_EQ(profile("InSync"), "False");
  EXPECT_EQ(profile("InSync", "reason"), "NotApplied");
  EXPECT_EQ(fabric("InSync"), "True");
  devices_[0].items.pop_back();
  observe();
  EXPECT_EQ(profile("InSync"), "True") << "as far as it can be applied";
  EXPECT_EQ(object(kProfile, "training")["status"]["entries"]["notApplied"], 3);
}

TEST_F(SpecConditions, OfANewRevisionAreUnknownUntilItsDevicesAreComparedWithIt) {
  observe();
  ASSERT_EQ(fabric("InSync"), "True");
  // As while the new watch begins: it has read nothing yet.
  set_objects({object_on("Fabric", "backend", {{0, 10}, {1, 10}}), object_on("Fabric", "storage", {{0, 1}})},
              "9c01ff");
  auto unread = std::make_shared<Snapshot>(*status_.devices);
  for (auto& one : unread->devices) one.reset();
  status_.devices = unread;
  desk_.set(status_);
  for (int i = 0; i < 5; ++i) turn(2);
  EXPECT_EQ(fabric("InSync"), "Unknown");
  EXPECT_EQ(said(kFabric, "storage", "InSync"), "Unknown") << "gpu1 was in sync with other specs";
  EXPECT_TRUE(object(kProfile, "training").is_null()) << "it is not in the specs any more";
  devices_[0].add(DriftState::drifted, "Fabric/storage");
  observe_once();
  EXPECT_EQ(said(kFabric, "storage", "InSync"), "False");
  EXPECT_EQ(fabric("InSync"), "True");
}

TEST_F(SpecConditions, OfARenamedObjectBeginAnewAndTheOldNameIsDeleted) {
  observe();
  const std::uint64_t before = log_.newest();
  set_objects({object_on("HostProfile", "inference", {{0, 2}})});
  observe();
  EXPECT_TRUE(object(kProfile, "training").is_null());
  EXPECT_EQ(said(kProfile, "inference", "InSync"), "True");
  std::map<std::string, int> deleted;
  for (const LogEntry& one : since(before))
    if (!one.now) ++deleted[one.before->name];
  EXPECT_EQ(deleted, (std::map<std::string, int>{{"backend", 1}, {"idle", 1}, {"slo", 1}, {"training", 1}}));
}

TEST_F(SpecConditions, GrowTheGenerationWithTheSpecAlone) {
  observe();
  EXPECT_EQ(object(kFabric, "backend")["metadata"]["generation"], 1);
  SpecObject moved = object_on("Fabric", "backend", {{0, 10}});
  moved.line = 77;
  set_objects({moved}, "9c01ff");
  observe();
  EXPECT_EQ(object(kFabric, "backend")["metadata"]["generation"], 1);
  moved.spec = R"({"role":"storage"})";
  set_objects({moved}, "77bd00");
  observe();
  EXPECT_EQ(object(kFabric, "backend")["metadata"]["generation"], 2);
  moved.spec.clear();
  moved.digest = "sha256:01";
  set_objects({moved}, "88bd00");
  observe();
  EXPECT_EQ(object(kFabric, "backend")["spec"]["omitted"], "sha256:01");
  EXPECT_EQ(object(kFabric, "backend")["metadata"]["generation"], 3);
}

TEST_F(SpecConditions, AreLoggedOnlyWhenTheyChange) {
  observe();
  const std::uint64_t before = log_.newest();
  observe();
  EXPECT_EQ(log_.newest(), before) << "newer proofs wake nobody";
}

TEST(SuiteConditions, AreThoseOfTheLastRunAndOfItsAge) {
  const SpecObject suite = object_on("ValidationSuite", "slo", {});
  const WallTime now = at_second(0);
  const auto validated = [&](const std::optional<SuiteRun>& run, WallTime when) {
    Conditions conditions(object_rows(*suite.kind, {std::chrono::seconds(60), std::chrono::hours(1)}), now);
    conditions.begin_anew();
    for (const NamedLook& one : looks_at_object(suite, {}, run)) conditions.look(one.type, one.look, 1, now);
    (void)conditions.shown(when);
    EXPECT_EQ(conditions.at("Ready").status, conditions.at("Validated").status);
    return conditions.at("Validated");
  };
  EXPECT_EQ(validated({}, now).reason, "NotMeasured");
  SuiteRun run{.head = sample_run(), .suites = 1};
  run.head.at = utc_text(now);
  for (const auto& [verdict, status] :
       {std::pair("pass", ConditionStatus::true_), std::pair("fail", ConditionStatus::false_),
        std::pair("unknown", ConditionStatus::unknown)}) {
    run.head.verdict = verdict;
    EXPECT_EQ(validated(run, now).status, status) << verdict;
    EXPECT_TRUE(validated(run, now).message.starts_with("run 4 (after change 17) at 2026-")) << verdict;
  }
  run.head.verdict = "pass";
  EXPECT_EQ(validated(run, now + std::chrono::minutes(59)).status, ConditionStatus::true_);
  EXPECT_EQ(validated(run, now + std::chrono::minutes(61)).status, ConditionStatus::unknown);
}

// What was measured before a change says nothing of how it is now.
TEST(SuiteRuns, AreTheNewestOfEachSuiteThatMeasuredTheClusterAsItIs) {
  const TemporaryPath folder;
  // Runs of changes are kept as long as the change is.
  std::uint64_t change = 0;
  {
    const auto led = open_store(folder.path(), {.cluster = "pod1"});
    ASSERT_TRUE(led) << led.error().text();
    ASSERT_TRUE((*led)->leadership().take("test"));
    const auto begun = (*led)->history().begin(sample_plan(), "ann", "test");
    ASSERT_TRUE(begun) << begun.error().text();
    change = *begun;
    (*led)->leadership().resign();
  }
  const auto record = [&](RunPurpose purpose, const std::string& verdict, std::vector<std::string> suites) {
    MeasuredRun run;
    run.head = sample_run();
    run.head.purpose = purpose;
    run.head.change = purpose == RunPurpose::bench ? 0 : change;
    run.head.verdict = verdict;
    for (const std::string& suite : suites) {
      run.figures.push_back(sample_figures()[0]);
      run.figures.back().suite = suite;
    }
    const auto turn = lock_for_measuring(folder.path(), "test");
    ASSERT_TRUE(turn) << turn.error().text();
    const auto store = open_store(folder.path(), {.cluster = "pod1"});
    ASSERT_TRUE(store) << store.error().text();
    ASSERT_TRUE((*store)->runs().record(*turn, run));
  };
  const StoredPlace place{.directory = folder.path(), .cluster = "pod1"};
  EXPECT_TRUE(suite_runs(place, 100)->empty());
  record(RunPurpose::bench, "pass", {"slo", "nightly"});
  record(RunPurpose::after, "fail", {"slo"});
  record(RunPurpose::before, "pass", {"slo"});
  const auto runs = suite_runs(place, 100);
  ASSERT_TRUE(runs) << runs.error().text();
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->at("slo").head.verdict, "fail");
  EXPECT_EQ(runs->at("slo").suites, 1U);
  EXPECT_EQ(runs->at("nightly").head.number, 1U);
  EXPECT_EQ(runs->at("nightly").suites, 2U);
  EXPECT_TRUE(suite_runs({}, 100)->empty()) << "no cluster is known yet";
}

// Brute force: what every object must show when nothing has changed for a while, by the reports alone.
std::string in_sync_by(const SpecObject& object, const std::vector<Observed>& devices) {
  if (object.places.empty()) return "Unknown";
  bool unknown = false;
  std::size_t not_applied = 0;
  for (const SpecObject::Place& place : object.places) {
    const Observed& device = devices[place.device];
    int differ = 0;
    std::uint32_t unsupported = 0;
    for (const DriftEntry& item : device.items) {
      if (item.origin.object != object.title() || !device.reachable) continue;
      differ += item.state == DriftState::drifted || item.by_hand ? 1 : 0;
      unsupported += item.state == DriftState::not_applied ? 1U : 0U;
    }
    if (differ > 0) return "False";
    unknown = unknown || !device.reachable || !device.complete;
    not_applied += std::min(unsupported, place.entries);
  }
  if (unknown) return "Unknown";
  return not_applied >= object.entries ? "False" : "True";
}
std::string healthy_by(const SpecObject& object, const std::vector<Observed>& devices) {
  if (object.places.empty()) return "Unknown";
  bool unknown = false;
  for (const SpecObject::Place& place : object.places) {
    const Observed& device = devices[place.device];
    unknown = unknown || !device.reachable || !device.complete;
    for (const DriftEntry& item : device.items)
      if (device.reachable && item.state == DriftState::effect && item.origin.object == object.title())
        return "False";
  }
  return unknown ? "Unknown" : "True";
}

TEST_F(SpecConditions, AgreeWithTheReportsWhateverHappensToTheDevices) {
  Random random(7);
  const std::vector<SpecObject> all = status_.objects->all;
  const std::vector<std::string> titles{"Fabric/backend", "HostProfile/training", ""};
  for (int round = 0; round < 50; ++round) {
    for (Observed& device : devices_) {
      device.items.clear();
      device.reachable = random.below(6) > 0;
      device.complete = device.reachable && random.below(6) > 0;
      if (!device.reachable) continue;
      for (std::uint64_t i = random.below(4); i > 0; --i) {
        constexpr std::array kStates{DriftState::drifted, DriftState::effect, DriftState::not_applied,
                                     DriftState::overruled, DriftState::allowed};
        const DriftState state = kStates[random.below(kStates.size())];
        device.add(state, titles[random.below(titles.size())],
                   state == DriftState::not_applied && random.below(4) == 0);
      }
    }
    observe();
    for (const SpecObject& one : all) {
      if (!one.kind->configures) continue;
      const Kind kind = kind_of(*one.kind);
      ASSERT_EQ(said(kind, one.name, "InSync"), in_sync_by(one, devices_))
          << one.title() << ", round " << round;
      ASSERT_EQ(said(kind, one.name, "Healthy"), healthy_by(one, devices_))
          << one.title() << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace lockstep::api
