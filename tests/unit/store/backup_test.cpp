#include "reconciler/store/backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "history_lab.hpp"
#include "oracle.hpp"
#include "reconciler/store/layout.hpp"
#include "small_disk.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

constexpr WallTime kNow{std::chrono::hours(500'000)};  // 2027-01-15T08:00:00Z

class Backups : public StateDirectory {
 protected:
  Backups() {
    elsewhere = directory + "/elsewhere";
    state = directory + "/state";
    std::filesystem::create_directory(elsewhere);
    backup = elsewhere + "/pod.sqlite";
  }

  static StoreOptions of(const std::string& cluster) {
    return {.cluster = cluster, .now = [] { return kNow; }};
  }
  // Makes `count` complete changes, each under its own epoch.
  void change(int count, const std::string& cluster = "pod") const {
    for (int i = 0; i < count; ++i) {
      const auto store = led(state, of(cluster));
      const auto begun = store->history().begin(Plan{}, "ann", "why");
      ASSERT_TRUE(begun && store->history().ticket(*begun, ticket("t" + std::to_string(*begun))));
      ASSERT_TRUE(store->history().receipt("t" + std::to_string(*begun), TicketState::kept, ""));
      ASSERT_TRUE(store->history().end(*begun, "kept"));
    }
  }
  Backup made() const {
    const auto done = back_up(state, backup, of("pod"));
    EXPECT_TRUE(done) << done.error().text();
    return done ? *done : Backup{};
  }
  Result<Restored> restored(const std::string& cluster = "pod") const {
    return restore(state, backup, "lockstep state restore", of(cluster));
  }
  std::string refusal(const std::string& cluster = "pod") const {
    const auto done = restored(cluster);
    return done ? "restored" : done.error().text();
  }
  std::string live() const { return state + "/journal.sqlite"; }
  static std::vector<std::string> names(const std::string& folder) {
    std::vector<std::string> all;
    for (const auto& one : std::filesystem::directory_iterator(folder)) all.push_back(one.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

  std::string state;
  std::string elsewhere;
  std::string backup;
};

TEST_F(Backups, AreOneFilePrivateToTheirOwner) {
  change(3);
  const Backup done = made();
  EXPECT_EQ(done.file, backup);
  EXPECT_EQ(done.at, "2027-01-15T08:00:00Z");
  EXPECT_EQ(done.changes, 3U);
  EXPECT_EQ(done.epoch, 3U);
  EXPECT_EQ(done.bytes, std::filesystem::file_size(backup));
  EXPECT_FALSE(done.not_noted);
  EXPECT_EQ(names(elsewhere), std::vector<std::string>{"pod.sqlite"});
  struct stat found {};
  ASSERT_EQ(stat(backup.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0600U);
  const Oracle oracle(backup, SQLITE_OPEN_READONLY);
  EXPECT_TRUE(oracle.sound());
  EXPECT_EQ(oracle.count("changes"), "3");
  EXPECT_EQ(oracle.count("tickets"), "3");
  EXPECT_EQ(oracle.ask("PRAGMA journal_mode"), "delete");
  const auto described = describe(state);
  ASSERT_TRUE(described);
  ASSERT_TRUE(described->last_backup);
  EXPECT_EQ(described->last_backup->file, backup);
  EXPECT_EQ(described->last_backup->changes, 3U);
  EXPECT_EQ(described->cluster, "pod");
  EXPECT_EQ(described->epoch, 3U);
}

TEST_F(Backups, OfAnEmptyStateAreRefusedAndCreateNothing) {
  const auto none = back_up(state, backup, of("pod"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text(), live() + ": nothing was ever written here: there is nothing to back up");
  EXPECT_TRUE(names(elsewhere).empty());
  EXPECT_FALSE(std::filesystem::exists(state));
}

TEST_F(Backups, AreRefusedInTheStateDirectory) {
  change(1);
  for (const char* const name : {"journal.sqlite", "lock", "journal.sqlite-wal", "backup"}) {
    const auto refused = back_up(state, state + "/" + name, of("pod"));
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().text().find("a backup belongs on another disk"), std::string::npos);
  }
  EXPECT_EQ(Oracle(live()).count("changes"), "1");
}

TEST_F(Backups, RunBesideAWriterAndAReader) {
  change(1);
  const auto reader = stored(state);
  const pid_t writer = fork();
  if (writer == 0) {
    const auto store = led(state, of("pod"));
    for (std::uint64_t i = 0;; ++i) {
      const auto begun = store->history().begin(Plan{}, "ann", "why");
      if (!begun || !store->history().ticket(*begun, ticket("w" + std::to_string(i)))) _exit(1);
    }
  }
  for (int i = 0; i < 10; ++i) {
    const std::size_t before = reader->history().totals()->changes;
    const Backup done = made();
    const Oracle oracle(backup, SQLITE_OPEN_READONLY);
    EXPECT_TRUE(oracle.sound());
    // A state between two writes: at most the last change has no ticket yet.
    const std::string lacking =
        oracle.ask("SELECT COUNT(*) FROM changes WHERE id NOT IN (SELECT change FROM tickets)");
    EXPECT_TRUE(lacking == "0" || lacking == "1") << lacking;
    EXPECT_GE(done.changes, before);
    EXPECT_GE(reader->history().totals()->changes, done.changes);
  }
  int status = 0;
  EXPECT_EQ(waitpid(writer, &status, WNOHANG), 0) << "the writer was held up";
  kill(writer, SIGKILL);
  waitpid(writer, &status, 0);
  EXPECT_TRUE(Oracle(live()).sound());
}

TEST_F(Backups, OntoAFullDiskKeepTheLastOne) {
  LOCKSTEP_NEEDS_ROOT("mounts a file system of 512 KiB");
  change(1);
  const std::string wrong = on_small_disk(elsewhere, 512, [this]() -> std::string {
    made();
    change(20);
    fill_up(elsewhere, 8192);
    const auto full = back_up(state, backup, of("pod"));
    if (full) return "a full disk takes it";
    if (!full.error().text().starts_with(backup + ": ") ||
        full.error().text().find("make room") == std::string::npos)
      return full.error().text();
    if (names(elsewhere) != std::vector<std::string>{"filler", "pod.sqlite"}) return "something is left";
    const Oracle oracle(backup, SQLITE_OPEN_READONLY);
    return oracle.sound() && oracle.count("changes") == "1" ? "" : "the last one is gone";
  });
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(Oracle(live()).count("changes"), "21");
}

TEST_F(Backups, RestoreTheSavedStateAndKeepTheReplacedOne) {
  change(2);
  made();
  change(3);
  const auto reader = stored(state);
  EXPECT_EQ(reader->history().totals()->changes, 5U);
  const auto done = restored();
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->changes, 2U);
  EXPECT_EQ(done->kept, state + "/journal.before-restore-20270115T080000Z.sqlite");
  EXPECT_EQ(reader->history().totals()->changes, 2U) << "a reader that was open sees it";
  EXPECT_EQ(Oracle(done->kept).count("changes"), "5");
  EXPECT_TRUE(Oracle(done->kept).sound());
  EXPECT_TRUE(Oracle(live()).sound());
  // Five epochs were used here.
  EXPECT_EQ(led(state)->leadership().epoch(), 5 + kEpochGap + 1);
  const auto again = restored();
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->kept, state + "/journal.before-restore-20270115T080000Z-2.sqlite");
  EXPECT_GT(led(state)->leadership().epoch(), 5 + 2 * kEpochGap);
}

TEST_F(Backups, AreRestoredIntoAnEmptyDirectory) {
  change(2);
  made();
  std::filesystem::remove_all(state);
  const auto done = restored();
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->kept, "");
  EXPECT_EQ(names(state), (std::vector<std::string>{"journal.sqlite", "lock"}));
  EXPECT_EQ(stored(state)->history().changes()->size(), 2U);
  EXPECT_EQ(led(state)->leadership().epoch(), 2 + kEpochGap + 1);
}

TEST_F(Backups, AreRestoredOverADamagedStore) {
  change(2);
  made();
  change(40);
  const std::string garbage(5000, 'g');
  std::ofstream(live()) << garbage;
  std::ofstream(live() + "-wal") << "a log of it";
  const auto done = restored();
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(std::filesystem::file_size(done->kept), garbage.size());
  EXPECT_EQ(stored(state)->history().changes()->size(), 2U);
  EXPECT_EQ(led(state)->leadership().epoch(), 2 + kEpochGap + 1);
  EXPECT_TRUE(Oracle(live()).sound());
}

TEST_F(Backups, OfAnOlderLayoutAreMigrated) {
  change(2);
  made();
  EXPECT_EQ(Oracle(backup).ask(
                "DROP INDEX changes_begun; DROP INDEX changes_owed; DROP TABLE identity;"
                "ALTER TABLE changes DROP COLUMN gate; DROP TABLE cures; DROP TABLE written;"
                "DROP TABLE run_figures; DROP TABLE run_parts; DROP TABLE run_devices; DROP TABLE runs;"
                "DROP TABLE refused; ALTER TABLE changes DROP COLUMN subjects;"
                "ALTER TABLE changes DROP COLUMN measured_before;"
                "PRAGMA user_version = 1"),
            "");
  const auto done = restored();
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(Oracle(live()).ask("PRAGMA user_version"), std::to_string(kLayout));
  EXPECT_EQ(Oracle(backup).ask("PRAGMA user_version"), "1") << "the backup is as it was";
  EXPECT_TRUE(stored(state)->history().written()->empty());
}

TEST_F(Backups, InvalidOrForeignOnesAreRefusedWithoutChanges) {
  change(2);
  made();
  change(1);
  const std::string whole = backup;
  const auto untouched = [this]() -> std::string {
    if (Oracle(live()).count("changes") != "3") return "changed";
    if (led(state)->leadership().epoch() > kEpochGap) return "other epochs";
    const std::vector<std::string> left = names(state);
    return left == std::vector<std::string>{"journal.sqlite", "last-backup.json", "lock"} ? "" : left[0];
  };
  EXPECT_EQ(refusal("other"), backup + ": is a backup of cluster pod, not of other");
  EXPECT_EQ(untouched(), "");

  backup = elsewhere + "/newer.sqlite";
  std::filesystem::copy_file(whole, backup);
  EXPECT_EQ(Oracle(backup).ask("PRAGMA user_version = " + std::to_string(kLayout + 1)), "");
  EXPECT_EQ(refusal(), backup + ": written by a newer lockstep (layout " + std::to_string(kLayout + 1) +
                           ", this one knows " + std::to_string(kLayout) + "): use that one");
  EXPECT_EQ(untouched(), "");

  backup = elsewhere + "/foreign.sqlite";
  EXPECT_EQ(Oracle(backup, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).ask("CREATE TABLE a(b)"), "");
  EXPECT_EQ(refusal(), backup + ": is no backup of a store; `lockstep state backup` makes one");
  EXPECT_EQ(untouched(), "");

  backup = elsewhere + "/gone.sqlite";
  EXPECT_EQ(refusal(), backup + ": no such file");
  backup = live();
  EXPECT_EQ(refusal(), backup + ": is the store itself; restore takes a backup of it");
  EXPECT_EQ(untouched(), "");
}

TEST_F(Backups, TruncatedOnesAreRefusedWithoutChanges) {
  change(30);
  made();
  const std::string whole = backup;
  const auto size = std::filesystem::file_size(whole);
  const std::uint64_t epoch = led(state)->leadership().epoch();
  backup = elsewhere + "/part.sqlite";
  for (std::uintmax_t left = 0; left < size; left += 1000) {
    std::filesystem::copy_file(whole, backup, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(backup, left);
    EXPECT_NE(refusal(), "restored") << left << " of " << size;
  }
  EXPECT_EQ(Oracle(live()).count("changes"), "30");
  EXPECT_EQ(led(state)->leadership().epoch(), epoch + 1);
}

TEST_F(Backups, AreNotRestoredUnderALeader) {
  change(1);
  made();
  const auto leader = led(state, of("pod"));
  const auto refused = restored();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  EXPECT_NE(refused.error().text().find("(lockstep apply)"), std::string::npos);
  EXPECT_TRUE(leader->history().begin(Plan{}, "ann", "why"));
}

TEST_F(Backups, AreNotRestoredInPartOntoAFullDisk) {
  LOCKSTEP_NEEDS_ROOT("mounts a file system of 1 MiB");
  std::filesystem::create_directory(state);
  const std::string wrong = on_small_disk(state, 1024, [this]() -> std::string {
    change(2);
    made();
    change(1);
    for (const std::size_t left : {0U, 16U, 64U, 100U, 140U, 180U, 240U, 300U, 500U}) {
      fill_up(state, left * 1024);
      const auto done = restored();
      std::filesystem::remove(state + "/filler");
      const Oracle oracle(live());
      if (!oracle.sound()) return "damaged with " + std::to_string(left);
      if (oracle.count("changes") != (done ? "2" : "3")) return "in part with " + std::to_string(left);
      if (done) return "";
      for (const std::string& name : names(state))
        if (name.find("restor") != std::string::npos) return name + " is left with " + std::to_string(left);
    }
    return "never restored";
  });
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace lockstep
