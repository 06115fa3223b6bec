// One writer per machine, and one state for it, whatever the specs call the cluster and wherever they are.
#include "reconciler/session/machines.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lab.hpp"
#include "reconciler/session/accepted.hpp"
#include "reconciler/store/sqlite_file.hpp"
#include "tests/needs.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

mode_t mode_of(const std::string& file) {
  struct stat found {};
  EXPECT_EQ(::stat(file.c_str(), &found), 0) << file;
  return found.st_mode & 07777;
}

std::string contents(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class MachinesTest : public testing::Test {
 protected:
  Result<std::vector<FileLock>> take(const Machines& machines, const MachineUser& user) const {
    return machines.take(user, "lockstep apply", std::chrono::system_clock::now());
  }
  MachineUser user(const std::string& name) const {
    return {name, top.path() + "/" + name + "-specs", top.path() + "/state/" + name};
  }
  static std::string why(const Result<std::vector<FileLock>>& locks) {
    return locks ? "taken" : locks.error().text();
  }
  // The state directory after a change by an apply.
  void remember(const MachineUser& one, const nlohmann::json& devices) const {
    auto store = led(one.directory, {.cluster = one.cluster});
    ASSERT_TRUE(store->blobs().keep("census", {{"devices", devices}, {"objects", nlohmann::json::array()}}));
    const auto begun = store->history().begin(Plan{}, "ann", "lockstep apply");
    ASSERT_TRUE(begun && store->history().end(*begun, "kept"));
  }
  Result<Adopted> adopted_by(const MachineUser& one) const {
    return adopt("m1", folders, one, "lockstep state adopt", {.cluster = one.cluster});
  }

  TemporaryFolder top;
  MachineFolders folders{top.path() + "/run/locks", top.path() + "/state/machines"};
  Machines machine_{{"m1", "m1"}, folders, true};
};

TEST_F(MachinesTest, HaveOneWriterAcrossClusters) {
  auto held = take(machine_, user("pod1"));
  ASSERT_TRUE(held) << why(held);
  const Machines two({"m0", "m1"}, folders, false);
  const auto refused = take(two, user("pod2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  EXPECT_EQ(why(refused).find("this machine (m1) is being changed by process " + std::to_string(::getpid())),
            0U)
      << why(refused);
  EXPECT_TRUE(take(Machines({"m0"}, folders, false), user("pod2")))
      << "what was taken on the way is given back";
  held->clear();
  EXPECT_TRUE(take(two, user("pod2")));
}

TEST_F(MachinesTest, RenamedClusterIsRefusedUntilItAdoptsTheState) {
  ASSERT_TRUE(take(machine_, user("pod1")));
  remember(user("pod1"), {"gpu1", "gpu2", "gpu3"});
  EXPECT_EQ(why(take(machine_, user("renamed"))),
            "this machine was changed before by cluster 'pod1' (specs in " + user("pod1").folder +
                "): its journal, and what is not validated yet, would be lost; `lockstep state adopt " +
                user("renamed").folder + "` takes it over");
  EXPECT_EQ(machine_.why_refused(user("renamed")), why(take(machine_, user("renamed"))))
      << "a plan says it too";
  EXPECT_EQ(machine_.why_refused(user("pod1")), "");
  EXPECT_TRUE(take(machine_, user("pod1"))) << "it is its own";

  const auto adopted = adopted_by(user("renamed"));
  ASSERT_TRUE(adopted) << adopted.error().text();
  EXPECT_EQ(adopted->from.cluster, "pod1");
  EXPECT_EQ(adopted->restored.changes, 1U);
  EXPECT_TRUE(take(machine_, user("renamed")));
  const auto store = stored(user("renamed").directory);
  const auto deletes = deletion_by(OpenedCluster{}, Plan{}, store->blobs());
  ASSERT_TRUE(deletes);
  EXPECT_NE(deletes->why, "") << "the guard knows who was there";
  EXPECT_NE(why(take(machine_, user("pod1"))), "taken") << "and the former cluster is another now";
  EXPECT_FALSE(adopted_by(user("renamed"))) << "a second time there is nothing to take over";
}

TEST_F(MachinesTest, AdoptKeepsTheReplacedState) {
  ASSERT_TRUE(take(machine_, user("pod1")));
  remember(user("pod1"), {"gpu1"});
  remember(user("renamed"), {"gpu9"});
  const auto adopted = adopted_by(user("renamed"));
  ASSERT_TRUE(adopted) << adopted.error().text();
  EXPECT_TRUE(std::filesystem::exists(adopted->restored.kept));
}

TEST_F(MachinesTest, ClusterWithoutStateBlocksNoOther) {
  ASSERT_TRUE(take(machine_, user("pod1")));
  EXPECT_TRUE(take(machine_, user("pod2")));
}

TEST_F(MachinesTest, UnreadableRecordRefusesTheApply) {
  ASSERT_TRUE(take(machine_, user("pod1")));
  for (const char* const text : {"", "{}", "[]", R"({"cluster": 1, "folder": "", "directory": ""})"}) {
    top.write("state/machines/m1.json", text);
    EXPECT_NE(why(take(machine_, user("pod1"))).find("no record of who changed this machine"),
              std::string::npos)
        << text;
  }
}

TEST_F(MachinesTest, NoLockIsWrittenThroughALink) {
  const std::string precious = top.write("precious", "precious");
  std::filesystem::create_directories(folders.locks);
  std::filesystem::create_directories(top.path() + "/state/c");
  for (const std::string& lock : {folders.locks + "/m1.lock", top.path() + "/state/c/lock"})
    for (const bool hard : {false, true}) {
      ASSERT_EQ(hard ? ::link(precious.c_str(), lock.c_str()) : ::symlink(precious.c_str(), lock.c_str()), 0);
      const auto refused = lock == folders.locks + "/m1.lock"
                               ? lock_for_machine(folders.locks, "m1", "x", std::chrono::system_clock::now())
                               : lock_for_writing(top.path() + "/state/c", "x");
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().text().find("no lock of ours"), std::string::npos) << refused.error().text();
      EXPECT_EQ(contents(precious), "precious");
      ASSERT_EQ(::unlink(lock.c_str()), 0);
    }
}

// Whatever the umask, and also where an earlier lockstep left the files readable.
TEST_F(MachinesTest, StateIsPrivateToItsOwner) {
  const std::string directory = top.path() + "/open/state";
  for (const mode_t mask : {mode_t{0}, mode_t{077}}) {
    const mode_t before = ::umask(mask);
    remember({"pod", "", directory}, {"gpu1"});
    ::umask(before);
    EXPECT_EQ(mode_of(directory), 0700U);
    EXPECT_EQ(mode_of(directory + "/journal.sqlite"), 0600U);
    EXPECT_EQ(mode_of(directory + "/lock"), 0600U);
    ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
    ASSERT_EQ(::chmod((directory + "/journal.sqlite").c_str(), 0666), 0);
  }
  remember({"pod", "", directory}, {"gpu1"});
  EXPECT_EQ(mode_of(directory), 0700U);
  EXPECT_EQ(mode_of(directory + "/journal.sqlite"), 0600U);
}

TEST_F(MachinesTest, StateDirectoryOfAnotherUserIsRefused) {
  LOCKSTEP_NEEDS_ROOT("gives a folder away");
  const std::string directory = top.path() + "/theirs";
  ASSERT_EQ(::mkdir(directory.c_str(), 0777), 0);
  ASSERT_EQ(::chown(directory.c_str(), 65534, 65534), 0);
  const auto refused = lock_for_writing(directory, "x");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("belongs to another user (uid 65534)"), std::string::npos)
      << refused.error().text();
  ASSERT_EQ(::symlink(directory.c_str(), (top.path() + "/link").c_str()), 0);
  EXPECT_FALSE(lock_for_writing(top.path() + "/link", "x"));
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

// SQLite's locks on a file are lost when any other descriptor of it is closed in the same process.
TEST_F(MachinesTest, SecondOpenKeepsTheLocksOfTheJournal) {
  const MachineUser pod = user("pod1");
  remember(pod, {"gpu1"});
  const auto writer = Database::open(store_file(pod.directory), Database::Use::write);
  ASSERT_TRUE(writer && writer->execute("BEGIN IMMEDIATE"));
  ASSERT_TRUE(Database::open(store_file(pod.directory), Database::Use::write));
  const pid_t other = ::fork();
  if (other == 0) {
    const auto second = Database::open(store_file(pod.directory), Database::Use::write);
    ::_exit(second && second->execute("PRAGMA busy_timeout=0; BEGIN IMMEDIATE") ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "another process wrote under a writer";
}

class OneMachine : public Lab {
 protected:
  OneMachine() {
    ::setenv("LOCKSTEP_RUN_DIR", (folder.path() + "/run").c_str(), 1);
    ::setenv("LOCKSTEP_STATE_DIR", (folder.path() + "/top").c_str(), 1);
    const auto inner = drivers[DriverName::sim].attach;
    drivers[DriverName::sim].attach = [inner](const DriverTarget& target) {
      auto attached = inner(target);
      if (attached && *attached) (*attached)->machine = "m-" + target.device;
      return attached;
    };
  }
  ~OneMachine() override {
    ::unsetenv("LOCKSTEP_RUN_DIR");
    ::unsetenv("LOCKSTEP_STATE_DIR");
  }
  // The same specs, in another checkout.
  std::unique_ptr<ClusterSession> other_checkout() {
    std::filesystem::copy(folder.path() + "/specs", folder.path() + "/checkout");
    ClusterSource source;
    source.specs = {folder.path() + "/checkout"};
    auto cluster = load_cluster(source);
    EXPECT_TRUE(cluster);
    auto opened = ClusterSession::open(
        *std::move(cluster), {drivers, executor, folder.path() + "/other", stop.get_token(), &measurer});
    EXPECT_TRUE(opened);
    return *std::move(opened);
  }
};

// One checkout waits at its prompt while another applies.
TEST_F(OneMachine, AnotherCheckoutIsRefusedWithTheReason) {
  ClusterSession& first = open();
  const ApplyRequest request{.command = "lockstep apply", .author = "ann"};
  ASSERT_TRUE(first.prepare_apply(request));
  const auto second = other_checkout();
  const auto refused = second->prepare_apply(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  EXPECT_NE(refused.error().text().find("this machine (m-"), std::string::npos) << refused.error().text();
}

TEST_F(OneMachine, AnotherCheckoutMustAdoptTheState) {
  EXPECT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
  session.reset();
  const auto second = other_checkout();
  const auto refused = second->prepare_apply({.command = "lockstep apply", .author = "ann"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("`lockstep state adopt "), std::string::npos)
      << refused.error().text();
  EXPECT_EQ(second->why_apply_refused(), refused.error().what);
}

}  // namespace
}  // namespace lockstep
