#include "reconciler/store/leadership.hpp"

#include <sys/wait.h>

#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "history_lab.hpp"
#include "oracle.hpp"

namespace lockstep {
namespace {

using Leaderships = StateDirectory;

TEST_F(Leaderships, RefusesASecondOneAndReportsTheFirst) {
  const auto first = led(directory, {}, "lockstep apply pod1");
  const auto second = stored(directory);
  const auto taken = second->leadership().take("lockstep watch");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::conflict);
  EXPECT_NE(taken.error().what.find("process " + std::to_string(getpid())), std::string::npos);
  EXPECT_NE(taken.error().what.find("lockstep apply pod1"), std::string::npos);
  EXPECT_EQ(second->leadership().epoch(), 0U);
  EXPECT_EQ(second->leadership().holder(), first->leadership().holder());
  EXPECT_TRUE(second->leadership().holder());
}

TEST_F(Leaderships, EndsWithItsOwner) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = led(directory);
    const char word = 'y';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char word = 0;
  ASSERT_EQ(read(ready[0], &word, 1), 1);
  const auto store = stored(directory);
  const auto taken = store->leadership().take("lockstep watch");
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().what.find("process " + std::to_string(child) + " since "), std::string::npos);
  EXPECT_NE(taken.error().what.find("(lockstep apply)"), std::string::npos);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  // The file still contains the dead process, but the lock does not depend on its text.
  EXPECT_FALSE(store->leadership().holder());
  const auto next = store->leadership().take("lockstep watch");
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_EQ(*next, 2U);
  EXPECT_NE(store->leadership().holder()->find("process " + std::to_string(getpid())), std::string::npos);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(Leaderships, EachHasAHigherEpochUntilItResigns) {
  const auto store = led(directory);
  EXPECT_EQ(store->leadership().epoch(), 1U);
  EXPECT_EQ(*store->leadership().take("again"), 1U);
  for (std::uint64_t epoch = 2; epoch < 50; ++epoch) {
    store->leadership().resign();
    EXPECT_EQ(store->leadership().epoch(), 0U);
    EXPECT_FALSE(store->leadership().holder());
    EXPECT_EQ(led(directory)->leadership().epoch(), epoch) << "in another's hands between";
    EXPECT_EQ(*store->leadership().take("again"), ++epoch);
  }
}

TEST_F(Leaderships, OnlyTheLeaderWrites) {
  const std::uint64_t change = *led(directory)->history().begin(Plan{}, "ann", "why");
  const auto store = stored(directory);
  const auto denied = [](const auto& result) {
    return !result && result.error().kind == ErrorKind::denied &&
           result.error().text().ends_with(": only who leads the cluster writes to it");
  };
  const auto refuses_all = [&] {
    History& history = store->history();
    return denied(history.begin(Plan{}, "bob", "why")) && denied(history.ticket(change, ticket("t"))) &&
           denied(history.receipt("t", TicketState::kept, "")) &&
           denied(history.gate(change, GateState::owed)) && denied(history.end(change, "kept")) &&
           denied(history.cure("gpu1", "cure", {})) && denied(history.note({})) &&
           denied(history.forget({})) && denied(store->blobs().keep("key", {}));
  };
  EXPECT_TRUE(refuses_all());
  ASSERT_TRUE(store->leadership().take("lockstep apply"));
  EXPECT_FALSE(refuses_all());
  store->leadership().resign();
  EXPECT_TRUE(refuses_all());
}

// The lock file was removed manually.
TEST_F(Leaderships, SupersededLeaderCannotWrite) {
  const auto first = led(directory);
  const std::uint64_t change = *first->history().begin(Plan{}, "ann", "why");
  ASSERT_TRUE(std::filesystem::remove(directory + "/lock"));
  const auto second = led(directory);
  const auto late = first->history().ticket(change, ticket("t"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::denied);
  EXPECT_EQ(late.error().text(),
            file() + ": epoch 1 is over: 2 was given out since, so another process leads");
  EXPECT_TRUE(second->history().ticket(change, ticket("t")));
  EXPECT_EQ(Oracle(file()).count("tickets"), "1");
}

// Devices have accepted epochs that this store does not know: it was restored from a backup, or copied.
TEST_F(Leaderships, IsRaisedAboveWhatDevicesHaveAccepted) {
  const auto store = led(directory);
  const std::uint64_t change = *store->history().begin(Plan{}, "ann", "why");
  EXPECT_EQ(*store->leadership().raise_above(40), 41U);
  EXPECT_EQ(store->leadership().epoch(), 41U);
  EXPECT_TRUE(store->history().ticket(change, ticket("t"))) << "it leads on";
  EXPECT_EQ(*store->leadership().raise_above(40), 41U);
  store->leadership().resign();
  EXPECT_FALSE(store->leadership().raise_above(50)) << "only who leads";
  EXPECT_EQ(led(directory)->leadership().epoch(), 42U) << "no epoch is given out twice";
  EXPECT_EQ(Oracle(file()).ask("SELECT group_concat(epoch, ' ') FROM epochs"), "1 41 42");
}

TEST_F(Leaderships, IsNotRaisedOnceItIsLost) {
  const auto first = led(directory);
  ASSERT_TRUE(std::filesystem::remove(directory + "/lock"));
  const auto second = led(directory);
  const auto raised = first->leadership().raise_above(40);
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().kind, ErrorKind::denied);
  EXPECT_EQ(Oracle(file()).ask("SELECT max(epoch) FROM epochs"), "2");
}

TEST_F(Leaderships, ADeviceThatLiesDoesNotUseUpTheEpochs) {
  const auto store = led(directory);
  for (const std::uint64_t lie : {2 + kEpochsAhead, std::numeric_limits<std::uint64_t>::max()}) {
    const auto raised = store->leadership().raise_above(lie);
    ASSERT_FALSE(raised);
    EXPECT_EQ(raised.error().kind, ErrorKind::refused);
    EXPECT_NE(raised.error().text().find("no controller of this cluster"), std::string::npos);
  }
  EXPECT_EQ(*store->leadership().raise_above(1 + kEpochsAhead), 2 + kEpochsAhead);
}

TEST_F(Leaderships, KeepsAThousandLeadersAndNeverReusesAnEpoch) {
  EXPECT_EQ(led(directory)->leadership().epoch(), 1U);
  EXPECT_EQ(
      Oracle(file()).ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) "
                         "INSERT INTO epochs(begun, pid, command) SELECT 'then', 1, 'apply' FROM n"),
      "");
  EXPECT_EQ(led(directory)->leadership().epoch(), 2502U);
  EXPECT_EQ(Oracle(file()).count("epochs"), "1000");
  EXPECT_EQ(Oracle(file()).ask("DELETE FROM epochs"), "");
  EXPECT_EQ(led(directory)->leadership().epoch(), 2503U);
}

TEST_F(Leaderships, ReadersNeedNoLeadershipAndSeeNewWrites) {
  const auto early = stored(directory);
  EXPECT_TRUE(early->history().changes()->empty());
  EXPECT_TRUE(early->history().owed()->empty());
  EXPECT_TRUE(early->history().in_flight()->empty());
  EXPECT_TRUE(early->blobs().list()->empty());
  EXPECT_TRUE(std::filesystem::is_empty(directory)) << "reading makes no file";
  const auto writer = led(directory);
  ASSERT_TRUE(writer->history().begin(Plan{}, "ann", "why"));
  EXPECT_EQ(early->history().changes()->size(), 1U) << "it was open before the first write";
  EXPECT_EQ(stored(directory)->history().in_flight()->size(), 1U);
}

TEST_F(Leaderships, UsesTheGivenClock) {
  WallTime now = WallTime(std::chrono::hours(1));
  const StoreOptions options{.cluster = "pod", .now = [&now] { return now; }};
  const auto store = led(directory, options);
  EXPECT_NE(store->leadership().holder()->find(" since 1970-01-01T01:00:00Z "), std::string::npos);
  const std::uint64_t change = *store->history().begin(Plan{}, "ann", "why");
  now += std::chrono::hours(48);
  ASSERT_TRUE(store->history().end(change, "kept"));
  EXPECT_EQ(store->history().changes()->front().begun, "1970-01-01T01:00:00Z");
  EXPECT_EQ(store->history().changes()->front().ended, "1970-01-03T01:00:00Z");
}

using StoredBlobs = StateDirectory;

TEST_F(StoredBlobs, AreKeptByKey) {
  const auto store = led(directory);
  Blobs& blobs = store->blobs();
  ASSERT_TRUE(blobs.keep("baseline/pairs", {{"median", 9.4e8}}));
  ASSERT_TRUE(blobs.keep("baseline/pairs", {{"median", 9.5e8}}));
  ASSERT_TRUE(blobs.keep("accepted", nlohmann::json::array()));
  const auto blob = blobs.kept("baseline/pairs");
  ASSERT_TRUE(blob);
  ASSERT_TRUE(blob->has_value());
  EXPECT_EQ((**blob)["median"], 9.5e8);
  EXPECT_FALSE(blobs.kept("nothing")->has_value());
  const auto all = blobs.list();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->front().key, "accepted");
  EXPECT_EQ(all->front().bytes, 2U);
}

TEST_F(StoredBlobs, InvalidJsonIsReportedWithItsKey) {
  const auto store = led(directory);
  ASSERT_TRUE(store->blobs().keep("census", 1));
  EXPECT_EQ(Oracle(file()).ask("UPDATE kept SET value = '{'"), "");
  const auto broken = store->blobs().kept("census");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().text(), file() + ": what is kept under 'census' is no JSON; remove that row");
}

}  // namespace
}  // namespace lockstep
