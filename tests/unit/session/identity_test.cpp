// A cluster is identified by its name and the UUID in its allocations.lock: clones of its specs share lock,
// ledger and state, and copies of an example do not.
#include "reconciler/session/identity.hpp"

#include <nlohmann/json.hpp>

#include "drivers/runtime/real_executor.hpp"
#include "lab.hpp"
#include "reconciler/session/former_entries.hpp"
#include "specs/model/uuid.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProbing = "sysctl[net.ipv4.tcp_mtu_probing]";
constexpr const char* kOther = "919108f7-52d1-4320-9bac-f847db4148a8";  // RFC 9562, A.3

class Clones : public Lab {
 protected:
  Clones() {
    ::setenv("LOCKSTEP_RUN_DIR", (folder.path() + "/run").c_str(), 1);
    ::setenv("LOCKSTEP_STATE_DIR", top().c_str(), 1);
    const auto inner = drivers[DriverName::sim].attach;
    drivers[DriverName::sim].attach = [this, inner](const DriverTarget& target) {
      auto attached = inner(target);
      if (attached && *attached) (*attached)->machine = machines + target.device;
      return attached;
    };
  }
  ~Clones() override {
    ::unsetenv("LOCKSTEP_RUN_DIR");
    ::unsetenv("LOCKSTEP_STATE_DIR");
  }
  std::string top() const { return folder.path() + "/top"; }
  using Lab::at;
  std::string at(const std::string& name) const { return folder.path() + "/" + name; }
  void copy(const std::string& from, const std::string& to) const { fs::copy(at(from), at(to)); }
  OpenedCluster load(const std::string& name, bool renumber = false) const {
    ClusterSource source;
    source.specs = {at(name)};
    source.renumber = renumber;
    auto cluster = load_cluster(source);
    if (!cluster) throw std::runtime_error(cluster.error().text());
    return *std::move(cluster);
  }
  std::unique_ptr<ClusterSession> clone(const std::string& name, bool renumber = false) {
    auto opened = ClusterSession::open(
        load(name, renumber),
        {.drivers = drivers, .executor = executor, .stop = stop.get_token(), .measurer = &measurer});
    if (!opened) throw std::runtime_error(opened.error().text());
    return *std::move(opened);
  }
  // Like `lockstep apply`. Returns the error, or an empty string.
  std::string applied_in(const std::string& name, bool renumber = false) {
    const auto here = clone(name, renumber);
    const ApplyRequest request{.command = "lockstep apply", .author = "ann"};
    if (const auto earlier = here->prepare_apply(request); !earlier) return earlier.error().text();
    const std::vector<DeviceState> states = here->observe();
    const auto plan = here->plan(states);
    const auto written = here->settle_written(states);
    if (!plan || !written) return "no plan";
    const std::vector<WrittenEntry> left = left_behind(here->fleet(), states, *written);
    if (plan->empty()) return here->leave_as_is(left) ? "" : "not left";
    const Applied applied = here->apply(*plan, left, request, {});
    return applied.report.verdict == ApplyVerdict::kept && applied.accepted ? ""
                                                                            : applied.report.steps[0].why;
  }
  std::string uuid_in(const std::string& name) const {
    const auto lock = read_allocation_lock(at(name));
    if (!lock || !*lock || !(*lock)->cluster) return "none";
    return (*lock)->cluster->uuid;
  }
  std::uint64_t changes_seen_in(const std::string& name) {
    return (*clone(name)->read_store())->history().totals()->changes;
  }
  void give_uuid(const std::string& name, const std::string& uuid) const {
    AllocationLock lock = **read_allocation_lock(at(name));
    lock.cluster = ClusterIdentity{"lab", uuid};
    ASSERT_TRUE(write_allocation_lock(at(name), lock));
  }
  // State as left by a lockstep version without UUIDs.
  void former_state(const std::string& name) const {
    const auto store = led(top() + "/" + load(name).id, {.cluster = "lab"});
    const auto begun = store->history().begin(Plan{}, "ann", "lockstep apply");
    ASSERT_TRUE(begun && store->history().end(*begun, "kept"));
    ASSERT_TRUE(store->blobs().keep("baseline/pairs", {{"a", 1}}));
  }
  std::string machines = "m-";
};

TEST_F(Clones, ShareOneLockLedgerAndFormerValues) {
  ASSERT_EQ(uuid_in("specs"), "none");
  ASSERT_EQ(applied_in("specs"), "");
  const std::string uuid = uuid_in("specs");
  EXPECT_EQ(parse_uuid_v4(uuid), uuid);
  EXPECT_TRUE(fs::exists(top() + "/lab-" + uuid + "/journal.sqlite"));
  ASSERT_EQ(at("gpu1", kProbing), Value::text("0"));
  copy("specs", "clone");
  EXPECT_EQ(changes_seen_in("clone"), 1U);
  fs::remove(at("clone/hosts.yaml"));
  EXPECT_EQ(applied_in("clone"), "");
  EXPECT_EQ(at("gpu1", kProbing), Value::text("1")) << "what was found before the other clone's apply";
  EXPECT_EQ(changes_seen_in("specs"), 2U) << "numbers go on";
  EXPECT_EQ(uuid_in("clone"), uuid);
}

TEST_F(Clones, ExcludeEachOther) {
  ASSERT_EQ(applied_in("specs"), "");
  copy("specs", "clone");
  const auto at_its_prompt = clone("specs");
  ASSERT_TRUE(at_its_prompt->prepare_apply({.command = "first", .author = "ann"}));
  const std::string refused = applied_in("clone");
  EXPECT_NE(refused.find("this cluster is being changed by process "), std::string::npos) << refused;
  EXPECT_NE(refused.find("(first)"), std::string::npos) << refused;
}

TEST_F(Clones, ExcludeEachOtherFromTheFirstApply) {
  const auto first = clone("specs");
  const auto second = clone("specs");
  ASSERT_TRUE(first->prepare_apply({.command = "first", .author = "ann"}));
  const auto refused = second->prepare_apply({.command = "second", .author = "bob"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict) << refused.error().text();
  EXPECT_EQ(first->cluster().uuid(), uuid_in("specs"));
}

// Both were opened before the first changed anything.
TEST_F(Clones, OpenedBeforeAnApplyDoNotForgetItsObjects) {
  copy("specs", "clone");
  fs::remove(at("clone/hosts.yaml"));
  ASSERT_EQ(applied_in("specs"), "");
  fs::copy(at("specs/allocations.lock"), at("clone/allocations.lock"));
  const auto early = clone("clone");
  ASSERT_EQ(at("gpu1", kProbing), Value::text("0"));
  EXPECT_EQ(early->plan(early->observe())->devices.size(), 2U) << "it restores";
  fs::remove_all(top());
  const auto too_early = clone("clone");
  ASSERT_EQ(applied_in("specs"), "");
  devices.at("gpu1")->set(*Path::parse(kProbing), Value::text("1"));
  ASSERT_EQ(applied_in("specs"), "");
  const auto refused = too_early->prepare_apply({.command = "second", .author = "bob"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("since the specs were read: run the command again"),
            std::string::npos)
      << refused.error().text();
}

TEST_F(Clones, CopiesWithoutALockFileAreSeparateClusters) {
  copy("specs", "copy");
  ASSERT_EQ(applied_in("specs"), "");
  const std::string refused = applied_in("copy");
  EXPECT_EQ(refused,
            "this machine was changed before by cluster 'lab' (UUID " + uuid_in("specs") + ", specs in " +
                fs::canonical(at("specs")).string() +
                "): its journal, and what is not validated yet, would be lost; `lockstep state adopt " +
                fs::canonical(at("copy")).string() + "` takes it over");
  EXPECT_EQ(uuid_in("copy"), "none") << "a refused apply writes nothing beside the specs";
  EXPECT_FALSE(fs::exists(at("copy/allocations.lock")));
  machines = "other-";
  EXPECT_EQ(applied_in("copy"), "");
  EXPECT_NE(uuid_in("copy"), uuid_in("specs"));
  EXPECT_EQ(changes_seen_in("specs"), 1U);
}

TEST_F(Clones, LockFileWithoutAUuidGetsOneAndKeepsItsState) {
  folder.write("specs/allocations.lock", R"({"version": 1, "pools": {"Fabric/gone leaf": {"leaf9": 9}}})");
  former_state("specs");
  EXPECT_EQ(changes_seen_in("specs"), 1U) << "a command that only reads finds it where it is";
  const std::string before = top() + "/" + load("specs").id;
  auto here = clone("specs");
  ASSERT_TRUE(here->prepare_apply({.command = "lockstep apply", .author = "ann"}));
  EXPECT_FALSE(fs::exists(before));
  const auto store = stored(top() + "/lab-" + uuid_in("specs"));
  EXPECT_EQ(store->history().totals()->changes, 1U);
  EXPECT_TRUE(store->blobs().kept("baseline/pairs")->has_value());
  EXPECT_EQ((*read_allocation_lock(at("specs")))->pools.at("Fabric/gone leaf").at("leaf9"), 9U);
  here.reset();
  EXPECT_EQ(changes_seen_in("specs"), 1U);
}

// Killed between its two renames, or with a UUID that came by git.
TEST_F(Clones, NextApplyMovesStateFromTheFolderPathToTheUuid) {
  former_state("specs");
  ASSERT_TRUE(write_allocation_lock(at("specs"), {{}, ClusterIdentity{"lab", kOther}}));
  EXPECT_EQ(changes_seen_in("specs"), 1U);
  ASSERT_EQ(applied_in("specs"), "");
  EXPECT_EQ(stored(top() + "/lab-" + kOther)->history().totals()->changes, 2U);
}

TEST_F(Clones, StateUnderTheFolderPathDoesNotReplaceTheClusterState) {
  ASSERT_EQ(applied_in("specs"), "");
  copy("specs", "clone");
  former_state("clone");
  EXPECT_EQ(applied_in("clone"), "");
  EXPECT_EQ(changes_seen_in("specs"), 1U);
  EXPECT_TRUE(stored(top() + "/" + load("clone").id)->blobs().kept("baseline/pairs")->has_value());
}

TEST_F(Clones, StateIsNotMovedWhileAnOlderLockstepApplies) {
  const auto running = led(top() + "/" + load("specs").id, {}, "lockstep apply of old");
  const std::string refused = applied_in("specs");
  EXPECT_NE(refused.find("(lockstep apply of old)"), std::string::npos) << refused;
  EXPECT_EQ(uuid_in("specs"), "none");
}

TEST_F(Clones, DeletedLockFileMakesANewClusterThatTheMachineRefuses) {
  ASSERT_EQ(applied_in("specs"), "");
  const std::string uuid = uuid_in("specs");
  fs::rename(at("specs/allocations.lock"), at("lost"));
  EXPECT_NE(clone("specs")->why_apply_refused().find("UUID " + uuid), std::string::npos);
  EXPECT_NE(applied_in("specs").find("UUID " + uuid), std::string::npos);
  EXPECT_NE(uuid_in("specs"), uuid);
  fs::rename(at("lost"), at("specs/allocations.lock"));
  EXPECT_EQ(applied_in("specs"), "") << "as git brings it back";
  EXPECT_EQ(changes_seen_in("specs"), 1U);
}

TEST_F(Clones, RenumberKeepsTheUuid) {
  ASSERT_EQ(applied_in("specs"), "");
  const std::string uuid = uuid_in("specs");
  AllocationLock lock = **read_allocation_lock(at("specs"));
  ASSERT_FALSE(lock.pools.empty());
  for (auto& [name, number] : lock.pools.at("Fabric/backend leaf")) number += 5;
  ASSERT_TRUE(write_allocation_lock(at("specs"), lock));
  ASSERT_EQ(applied_in("specs"), "");
  EXPECT_EQ(**read_allocation_lock(at("specs")), lock);
  EXPECT_EQ(applied_in("specs", true), "");
  EXPECT_EQ((*read_allocation_lock(at("specs")))->pools.at("Fabric/backend leaf").at("leaf0"), 0U);
  EXPECT_EQ(uuid_in("specs"), uuid);
}

TEST_F(Clones, RenamedClusterIsRefusedUntilItAdopts) {
  ASSERT_EQ(applied_in("specs"), "");
  std::string renamed = kDevices;
  renamed.replace(renamed.find("name: lab}"), 10, "name: new}");
  folder.write("specs/devices.yaml", renamed);
  EXPECT_NE(applied_in("specs").find("`lockstep state adopt "), std::string::npos);
  const OpenedCluster cluster = load("specs");
  const MachineUser user{cluster.name, cluster.folder, state_directory(cluster), cluster.uuid()};
  for (const char* const device : {"gpu1", "gpu2", "leaf0"}) {
    const auto adopted = adopt(machines + device, machine_folders(), user, "adopt", {.cluster = "new"});
    ASSERT_TRUE(adopted) << adopted.error().text();
  }
  EXPECT_EQ(applied_in("specs"), "");
  EXPECT_TRUE(fs::exists(top() + "/new-" + uuid_in("specs")));
  fs::remove(at("specs/hosts.yaml"));
  EXPECT_EQ(applied_in("specs"), "");
  EXPECT_EQ(at("gpu1", kProbing), Value::text("1")) << "what was found goes on";
}

TEST_F(Clones, UuidOfAnotherClusterIsRefused) {
  copy("specs", "other");
  ASSERT_EQ(applied_in("specs"), "");
  machines = "other-";
  ASSERT_EQ(applied_in("other"), "");
  machines = "m-";
  give_uuid("specs", uuid_in("other"));
  EXPECT_NE(applied_in("specs").find("this machine was changed before by cluster 'lab' (UUID "),
            std::string::npos);
}

// Otherwise a different state would be used.
TEST_F(Clones, MachineRefusesAnotherStateDirectory) {
  ASSERT_EQ(applied_in("specs"), "");
  ::setenv("LOCKSTEP_STATE_DIR", at("second-operator").c_str(), 1);
  const std::string refused = applied_in("specs");
  EXPECT_NE(refused.find("with this cluster's state in " + top() + "/lab-" + uuid_in("specs")),
            std::string::npos)
      << refused;
  EXPECT_NE(refused.find("set LOCKSTEP_STATE_DIR as it was"), std::string::npos) << refused;
  ::setenv("LOCKSTEP_STATE_DIR", top().c_str(), 1);
  EXPECT_EQ(applied_in("specs"), "");
}

TEST_F(Clones, LockFileReplacedAtThePromptIsNotOverwritten) {
  ASSERT_EQ(applied_in("specs"), "");
  devices.at("gpu1")->set(*Path::parse(kProbing), Value::text("1"));
  const auto here = clone("specs");
  const ApplyRequest request{.command = "lockstep apply", .author = "ann"};
  ASSERT_TRUE(here->prepare_apply(request));
  give_uuid("specs", kOther);
  const Applied applied = here->apply(*here->plan(here->observe()), {}, request, {});
  EXPECT_NE(applied.report.steps.at(0).why.find("is of another cluster now than when the specs were read"),
            std::string::npos)
      << applied.report.steps[0].why;
  EXPECT_EQ(uuid_in("specs"), kOther);
  EXPECT_EQ(at("gpu1", kProbing), Value::text("1")) << "nothing was written to it";
}

TEST_F(Clones, NumbersAddedToTheLockFileMeanwhileStay) {
  ASSERT_EQ(applied_in("specs"), "");
  auto here = clone("specs");
  AllocationLock lock = **read_allocation_lock(at("specs"));
  lock.pools.at("Fabric/backend leaf")["leaf7"] = 7;
  ASSERT_TRUE(write_allocation_lock(at("specs"), lock));
  EXPECT_TRUE(write_numbers(here->cluster()));
  EXPECT_EQ(**read_allocation_lock(at("specs")), lock);
  lock.pools.at("Fabric/backend leaf")["leaf0"] = 3;
  ASSERT_TRUE(write_allocation_lock(at("specs"), lock));
  const auto refused = write_numbers(here->cluster());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("gives other numbers now"), std::string::npos)
      << refused.error().text();
  EXPECT_EQ(**read_allocation_lock(at("specs")), lock);
}

TEST_F(Clones, AcceptingABaselineAssignsTheUuid) {
  const auto here = clone("specs");
  const BenchRequest reads{.command = "lockstep bench"};
  ASSERT_TRUE(here->bench(reads, {}, Call{}));
  EXPECT_EQ(uuid_in("specs"), "none");
  BenchRequest accepts = reads;
  accepts.accept = true;
  ASSERT_TRUE(here->bench(accepts, {}, Call{}));
  EXPECT_TRUE(fs::exists(top() + "/lab-" + uuid_in("specs") + "/journal.sqlite"));
  EXPECT_FALSE(fs::exists(top() + "/" + load("specs").id)) << "the measurement's lock moved with it";
}

TEST_F(Clones, WatchWritesNumbersBeforeHealing) {
  RealExecutor real;
  auto opened =
      ClusterSession::open(load("specs"), {.drivers = drivers, .executor = real, .stop = stop.get_token()});
  ASSERT_TRUE(opened);
  devices.at("gpu2")->seen = [this](const SimulatedCall& call) {
    if (call.kind != SimulatedCall::Kind::apply) return;
    const auto lock = read_allocation_lock(at("specs"));
    EXPECT_TRUE(lock && *lock && (*lock)->cluster && !(*lock)->pools.empty());
  };
  std::vector<ApplyVerdict> healed;
  (void)(*opened)->watch({.command = "lockstep watch",
                          .author = "ann",
                          .converge = true,
                          .event = [](const WatchEvent&) {},
                          .healed =
                              [&](const Healing& healing) {
                                EXPECT_FALSE(healing.no_plan || healing.locked);
                                healed.push_back(healing.report.verdict);
                                stop.request_stop();
                              }});
  EXPECT_FALSE(healed.empty());
  EXPECT_EQ(at("gpu2", kProbing), Value::text("0"));
}

TEST_F(Clones, WithoutAClusterObjectTheNameIsThatOfTheFirstFolder) {
  std::string nameless = kDevices;
  nameless.erase(0, nameless.find("---"));
  folder.write("specs/devices.yaml", nameless);
  ASSERT_EQ(applied_in("specs"), "");
  copy("specs", "elsewhere");
  EXPECT_EQ(load("elsewhere").name, "specs");
  EXPECT_EQ(changes_seen_in("elsewhere"), 1U);
}

TEST_F(Clones, TwinStateBelongsToItsFolder) {
  ASSERT_EQ(applied_in("specs"), "");
  ClusterSource source;
  source.specs = {at("specs")};
  source.twin = true;
  const auto twin = load_cluster(source);
  ASSERT_TRUE(twin);
  EXPECT_EQ(twin->uuid(), "");
  EXPECT_EQ(state_directory(*twin), top() + "/" + twin->id + "-twin");
  OpenedCluster settled = *twin;
  ASSERT_TRUE(settle_identity(settled, "lockstep apply", WallTime{}));
  EXPECT_TRUE(write_numbers(settled));
  EXPECT_EQ(state_directory(settled), state_directory(*twin));
}

}  // namespace
}  // namespace lockstep
