// Store files damaged by disks or users: what is reported, and that nothing in them is lost.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "history_lab.hpp"
#include "oracle.hpp"
#include "reconciler/store/database.hpp"
#include "reconciler/store/layout.hpp"
#include "small_disk.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

class StoreFiles : public StateDirectory {
 protected:
  // The error for a process that opens the store to write.
  static Error refusal(const std::string& where) {
    auto store = open_store(where);
    if (!store) return store.error();
    const auto epoch = (*store)->leadership().take("lockstep apply");
    return epoch ? Error{ErrorKind::unknown_outcome, "opened"} : epoch.error();
  }
  void filled(int changes) const {
    const auto store = led(directory);
    for (int i = 0; i < changes; ++i) {
      const auto change = store->history().begin(Plan{}, "ann", std::string(2000, 'x'));
      ASSERT_TRUE(change && store->history().end(*change, "kept"));
    }
  }
  std::string bytes() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(StoreFiles, GarbageIsReportedAsDamagedAndLeftUnchanged) {
  const std::string garbage(10'000, 'g');
  std::ofstream(file()) << garbage;
  const Error why = refusal(directory);
  EXPECT_EQ(why.kind, ErrorKind::refused);
  EXPECT_EQ(why.text(), file() +
                            ": read: file is not a database; the file is damaged: `lockstep state restore "
                            "BACKUP` puts a backup in its place and keeps it under another name");
  EXPECT_EQ(bytes(), garbage);
}

// It must not be taken for a new store, which would forget the changes that are not validated.
TEST_F(StoreFiles, EmptiedFileIsNotTakenForANewOne) {
  filled(1);
  std::filesystem::remove(file() + "-wal");
  std::filesystem::resize_file(file(), 0);
  { ASSERT_TRUE(lock_for_measuring(directory, "lockstep bench")); }
  const Error why = refusal(directory);
  EXPECT_EQ(why.kind, ErrorKind::refused);
  EXPECT_NE(why.text().find("is empty, and was not"), std::string::npos) << why.text();
  std::filesystem::remove(file());
  EXPECT_EQ(refusal(directory).text(), "opened");
}

TEST_F(StoreFiles, TruncatedFileIsReportedAsDamagedAndLeftUnchanged) {
  filled(20);
  std::filesystem::resize_file(file(), 20'000);
  const std::string before = bytes();
  const Error why = refusal(directory);
  EXPECT_TRUE(why.text().starts_with(file() + ": ")) << why.text();
  EXPECT_NE(why.text().find("the file is damaged: `lockstep state restore"), std::string::npos) << why.text();
  EXPECT_EQ(bytes(), before);
}

TEST_F(StoreFiles, NewerLayoutIsRefused) {
  filled(1);
  EXPECT_EQ(Oracle(file()).ask("PRAGMA user_version = " + std::to_string(kLayout + 1)), "");
  const Error why = refusal(directory);
  EXPECT_EQ(why.kind, ErrorKind::unsupported);
  EXPECT_EQ(why.text(), file() + ": written by a newer lockstep (layout " + std::to_string(kLayout + 1) +
                            ", this one knows " + std::to_string(kLayout) + "): use that one");
  EXPECT_EQ(Oracle(file()).count("epochs"), "1");
}

TEST_F(StoreFiles, OlderLayoutIsReadableAndMigratedByAWriter) {
  {
    const auto store = led(directory);
    ASSERT_TRUE(store->history().begin(Plan{}, "ann", "why"));
  }
  EXPECT_EQ(Oracle(file()).ask(
                "DROP INDEX changes_begun; DROP INDEX changes_owed; DROP TABLE identity;"
                "ALTER TABLE changes DROP COLUMN gate; DROP TABLE cures; DROP TABLE written;"
                "DROP TABLE run_figures; DROP TABLE run_parts; DROP TABLE run_devices; DROP TABLE runs;"
                "DROP TABLE refused; ALTER TABLE changes DROP COLUMN subjects;"
                "ALTER TABLE changes DROP COLUMN measured_before;"
                "PRAGMA user_version = 1"),
            "");
  const auto reader = stored(directory);
  EXPECT_TRUE(reader->history().owed());
  EXPECT_TRUE(reader->history().written()->empty());
  EXPECT_EQ(reader->history().totals()->changes, 1U);
  EXPECT_EQ(Oracle(file()).ask("PRAGMA user_version"), "1");
  const auto store = led(directory);
  const auto in_flight = store->history().in_flight();
  ASSERT_TRUE(in_flight) << in_flight.error().text();
  ASSERT_EQ(in_flight->size(), 1U);
  const std::uint64_t change = in_flight->front().change;
  ASSERT_TRUE(store->history().gate(change, GateState::owed));
  ASSERT_TRUE(store->history().ticket(change, ticket("t")));
  EXPECT_EQ(reader->history().owed()->size(), 1U) << "a reader that was open goes on with the new layout";
}

TEST_F(StoreFiles, EmptyFileIsANewStore) {
  std::ofstream(file()).flush();
  EXPECT_TRUE(stored(directory)->history().changes()->empty());
  EXPECT_EQ(led(directory)->leadership().epoch(), 1U);
}

TEST_F(StoreFiles, RequireAWriteAheadLog) {
  filled(1);
  EXPECT_EQ(Oracle(file()).ask("PRAGMA journal_mode"), "wal");
  const auto memory = Database::in_memory();
  ASSERT_TRUE(memory);
  const auto refused = memory->write_ahead();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            ":memory:: SQLite has no write-ahead log here (journal_mode is 'memory'); it needs a local file "
            "system with shared memory: put the state directory on one (LOCKSTEP_STATE_DIR)");
}

TEST_F(StoreFiles, FullDiskIsReportedAndLosesNothing) {
  LOCKSTEP_NEEDS_ROOT("mounts a file system of 512 KiB");
  const std::string wrong = on_small_disk(directory, 512, [this]() -> std::string {
    const auto store = led(directory);
    History& history = store->history();
    const auto change = history.begin(Plan{}, "ann", "first");
    if (!change || !history.ticket(*change, ticket("t1"))) return "no first change";
    fill_up(directory, 4096);
    // A log with free space accepts a little more.
    Result<Done> full = Done{};
    int taken = 0;
    for (; full && taken < 1000; ++taken)
      full = store->blobs().keep("blob" + std::to_string(taken), std::string(2000, 'x'));
    if (full) return "a full disk takes everything";
    if (!full.error().text().starts_with(file() + ": ") ||
        full.error().text().find("make room on that file system and try again") == std::string::npos)
      return full.error().text();
    const Oracle oracle(file());
    if (!oracle.sound()) return "damaged";
    if (oracle.count("tickets") != "1" || oracle.count("changes") != "1") return "lost";
    if (oracle.count("kept") != std::to_string(taken - 1)) return "half-written: " + oracle.count("kept");
    if (history.in_flight()->size() != 1U) return "not readable";
    std::filesystem::remove(directory + "/filler");
    const auto again = history.receipt("t1", TicketState::kept, "");
    return again ? "" : "not after there was room: " + again.error().text();
  });
  EXPECT_EQ(wrong, "");
}

// Not even the index beside the log (-shm) fits.
TEST_F(StoreFiles, CompletelyFullDiskIsReported) {
  LOCKSTEP_NEEDS_ROOT("mounts a file system of 512 KiB");
  const std::string wrong = on_small_disk(directory, 512, [this]() -> std::string {
    led(directory)->leadership().resign();
    fill_up(directory, 0);
    const Error why = refusal(directory);
    return why.text().find("make room on that file system and try again") != std::string::npos ? ""
                                                                                               : why.text();
  });
  EXPECT_EQ(wrong, "");
}

TEST_F(StoreFiles, ReadOnlyDirectoryIsReported) {
  LOCKSTEP_NEEDS_ROOT("mounts a file system of 512 KiB");
  const std::string wrong = on_small_disk(directory, 512, [this]() -> std::string {
    led(directory)->leadership().resign();
    if (const std::string why = make_read_only(directory); !why.empty()) return why;
    const Error why = refusal(directory);
    if (why.kind != ErrorKind::denied) return "kind: " + why.text();
    return why.text().find("Read-only file system") != std::string::npos ? "" : why.text();
  });
  EXPECT_EQ(wrong, "");
}

TEST_F(StoreFiles, BusyFileIsAwaitedAndThenRefused) {
  const auto store = led(directory);
  const Oracle other(file());
  ASSERT_EQ(other.ask("BEGIN IMMEDIATE"), "");
  const auto begun = std::chrono::steady_clock::now();
  const auto busy = store->history().begin(Plan{}, "ann", "why");
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().kind, ErrorKind::conflict);
  EXPECT_NE(busy.error().text().find("another process holds it for longer than 5 s"), std::string::npos);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, kBusyWait - std::chrono::milliseconds(500));
  ASSERT_EQ(other.ask("ROLLBACK"), "");
  EXPECT_TRUE(store->history().begin(Plan{}, "ann", "why"));
}

}  // namespace
}  // namespace lockstep
