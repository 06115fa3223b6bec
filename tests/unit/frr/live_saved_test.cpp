// The saved configuration with real FRR daemons. The oracle is what they load when they restart.
#include <pwd.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/needs.hpp"
#include "tests/unit/frr/live.hpp"

namespace lockstep::frr {
namespace {

constexpr const char* kSaved = "routing-config/saved";

// A separate file system of the given size over a folder; removed with the object.
class Mounted {
 public:
  Mounted(const std::string& folder, const char* options) : folder_(folder) {
    EXPECT_EQ(::mount("saved", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options), 0);
  }
  ~Mounted() { ::umount2(folder_.c_str(), MNT_DETACH); }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  void read_only(bool on) const {
    unsigned long how = MS_REMOUNT | MS_NOSUID | MS_NODEV;
    if (on) how |= MS_RDONLY;
    EXPECT_EQ(::mount("saved", folder_.c_str(), "tmpfs", how, nullptr), 0);
  }

 private:
  const std::string folder_;
};

class LiveSaved : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = lab_impossible()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(*why);
    lab_ = std::make_unique<Lab>(std::vector<std::string>{"solo"});
  }
  void start(Lab::Loads loads = Lab::Loads::nothing) {
    lab_->start("solo", loads);
    frr_ = make_frr_driver(target());
  }
  FrrTarget target() const { return lab_->target("solo"); }
  std::string file() const { return target().config_file; }

  Observation seen() { return observed(*frr_.driver); }
  Value now(const std::string& entry) { return seen().have.value(path(entry)); }
  bool saved() { return now(kSaved) == Value::present(); }
  Receipt change(const std::string& entry, Value want) {
    auto receipt = frr_.driver->apply({{path(entry), now(entry), want, 0}}, Guard{}, soon());
    EXPECT_TRUE(receipt) << receipt.error().text();
    return receipt ? *std::move(receipt) : Receipt{};
  }
  std::optional<Error> save() { return change(kSaved, Value::present()).outcomes.at(0).error; }
  void type_max_paths(int paths) {
    lab_->type("solo", "bgpd",
               {"configure terminal", "router bgp 65001", "address-family ipv4 unicast",
                "maximum-paths " + std::to_string(paths), "end"});
  }
  // max-paths after a restart of the daemons from the saved configuration.
  Value after_restart() {
    lab_->stop("solo");
    lab_->start("solo");
    lab_->load_saved("solo");
    return now("bgp/max-paths");
  }
  static Intent leaf() { return intent_of("solo", switch_entries(65001, "10.0.0.1", {"up0"})); }

  std::unique_ptr<Lab> lab_;
  Attached frr_;
};

TEST_F(LiveSaved, DetectsAndSavesManualUnsavedChanges) {
  start();
  EXPECT_TRUE(saved()) << "nothing runs that could be lost";
  converge(*frr_.driver, leaf());
  EXPECT_TRUE(saved());
  type_max_paths(8);
  EXPECT_FALSE(saved());
  EXPECT_NE(seen().notes.at(0).find("bgp/max-paths is 64 in the file, 8 running"), std::string::npos)
      << seen().notes.at(0);
  EXPECT_FALSE(save());
  EXPECT_TRUE(saved());
  EXPECT_EQ(after_restart(), Value::integer(8));
  EXPECT_TRUE(saved());
}

TEST_F(LiveSaved, DetectsAManualEditOfTheFileAndOverwritesIt) {
  start();
  converge(*frr_.driver, leaf());
  run({"sed", "-i", "s/maximum-paths 64/maximum-paths 2/", file()});
  EXPECT_FALSE(saved());
  EXPECT_FALSE(save());
  EXPECT_TRUE(saved());
  EXPECT_EQ(after_restart(), Value::integer(64));
  std::filesystem::remove(file());
  EXPECT_FALSE(saved());
  EXPECT_FALSE(save());
  EXPECT_EQ(after_restart(), Value::integer(64));
}

// Saved by FRR itself, with unmanaged lines.
TEST_F(LiveSaved, AcceptsWhatVtyshSavesIncludingPasswords) {
  start();
  converge(*frr_.driver, leaf());
  type_max_paths(16);
  lab_->type("solo", "bgpd",
             {"configure terminal", "password hunter2", "log syslog informational", "route-map RM permit 10",
              "exit", "router bgp 65001", "neighbor up0 description by hand",
              "neighbor 192.0.2.7 remote-as 65002", "neighbor 192.0.2.7 password hunter3", "end"});
  EXPECT_FALSE(saved()) << "maximum-paths";
  lab_->save_by_vtysh("solo");
  EXPECT_TRUE(saved()) << seen().notes.at(0);
  lab_->type("solo", "bgpd",
             {"configure terminal", "password hunter4", "router bgp 65001", "no neighbor 192.0.2.7", "end"});
  EXPECT_TRUE(saved()) << "nobody's lines are no alarm";
  EXPECT_FALSE(change("bgp/max-paths", Value::integer(32)).outcomes.at(0).error);
  const std::string text = text_of(file());
  EXPECT_NE(text.find("password hunter4"), std::string::npos) << "kept as `write memory` keeps them";
  EXPECT_NE(text.find("route-map RM permit 10"), std::string::npos);
  EXPECT_NE(text.find("description by hand"), std::string::npos);
  EXPECT_TRUE(saved());
}

TEST_F(LiveSaved, KeepsFrrsOwnerAndMode) {
  start();
  converge(*frr_.driver, leaf());
  struct stat made {};
  ASSERT_EQ(::stat(file().c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, ::getpwnam("frr")->pw_uid);
  EXPECT_EQ(made.st_gid, ::getpwnam("frr")->pw_gid);
  EXPECT_EQ(made.st_mode & 07777, 0640U);
  change("bgp/max-paths", Value::integer(8));
  struct stat replaced {};
  ASSERT_EQ(::stat(file().c_str(), &replaced), 0);
  EXPECT_EQ(std::tuple(replaced.st_uid, replaced.st_gid, replaced.st_mode),
            std::tuple(made.st_uid, made.st_gid, made.st_mode));
  change("bgp/max-paths", Value::integer(8));
  save();
  struct stat again {};
  ASSERT_EQ(::stat(file().c_str(), &again), 0);
  EXPECT_EQ(again.st_ino, replaced.st_ino) << "what is saved already is not written again";
}

TEST_F(LiveSaved, AFileThatCannotBeReplacedIsAnErrorWithTheReason) {
  lab_->start("solo");
  const Folder folder;
  const Mounted small(folder.name(), "size=64k");
  FrrTarget elsewhere = target();
  elsewhere.config_file = folder.name() + "/frr.conf";
  frr_ = make_frr_driver(elsewhere);
  converge(*frr_.driver, leaf());
  const std::string before = text_of(elsewhere.config_file);

  small.read_only(true);
  const Receipt refused = change("bgp/max-paths", Value::integer(8));
  ASSERT_TRUE(refused.outcomes.at(0).error);
  EXPECT_EQ(refused.outcomes[0].error->kind, ErrorKind::denied);
  EXPECT_NE(refused.outcomes[0].error->text().find("Read-only file system"), std::string::npos)
      << refused.outcomes[0].error->text();
  EXPECT_EQ(now("bgp/max-paths"), Value::integer(8));
  EXPECT_FALSE(saved());
  ASSERT_TRUE(save());
  EXPECT_EQ(text_of(elsewhere.config_file), before);
  small.read_only(false);

  std::ofstream(folder.name() + "/full") << std::string(1 << 20, 'x');
  const auto full = save();
  ASSERT_TRUE(full);
  EXPECT_EQ(full->kind, ErrorKind::transient);
  EXPECT_NE(full->text().find("No space left on device"), std::string::npos) << full->text();
  EXPECT_FALSE(saved());
  EXPECT_EQ(text_of(elsewhere.config_file), before);
  std::filesystem::remove(folder.name() + "/full");
  EXPECT_FALSE(save());
  EXPECT_TRUE(saved());
}

// The configuration of a hung daemon is unknown and would be missing in the file.
TEST_F(LiveSaved, IsNotWrittenWhileADaemonHangs) {
  start();
  converge(*frr_.driver, leaf());
  type_max_paths(8);
  const std::string before = text_of(file());
  lab_->signal("solo", "zebra", SIGSTOP);
  const auto receipt =
      frr_.driver->apply({{path(kSaved), {}, Value::present(), 0}}, Guard{}, soon(milliseconds(300)));
  lab_->signal("solo", "zebra", SIGCONT);
  ASSERT_TRUE(receipt) << receipt.error().text();
  ASSERT_TRUE(receipt->outcomes.at(0).error);
  EXPECT_EQ(receipt->outcomes[0].error->kind, ErrorKind::transient);
  EXPECT_EQ(text_of(file()), before);
}

TEST_F(LiveSaved, IsUnreadWhenADaemonWithSavedConfigurationIsDead) {
  start();
  converge(*frr_.driver, leaf());
  lab_->signal("solo", "bfdd", SIGKILL);
  const auto dead = [this] {
    const auto look = frr_.driver->observe(Scope{}, "", soon());
    return look && is_unread(look->unread, path(kSaved));
  };
  EXPECT_TRUE(eventually(dead));
}

TEST_F(LiveSaved, CannotBeUnset) {
  start();
  converge(*frr_.driver, leaf());
  const std::string before = text_of(file());
  const auto error = change(kSaved, Value{}).outcomes.at(0).error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::unsupported);
  EXPECT_EQ(text_of(file()), before);
}

// `no service integrated-vtysh-config`: each daemon reads and writes a file of its own.
TEST_F(LiveSaved, UsesTheFileOfEachDaemonWithoutIntegratedConfig) {
  const std::string dir = target().run_dir;
  const passwd* const frr = ::getpwnam("frr");
  for (const char* daemon : {"zebra", "staticd", "bfdd", "bgpd"}) {
    const std::string own = dir + "/" + daemon + ".conf";
    std::ofstream(own) << "";
    ASSERT_EQ(::chown(own.c_str(), frr->pw_uid, frr->pw_gid), 0);
  }
  std::ofstream(dir + "/vtysh.conf") << "no service integrated-vtysh-config\n";
  start(Lab::Loads::own_files);
  converge(*frr_.driver, leaf());
  EXPECT_TRUE(saved());
  EXPECT_FALSE(std::filesystem::exists(file())) << "FRR would load no other file from then on";
  type_max_paths(8);
  EXPECT_FALSE(saved());
  EXPECT_FALSE(save());
  EXPECT_TRUE(saved());
  lab_->stop("solo");
  lab_->start("solo", Lab::Loads::own_files);
  EXPECT_TRUE(eventually([this] { return now("bgp/max-paths") == Value::integer(8); }));
  EXPECT_TRUE(saved());

  ASSERT_EQ(::chmod(dir.c_str(), 0500), 0);  // bgpd itself can no longer write there
  type_max_paths(4);
  const auto refused = save();
  ::chmod(dir.c_str(), 0755);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->text().find("write memory"), std::string::npos) << refused->text();
  EXPECT_FALSE(saved());
}

}  // namespace
}  // namespace lockstep::frr
