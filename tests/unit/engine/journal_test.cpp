#include "reconciler/engine/journal.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cluster.hpp"

namespace lockstep {
namespace {

class JournalFile : public ::testing::Test {
 protected:
  JournalFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-journal-XXXXXX").string();
    directory = mkdtemp(pattern.data());
  }
  ~JournalFile() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<Journal> open(const std::string& command = "lockstep apply") {
    auto journal = Journal::open(directory, {.command = command, .read_only = false});
    if (!journal) throw std::runtime_error(journal.error().text());
    return std::move(*journal);
  }
  std::string directory;
};

LedgerTicket ticket(const std::string& name) {
  return {name, 1, "gpu1", "linux", {{entry("interface[rail0]/mtu"), number(1500), number(9000), 0}}};
}

TEST_F(JournalFile, TellsWhatAKilledRunHadBegun) {
  // The child is killed in the middle of a change: nothing is closed, flushed or destroyed.
  const pid_t child = fork();
  if (child == 0) {
    auto journal = Journal::open(directory, {.command = "lockstep apply", .read_only = false});
    if (!journal) _exit(1);
    const auto change = (*journal)->begin(Plan{}, "ann", "mtu");
    if (!change || !(*journal)->ticket(*change, ticket("t1")) || !(*journal)->ticket(*change, ticket("t2")) ||
        !(*journal)->receipt("t1", TicketState::kept, ""))
      _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));

  const auto journal = open();
  EXPECT_EQ(journal->epoch(), 2U);
  const auto found = journal->in_flight();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  ASSERT_EQ(found->front().unsettled.size(), 1U);
  EXPECT_EQ(found->front().unsettled[0].ticket, "t2");
  EXPECT_EQ(found->front().unsettled[0].changes, ticket("t2").changes);
  EXPECT_EQ(found->front().kept.size(), 1U);
  EXPECT_EQ(found->front().author, "ann");
}

TEST_F(JournalFile, RefusesASecondWriterAndNamesTheFirst) {
  const auto first = open("lockstep apply pod1");
  const auto second = Journal::open(directory, {.command = "lockstep apply", .read_only = false});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_NE(second.error().what.find("process " + std::to_string(getpid())), std::string::npos);
  EXPECT_NE(second.error().what.find("lockstep apply pod1"), std::string::npos);
}

TEST_F(JournalFile, TheLockDiesWithItsOwnerHoweverThatDies) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto journal = Journal::open(directory, {.command = "lockstep apply", .read_only = false});
    const char word = journal ? 'y' : 'n';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char word = 0;
  ASSERT_EQ(read(ready[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  const auto taken = Journal::open(directory, {.command = "lockstep watch", .read_only = false});
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().what.find("process " + std::to_string(child) + " since "), std::string::npos);
  EXPECT_NE(taken.error().what.find("(lockstep apply)"), std::string::npos);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  // The file still names the dead process; the lock is not in its text.
  const auto next = open("lockstep watch");
  EXPECT_GT(next->epoch(), 1U);
  const auto third = Journal::open(directory, {.command = "", .read_only = false});
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().what.find("process " + std::to_string(getpid())), std::string::npos);
  EXPECT_EQ(third.error().what.find("process " + std::to_string(child)), std::string::npos);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(JournalFile, ReadersNeedNoLock) {
  const auto writer = open();
  const auto reader = Journal::open(directory, {.command = "", .read_only = true});
  ASSERT_TRUE(reader) << reader.error().text();
  EXPECT_TRUE((*reader)->changes());
}

TEST_F(JournalFile, EveryOwnerHasAHigherEpoch) {
  const auto first = open()->epoch();
  EXPECT_GT(open()->epoch(), first);
}

TEST_F(JournalFile, EndedChangesAreNotInFlight) {
  const auto journal = open();
  const auto change = journal->begin(Plan{}, "ann", "why");
  ASSERT_TRUE(change);
  ASSERT_TRUE(journal->end(*change, "kept"));
  EXPECT_TRUE(journal->in_flight()->empty());
  const auto all = journal->changes();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().outcome, "kept");
}

TEST_F(JournalFile, WhatWasWrittenUnderAGateIsOwedUntilItAnswered) {
  const auto journal = open();
  const auto change = journal->begin(Plan{}, "ann", "why");
  ASSERT_TRUE(change);
  ASSERT_TRUE(journal->gate(*change, GateState::owed));
  EXPECT_TRUE(journal->owed()->empty()) << "nothing was written yet";
  ASSERT_TRUE(journal->ticket(*change, ticket("t1")));
  ASSERT_TRUE(journal->ticket(*change, ticket("t2")));
  ASSERT_TRUE(journal->receipt("t2", TicketState::undone, ""));
  ASSERT_TRUE(journal->end(*change, "stopped"));
  const auto owed = journal->owed();
  ASSERT_TRUE(owed);
  ASSERT_EQ(owed->size(), 1U);
  EXPECT_EQ(owed->front().author, "ann");
  ASSERT_EQ(owed->front().tickets.size(), 1U);
  EXPECT_EQ(owed->front().tickets[0].changes, ticket("t1").changes);
  ASSERT_TRUE(journal->gate(*change, GateState::settled));
  EXPECT_TRUE(journal->owed()->empty());
}

TEST_F(JournalFile, AReaderOfOneThatWasNeverBegunFindsItEmpty) {
  const auto reader = Journal::open(directory, {.command = "", .read_only = true});
  ASSERT_TRUE(reader) << reader.error().text();
  EXPECT_TRUE((*reader)->owed()->empty());
  EXPECT_TRUE((*reader)->changes()->empty());
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(JournalFile, AnOlderLayoutIsReadAsItIsAndBroughtUpToDateByAWriter) {
  {
    const auto journal = open();
    ASSERT_TRUE(journal->begin(Plan{}, "ann", "why"));
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((directory + "/journal.sqlite").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(
          database,
          "ALTER TABLE changes DROP COLUMN gate; DROP TABLE cures; DROP TABLE written; PRAGMA user_version=1",
          nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(database);
  EXPECT_TRUE((*Journal::open(directory, {.command = "", .read_only = true}))->owed());
  const auto journal = open();
  const auto in_flight = journal->in_flight();
  ASSERT_TRUE(in_flight) << in_flight.error().text();
  EXPECT_EQ(in_flight->size(), 1U);
  EXPECT_TRUE(journal->gate(in_flight->front().change, GateState::owed));
}

TEST_F(JournalFile, TicketOfNoChangeIsRefused) { EXPECT_FALSE(open()->ticket(77, ticket("t"))); }

TEST_F(JournalFile, CountsCuresOverAllRunsByDeviceRemedyAndTime) {
  const WallTime now = WallTime(std::chrono::hours(500'000));
  ASSERT_TRUE(open()->cure("leaf0", "clear-session", now - std::chrono::seconds(60)));
  const auto journal = open();
  ASSERT_TRUE(journal->cure("leaf0", "clear-session", now));
  ASSERT_TRUE(journal->cure("leaf0", "restart-daemon", now));
  ASSERT_TRUE(journal->cure("leaf1", "clear-session", now));
  EXPECT_EQ(*journal->cures("leaf0", "clear-session", now - std::chrono::seconds(61)), 2U);
  EXPECT_EQ(*journal->cures("leaf0", "clear-session", now - std::chrono::seconds(60)), 1U);
  EXPECT_EQ(*journal->cures("leaf1", "restart-daemon", now - std::chrono::seconds(61)), 0U);
}

class WrittenEntries : public JournalFile {
 protected:
  void write(const std::string& name, Value was, Value want, TicketState end) {
    LedgerTicket one = ticket(name);
    one.changes = {{mtu, was, want, 0}};
    ASSERT_TRUE(journal->ticket(change, one));
    ASSERT_TRUE(journal->receipt(name, end, ""));
  }
  WrittenEntry only() const {
    const auto all = journal->written();
    EXPECT_TRUE(all && all->size() == 1);
    return all && all->size() == 1 ? all->front() : WrittenEntry{};
  }
  const Path mtu = entry("interface[rail0]/mtu");
  std::unique_ptr<Journal> journal = open();
  std::uint64_t change = *journal->begin(Plan{}, "ann", "why");
};

TEST_F(WrittenEntries, KeepWhatWasFoundBeforeTheFirstWriteUntilItIsBack) {
  write("t1", number(1500), number(9000), TicketState::undone);
  EXPECT_TRUE(journal->written()->empty());
  write("t2", number(1500), number(9000), TicketState::kept);
  write("t3", number(9000), number(4000), TicketState::kept);
  EXPECT_EQ(only().path, mtu);
  EXPECT_EQ(only().found, number(1500));
  EXPECT_EQ(only().wrote, number(4000));
  EXPECT_FALSE(only().tried);
  EXPECT_FALSE(only().restore);
  WrittenEntry noted = only();
  noted.restore = true;
  noted.object = "Fabric/backend";
  ASSERT_TRUE(journal->note({noted}));
  EXPECT_TRUE(only().restore);
  EXPECT_EQ(only().object, "Fabric/backend");
  write("t4", number(4000), number(1500), TicketState::kept);
  EXPECT_TRUE(journal->written()->empty());
  write("t5", {}, number(9000), TicketState::kept);
  ASSERT_TRUE(journal->forget(*journal->written()));
  EXPECT_TRUE(journal->written()->empty());
}

TEST_F(WrittenEntries, AFailedWriteIsNotOursUntilItWasSeen) {
  write("t1", number(1500), number(9000), TicketState::failed);
  EXPECT_EQ(only().found, number(1500));
  EXPECT_EQ(only().wrote, number(1500)) << "nothing of ours was verified";
  EXPECT_EQ(only().tried, number(9000));
  // The next write saw it before it wrote.
  write("t2", number(9000), number(4000), TicketState::failed);
  EXPECT_EQ(only().wrote, number(9000));
  EXPECT_EQ(only().tried, number(4000));
  // An observation finds 9000: the second write never took effect.
  WrittenEntry seen = only();
  seen.tried.reset();
  ASSERT_TRUE(journal->note({seen}));
  EXPECT_FALSE(only().tried);
  // An observation finds what was there before.
  seen.wrote = seen.found;
  ASSERT_TRUE(journal->note({seen}));
  EXPECT_TRUE(journal->written()->empty());
}

TEST_F(WrittenEntries, AVerifiedWriteSettlesAFailedOneBeforeIt) {
  write("t1", number(1500), number(9000), TicketState::failed);
  write("t2", number(1500), number(9000), TicketState::kept);
  EXPECT_EQ(only().wrote, number(9000));
  EXPECT_FALSE(only().tried);
  write("t3", number(9000), number(1500), TicketState::failed);
  EXPECT_EQ(only().wrote, number(9000)) << "it may not be back";
  EXPECT_EQ(only().tried, number(1500));
}

TEST_F(WrittenEntries, OfAGuardThatFailedWhatWasFoundStays) {
  const Path admin = entry("interface[rail0]/admin");
  LedgerTicket guarded = ticket("t1");
  guarded.changes = {{admin, yes(), no(), 0}, {admin, no(), yes(), 0}};
  ASSERT_TRUE(journal->ticket(change, guarded));
  ASSERT_TRUE(journal->receipt("t1", TicketState::failed, ""));
  guarded.ticket = "t2";
  guarded.changes = {{admin, no(), yes(), 0}};
  ASSERT_TRUE(journal->ticket(change, guarded));
  ASSERT_TRUE(journal->receipt("t2", TicketState::failed, ""));
  EXPECT_EQ(only().found, yes());
}

TEST_F(JournalFile, KeepsBlobsByKey) {
  const auto journal = open();
  ASSERT_TRUE(journal->keep("baseline/pairs", {{"median", 9.4e8}}));
  ASSERT_TRUE(journal->keep("baseline/pairs", {{"median", 9.5e8}}));
  const auto blob = journal->kept("baseline/pairs");
  ASSERT_TRUE(blob);
  ASSERT_TRUE(blob->has_value());
  EXPECT_EQ((**blob)["median"], 9.5e8);
  EXPECT_FALSE(journal->kept("nothing")->has_value());
}

}  // namespace
}  // namespace lockstep
